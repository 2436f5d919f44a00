//! Interrupts: how long work is stopped, by whoever has a clock and knows who waits for it.
//!
//! The loops of loading, searching and projecting count their steps with a `Pace`, which checks an
//! [`Interrupt`] now and then. Where neither time nor waiting matters there is none.
use crate::fault::{Fault, Kind};
use crate::graph::StoreError;
use std::fmt;
use std::sync::Arc;
use std::task::Poll;

/// The reason for which work was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupted {
    /// Its deadline has passed.
    Deadline,
    /// Nobody waits for it any more.
    Abandoned,
    /// It has taken all the steps it may take where it runs. It can be started again: see
    /// [`Interrupt::poll_allowed`].
    Allowance,
}

/// Decides whether work goes on. It is checked from one thread at a time.
pub trait Interrupt: fmt::Debug + Send + Sync {
    /// Counts steps, of some hundred nanoseconds each, and says whether the work may go on.
    ///
    /// # Errors
    /// The reason to stop.
    fn check(&self, steps: u32) -> Result<(), Interrupted>;

    /// Ready once work that was stopped with [`Interrupted::Allowance`] may start again, with more
    /// steps. Until then whoever polls it is to be polled elsewhere.
    fn poll_allowed(&self) -> Poll<()> {
        Poll::Ready(())
    }
}

/// The interrupt of some work, if it has one.
pub type MaybeInterrupt = Option<Arc<dyn Interrupt>>;

/// The number of steps between two checks.
pub const STRIDE: u32 = 64;

/// Counts the steps of a piece of work, and checks its interrupt now and then.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    interrupt: MaybeInterrupt,
    /// Those since the last check.
    steps: u32,
}

impl Pace {
    pub(crate) fn of(interrupt: &MaybeInterrupt) -> Self {
        Self {
            interrupt: interrupt.clone(),
            steps: 0,
        }
    }

    /// Takes some steps.
    #[inline]
    pub(crate) fn steps(&mut self, steps: usize) -> Result<(), Interrupted> {
        self.steps = self
            .steps
            .saturating_add(u32::try_from(steps).unwrap_or(u32::MAX));
        if self.steps < STRIDE {
            return Ok(());
        }
        self.check()
    }

    #[cold]
    fn check(&mut self) -> Result<(), Interrupted> {
        let steps = std::mem::take(&mut self.steps);
        match &self.interrupt {
            Some(interrupt) => interrupt.check(steps),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "it took too long",
            Self::Abandoned => "nobody waits for it any more",
            Self::Allowance => "it is too much for where it ran",
        })
    }
}

impl From<Interrupted> for StoreError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

impl From<Interrupted> for Fault {
    fn from(interrupted: Interrupted) -> Self {
        Self {
            kind: Kind::Interrupted(interrupted),
            message: "The request took too long. A read can ask for less: fewer opt_fields, a smaller limit, \
                      more filters. A change it makes may still be made"
                .to_owned(),
        }
    }
}
