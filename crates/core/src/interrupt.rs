//! Interrupts: stop long work when its deadline has passed or its client has gone.
//!
//! The loops of loading, searching and projecting count their steps with a `StepCounter`, which checks an [`Interrupt`]
//! now and then. Work without a deadline and without a client has no interrupt.
use std::fmt;
use std::sync::Arc;
use std::task::Poll;

/// Reason why work was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterruptReason {
    /// The deadline of the work has passed.
    Deadline,
    /// The client does not wait for the result any more.
    Abandoned,
    /// The work has taken all the steps that it may take on this thread. It can be started again: see
    /// [`Interrupt::poll_allowed`].
    AllowanceSpent,
}

/// Decides whether work continues. One thread checks it at a time.
pub trait Interrupt: fmt::Debug + Send + Sync {
    /// Counts steps, of about a hundred nanoseconds each, and returns an error if the work must stop.
    ///
    /// # Errors
    /// The reason to stop.
    fn check(&self, steps: u32) -> Result<(), InterruptReason>;

    /// Returns ready once work that was stopped with [`InterruptReason::AllowanceSpent`] may start again, with more
    /// steps. Until then the task that polls it must be polled on another thread.
    fn poll_allowed(&self) -> Poll<()> {
        Poll::Ready(())
    }

    /// Records the gid of the user for whom the work is done, once it is known. Users take turns with long work.
    fn note_user(&self, _user: u64) {}
}

/// Interrupt of some work; `None` if the work is never stopped.
pub type MaybeInterrupt = Option<Arc<dyn Interrupt>>;

/// Number of steps between two checks.
pub const STEPS_PER_CHECK: u32 = 64;

/// Counts the steps of a piece of work, and checks its interrupt now and then.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepCounter {
    interrupt: MaybeInterrupt,
    /// Steps since the last check.
    steps: u32,
    /// Steps up to the last check.
    before: u64,
}

impl StepCounter {
    pub(crate) fn of(interrupt: &MaybeInterrupt) -> Self {
        Self {
            interrupt: interrupt.clone(),
            steps: 0,
            before: 0,
        }
    }

    /// Counts steps, and checks the interrupt if it is time.
    #[inline]
    pub(crate) fn steps(&mut self, steps: usize) -> Result<(), InterruptReason> {
        self.steps = self
            .steps
            .saturating_add(u32::try_from(steps).unwrap_or(u32::MAX));
        if self.steps < STEPS_PER_CHECK {
            return Ok(());
        }
        self.check()
    }

    /// Returns the number of steps so far.
    pub(crate) fn total(&self) -> u64 {
        self.before + u64::from(self.steps)
    }

    #[cold]
    fn check(&mut self) -> Result<(), InterruptReason> {
        let steps = std::mem::take(&mut self.steps);
        self.before += u64::from(steps);
        match &self.interrupt {
            Some(interrupt) => interrupt.check(steps),
            None => Ok(()),
        }
    }
}

impl fmt::Display for InterruptReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "it took too long",
            Self::Abandoned => "nobody waits for it any more",
            Self::AllowanceSpent => "it is too much for where it ran",
        })
    }
}
