//! The steps that work may take where it begins, by the lane it takes turns in.
//!
//! Work that uses its allowance up is begun anew elsewhere, so the allowance was spent in vain and held a thread that
//! serves connections. Whoever sends long work after long work therefore begins with less each time, and gets more again
//! as work of theirs turns out to be short.
use super::Lane;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The steps of a lane that sent nothing long lately, half a millisecond of them. A page of a hundred records with
/// nested fields takes half as many.
pub(super) const MOST: u32 = 4_096;
/// The steps of a lane that sends nothing else, some fifty microseconds: a single record takes fewer.
pub(super) const LEAST: u32 = 512;
/// The steps that each short piece of work gives back.
const GIVEN_BACK: u32 = 128;
/// How many allowances are kept. Lanes that share one share its ups and downs, and nothing else.
const SLOTS: usize = 1_024;

/// The allowances of all lanes.
#[derive(Debug)]
pub(super) struct Allowances(Box<[AtomicU32]>);

impl Allowances {
    /// Returns the largest allowance for every lane.
    pub(super) fn new() -> Self {
        Self((0..SLOTS).map(|_| AtomicU32::new(MOST)).collect())
    }

    fn slot(&self, lane: Lane) -> Option<&AtomicU32> {
        let (Lane::Token(number) | Lane::Job(number) | Lane::Webhook(number)) = lane;
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.0.get(mixed as usize % SLOTS)
    }

    /// Returns the steps that work of a lane may take where it begins.
    pub(super) fn of(&self, lane: Lane) -> u32 {
        self.slot(lane).map_or(MOST, |slot| slot.load(Relaxed))
    }

    /// Notes that work of a lane used its allowance up.
    pub(super) fn used_up(&self, lane: Lane) {
        if let Some(slot) = self.slot(lane) {
            slot.store((slot.load(Relaxed) / 4).max(LEAST), Relaxed);
        }
    }

    /// Notes that work of a lane was done where it began.
    pub(super) fn sufficed(&self, lane: Lane) {
        let slot = self.slot(lane);
        // Nearly always nothing is to be written, which threads would wait for each other with.
        if let Some((slot, steps)) = slot.map(|slot| (slot, slot.load(Relaxed)))
            && steps < MOST
        {
            slot.store((steps + GIVEN_BACK).min(MOST), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_begins_with_less_each_time_and_short_work_gives_it_back() {
        let (allowances, long, other) = (Allowances::new(), Lane::Token(1), Lane::Token(2));
        for steps in [MOST, MOST / 4, LEAST, LEAST] {
            assert_eq!(allowances.of(long), steps);
            allowances.used_up(long);
        }
        assert_eq!(allowances.of(other), MOST, "another's stays");
        allowances.sufficed(long);
        assert_eq!(allowances.of(long), LEAST + GIVEN_BACK);
        for _ in 0..MOST / GIVEN_BACK {
            allowances.sufficed(long);
        }
        assert_eq!(allowances.of(long), MOST);
    }
}
