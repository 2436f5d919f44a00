//! The interrupt of one piece of work: the number of steps that it may take where it began, and its deadline.
use super::flow::{FlowOwner, OffloadFlow};
use super::step_allowance::StepAllowances;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;
use workgraph_core::{Interrupt, InterruptReason};

/// Number of steps, about fifty microseconds, after which moved work yields its processor. Otherwise, a scheduler lets a
/// computing thread keep the processor for several milliseconds, and each short read would have to wait.
const STRETCH: u32 = 512;

/// Interrupt of one piece of work, which the offload moves and stops.
#[derive(Debug)]
pub(crate) struct WorkInterrupt {
    flow: OffloadFlow,
    /// Gid of the user for whom the work is done; 0 until it is known.
    user: AtomicU64,
    allowances: Arc<StepAllowances>,
    /// Steps left where the work began.
    steps: AtomicU32,
    /// True if the steps are used up, and the work asks to be moved.
    wants_offload: AtomicBool,
    /// Time at which the work must end, once it was moved.
    deadline: Mutex<Option<Instant>>,
    /// Steps taken after the work was moved.
    taken: AtomicU32,
    /// True if the moved work waits for its turn, or runs.
    is_queued: AtomicBool,
    abandoned: AtomicBool,
}

impl WorkInterrupt {
    /// Returns the interrupt for work of a flow, which starts with the allowance of its owner.
    pub(super) fn new(flow: OffloadFlow, allowances: &Arc<StepAllowances>) -> Self {
        Self {
            flow,
            user: AtomicU64::new(0),
            steps: AtomicU32::new(allowances.of(FlowOwner::Unknown(flow))),
            allowances: Arc::clone(allowances),
            taken: AtomicU32::new(0),
            wants_offload: AtomicBool::new(false),
            deadline: Mutex::default(),
            is_queued: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Returns the owner of the work, as far as it is known.
    pub(super) fn owner(&self) -> FlowOwner {
        match self.user.load(Relaxed) {
            0 => FlowOwner::Unknown(self.flow),
            user => FlowOwner::User(user),
        }
    }

    /// Records that the work used up its allowance.
    pub(super) fn used_up(&self) {
        self.allowances.used_up(self.owner());
    }

    /// Records that the allowance was enough.
    pub(super) fn sufficed(&self) {
        self.allowances.sufficed(self.owner());
    }

    /// Records that the caller is gone: the work ends at its next check.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Relaxed);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Relaxed)
    }

    /// Returns true if the work was moved: dropping it then stops it.
    pub(crate) fn is_away(&self) -> bool {
        self.is_queued.load(Relaxed)
    }

    pub(super) fn set_away(&self, away: bool) {
        self.is_queued.store(away, Relaxed);
    }

    /// Returns true if the work asks to be moved.
    pub(super) fn wants_offload(&self) -> bool {
        self.wants_offload.load(Relaxed)
    }

    /// Records that the work continues elsewhere, for at most this time.
    pub(super) fn leave(&self, timeout: Duration) {
        self.set(Some(Instant::now() + timeout));
        self.wants_offload.store(false, Relaxed);
    }

    /// Records that the moved work is back on the thread of its connection, without a deadline.
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

    fn note_user(&self, user: u64) {
        if self.user.swap(user, Relaxed) != user {
            let allowance = self.allowances.of(FlowOwner::User(user));
            self.steps.fetch_min(allowance, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::step_allowance::ALLOWANCE_MAX as ALLOWANCE;
    use super::*;

    /// S101.
    #[test]
    fn work_has_an_allowance_where_it_began_and_a_deadline_elsewhere() {
        let allowances = Arc::new(StepAllowances::new());
        let watch = WorkInterrupt::new(OffloadFlow::Token(1), &allowances);
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
    /// S101.
    #[test]
    fn work_of_a_user_begins_with_what_the_user_is_left_whatever_the_token() {
        let allowances = Arc::new(StepAllowances::new());
        let work = |token| WorkInterrupt::new(OffloadFlow::Token(token), &allowances);
        let first = work(1);
        assert_eq!(first.owner(), FlowOwner::Unknown(OffloadFlow::Token(1)));
        first.note_user(7);
        assert_eq!(first.owner(), FlowOwner::User(7));
        first.used_up();
        let (same, other) = (work(2), work(3));
        same.note_user(7);
        other.note_user(8);
        assert_eq!(same.check(ALLOWANCE / 4), Ok(()));
        assert_eq!(same.check(1), Err(InterruptReason::AllowanceSpent));
        assert_eq!(other.check(ALLOWANCE), Ok(()));
    }
}
