//! The interrupt of one piece of work: the steps that it may take where it began, and its deadline.
use parking_lot::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;
use workgraph_core::{Interrupt, InterruptReason};

/// Steps after which work elsewhere offers its processor to others, some fifty microseconds of them. A scheduler lets a
/// thread that computes keep it for several milliseconds, for which each short read would wait, too.
const STRETCH: u32 = 512;

/// Interrupt of one piece of work.
#[derive(Debug)]
pub(crate) struct WorkInterrupt {
    /// Steps that are left to the work where it began.
    steps: AtomicU32,
    /// True if those are used up, and the work asks to be taken elsewhere.
    wants_offload: AtomicBool,
    /// Instant at which the work must end, while it is elsewhere.
    deadline: Mutex<Option<Instant>>,
    /// Steps that the work took elsewhere.
    taken: AtomicU32,
    /// True if the work waits for its turn elsewhere, or has it.
    is_queued: AtomicBool,
    abandoned: AtomicBool,
}

impl WorkInterrupt {
    /// Returns the interrupt of work that may take the given number of steps where it begins.
    pub(super) fn new(allowance: u32) -> Self {
        Self {
            steps: AtomicU32::new(allowance),
            taken: AtomicU32::new(0),
            wants_offload: AtomicBool::new(false),
            deadline: Mutex::default(),
            is_queued: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Notes that the work has no caller any more: it ends at its next check.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Relaxed);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Relaxed)
    }

    /// Returns true if the work is not where it began: to drop it is then to stop it.
    pub(crate) fn is_away(&self) -> bool {
        self.is_queued.load(Relaxed)
    }

    pub(super) fn set_away(&self, away: bool) {
        self.is_queued.store(away, Relaxed);
    }

    /// Returns true if the work asks to be taken elsewhere.
    pub(super) fn wants_offload(&self) -> bool {
        self.wants_offload.load(Relaxed)
    }

    /// Notes that the work goes on elsewhere, for this time at most.
    pub(super) fn leave(&self, timeout: Duration) {
        self.set(Some(Instant::now() + timeout));
        self.wants_offload.store(false, Relaxed);
    }

    /// Notes that the work is back where it began.
    pub(super) fn come_back(&self) {
        self.set(None);
    }

    fn set(&self, until: Option<Instant>) {
        *self.deadline.lock() = until;
    }

    fn deadline(&self) -> Option<Instant> {
        *self.deadline.lock()
    }
}

impl Interrupt for WorkInterrupt {
    fn check(&self, steps: u32) -> Result<(), InterruptReason> {
        if self.is_abandoned() {
            return Err(InterruptReason::Abandoned);
        }
        if let Some(until) = self.deadline() {
            let before = self.taken.load(Relaxed);
            let after = before.wrapping_add(steps);
            self.taken.store(after, Relaxed);
            if before / STRETCH != after / STRETCH {
                std::thread::yield_now();
            }
            return if Instant::now() < until {
                Ok(())
            } else {
                Err(InterruptReason::Deadline)
            };
        }
        let left = self.steps.load(Relaxed).checked_sub(steps);
        self.steps.store(left.unwrap_or(0), Relaxed);
        left.map(drop).ok_or(InterruptReason::AllowanceSpent)
    }

    fn poll_allowed(&self) -> Poll<()> {
        if self.deadline().is_some() {
            return Poll::Ready(());
        }
        self.wants_offload.store(true, Relaxed);
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::super::step_allowance::ALLOWANCE_MAX as ALLOWANCE;
    use super::*;

    /// S101.
    #[test]
    fn work_has_an_allowance_where_it_began_and_a_deadline_elsewhere() {
        let watch = WorkInterrupt::new(ALLOWANCE);
        assert_eq!(watch.check(ALLOWANCE), Ok(()));
        assert_eq!(watch.check(1), Err(InterruptReason::AllowanceSpent));
        assert!(!watch.wants_offload());
        assert_eq!(watch.poll_allowed(), Poll::Pending);
        assert!(watch.wants_offload());
        watch.leave(Duration::from_secs(60));
        assert_eq!(watch.poll_allowed(), Poll::Ready(()));
        assert_eq!(watch.check(u32::MAX), Ok(()), "no steps are counted there");
        watch.come_back();
        assert!(!watch.wants_offload());
        assert_eq!(
            watch.check(1),
            Err(InterruptReason::AllowanceSpent),
            "no second one"
        );
        watch.leave(Duration::ZERO);
        assert_eq!(watch.check(1), Err(InterruptReason::Deadline));
        watch.abandon();
        assert_eq!(watch.check(1), Err(InterruptReason::Abandoned));
    }
}
