//! The number of steps that work may take where it begins, by its owner.
//!
//! Work that uses up its allowance is restarted elsewhere, so its steps were in vain and occupied a thread that serves
//! connections. Therefore, the allowance of an owner with much long work shrinks each time, regardless of the token, and
//! grows again when that owner's work turns out to be short.
use super::flow::{FlowOwner, OffloadFlow};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Allowance of an owner without recent long work, about half a millisecond. A page of a hundred records with nested
/// fields takes half as many steps.
pub(super) const ALLOWANCE_MAX: u32 = 4_096;
/// Allowance of an owner with nothing but long work, about fifty microseconds: a single record takes fewer steps.
pub(super) const ALLOWANCE_MIN: u32 = 512;
/// Steps that each short piece of work gives back.
const GIVEN_BACK: u32 = 128;
/// Number of allowances. Owners that share one are only affected by each other's changes to it.
const SLOTS: usize = 1_024;

/// Allowances of all owners.
#[derive(Debug)]
pub(super) struct StepAllowances(Box<[AtomicU32]>);

impl StepAllowances {
    /// Returns the largest allowance for every owner.
    pub(super) fn new() -> Self {
        Self((0..SLOTS).map(|_| AtomicU32::new(ALLOWANCE_MAX)).collect())
    }

    fn slot(&self, owner: FlowOwner) -> Option<&AtomicU32> {
        let (FlowOwner::User(number)
        | FlowOwner::Unknown(
            OffloadFlow::Token(number) | OffloadFlow::Job(number) | OffloadFlow::Webhook(number),
        )) = owner;
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.0.get(mixed as usize % SLOTS)
    }

    /// Returns the number of steps that work of an owner may take where it begins.
    pub(super) fn of(&self, owner: FlowOwner) -> u32 {
        self.slot(owner)
            .map_or(ALLOWANCE_MAX, |slot| slot.load(Relaxed))
    }

    /// Records that work of an owner used up its allowance.
    pub(super) fn used_up(&self, owner: FlowOwner) {
        if let Some(slot) = self.slot(owner) {
            slot.store((slot.load(Relaxed) / 4).max(ALLOWANCE_MIN), Relaxed);
        }
    }

    /// Records that work of an owner completed where it began.
    pub(super) fn sufficed(&self, owner: FlowOwner) {
        let slot = self.slot(owner);
        // The allowance is nearly always unchanged, and a write would make threads wait for each other.
        if let Some((slot, steps)) = slot.map(|slot| (slot, slot.load(Relaxed)))
            && steps < ALLOWANCE_MAX
        {
            slot.store((steps + GIVEN_BACK).min(ALLOWANCE_MAX), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_begins_with_less_each_time_and_short_work_gives_it_back() {
        let (allowances, long, other) = (
            StepAllowances::new(),
            FlowOwner::User(1),
            FlowOwner::User(2),
        );
        for steps in [
            ALLOWANCE_MAX,
            ALLOWANCE_MAX / 4,
            ALLOWANCE_MIN,
            ALLOWANCE_MIN,
        ] {
            assert_eq!(allowances.of(long), steps);
            allowances.used_up(long);
        }
        assert_eq!(allowances.of(other), ALLOWANCE_MAX, "another's stays");
        allowances.sufficed(long);
        assert_eq!(allowances.of(long), ALLOWANCE_MIN + GIVEN_BACK);
        for _ in 0..ALLOWANCE_MAX / GIVEN_BACK {
            allowances.sufficed(long);
        }
        assert_eq!(allowances.of(long), ALLOWANCE_MAX);
    }
}
