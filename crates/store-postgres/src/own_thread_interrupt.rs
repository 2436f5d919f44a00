//! Interrupt of reads on threads of this store.
use crate::deadline::Deadline;
use std::sync::Arc;
use workgraph_core::{Interrupt, InterruptReason, MaybeInterrupt};

/// Interrupt of work on a thread that no request waits on: the work may take any number of steps, until its deadline passes
/// or its caller goes away.
#[derive(Debug)]
pub(crate) struct OwnThreadInterrupt {
    caller: Arc<dyn Interrupt>,
    deadline: Deadline,
}

impl OwnThreadInterrupt {
    /// Returns the interrupt of work for a caller, if the caller has one.
    pub(crate) fn of(caller: &MaybeInterrupt, deadline: Deadline) -> MaybeInterrupt {
        let caller = Arc::clone(caller.as_ref()?);
        Some(Arc::new(Self { caller, deadline }))
    }
}

impl Interrupt for OwnThreadInterrupt {
    fn check(&self, _: u32) -> Result<(), InterruptReason> {
        // The allowance of the caller applies to the thread on which its request began.
        self.caller.check(0)?;
        if self.deadline.has_passed() {
            return Err(InterruptReason::Deadline);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Interrupt whose allowance is spent, and whose caller may have gone.
    #[derive(Debug)]
    struct Spent {
        abandoned: bool,
    }

    impl Interrupt for Spent {
        fn check(&self, steps: u32) -> Result<(), InterruptReason> {
            match (self.abandoned, steps) {
                (true, _) => Err(InterruptReason::Abandoned),
                (false, 0) => Ok(()),
                (false, _) => Err(InterruptReason::AllowanceSpent),
            }
        }
    }

    fn check(abandoned: bool, deadline: Deadline) -> Result<(), InterruptReason> {
        let caller: MaybeInterrupt = Some(Arc::new(Spent { abandoned }));
        OwnThreadInterrupt::of(&caller, deadline)
            .unwrap()
            .check(1_000)
    }

    /// S101.
    #[test]
    fn work_on_a_thread_of_its_own_is_stopped_by_time_or_its_caller_alone() {
        let [now, later] = [0, 3600].map(|time| Deadline::after(Duration::from_secs(time)));
        assert_eq!(check(false, later), Ok(()));
        assert_eq!(check(false, now), Err(InterruptReason::Deadline));
        assert_eq!(check(true, later), Err(InterruptReason::Abandoned));
        assert!(OwnThreadInterrupt::of(&None, later).is_none());
    }
}
