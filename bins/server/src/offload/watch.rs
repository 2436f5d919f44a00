//! The watch over one piece of work: how much of it is done where it began, and when it must end.
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;
use workgraph_core::{Interrupt, Interrupted};

/// The steps after which work elsewhere offers its processor to others, some fifty microseconds of them. A scheduler lets
/// a thread that computes keep it for several milliseconds, for which each short read would wait, too.
const STRETCH: u32 = 512;

/// The interrupt of one piece of work.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The steps that are left to it where it began.
    steps: AtomicU32,
    /// Those are used up, and it asks to be taken elsewhere.
    asks: AtomicBool,
    /// Elsewhere: when it must end.
    until: Mutex<Option<Instant>>,
    /// The steps that it took elsewhere.
    taken: AtomicU32,
    /// It waits for its turn elsewhere, or has it.
    away: AtomicBool,
    abandoned: AtomicBool,
}

impl Watch {
    /// Returns the watch over work that may take so many steps where it begins.
    pub(super) fn new(allowance: u32) -> Self {
        Self {
            steps: AtomicU32::new(allowance),
            taken: AtomicU32::new(0),
            asks: AtomicBool::new(false),
            until: Mutex::default(),
            away: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Nobody waits for the work any more: it ends at its next check.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Relaxed);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Relaxed)
    }

    /// Whether it is not where it began: to drop it is then to stop it.
    pub(crate) fn is_away(&self) -> bool {
        self.away.load(Relaxed)
    }

    pub(super) fn set_away(&self, away: bool) {
        self.away.store(away, Relaxed);
    }

    /// Whether the work asks to be taken elsewhere.
    pub(super) fn asks(&self) -> bool {
        self.asks.load(Relaxed)
    }

    /// The work goes on elsewhere, for so long at most.
    pub(super) fn leave(&self, timeout: Duration) {
        self.set(Some(Instant::now() + timeout));
        self.asks.store(false, Relaxed);
    }

    /// The work is back where it began.
    pub(super) fn come_back(&self) {
        self.set(None);
    }

    fn set(&self, until: Option<Instant>) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn until(&self) -> Option<Instant> {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interrupt for Watch {
    fn check(&self, steps: u32) -> Result<(), Interrupted> {
        if self.is_abandoned() {
            return Err(Interrupted::Abandoned);
        }
        if let Some(until) = self.until() {
            let before = self.taken.load(Relaxed);
            let after = before.wrapping_add(steps);
            self.taken.store(after, Relaxed);
            if before / STRETCH != after / STRETCH {
                std::thread::yield_now();
            }
            return if Instant::now() < until {
                Ok(())
            } else {
                Err(Interrupted::Deadline)
            };
        }
        let left = self.steps.load(Relaxed).checked_sub(steps);
        self.steps.store(left.unwrap_or(0), Relaxed);
        left.map(drop).ok_or(Interrupted::Allowance)
    }

    fn poll_allowed(&self) -> Poll<()> {
        if self.until().is_some() {
            return Poll::Ready(());
        }
        self.asks.store(true, Relaxed);
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::super::allowance::MOST as ALLOWANCE;
    use super::*;

    /// S101.
    #[test]
    fn work_has_an_allowance_where_it_began_and_a_deadline_elsewhere() {
        let watch = Watch::new(ALLOWANCE);
        assert_eq!(watch.check(ALLOWANCE), Ok(()));
        assert_eq!(watch.check(1), Err(Interrupted::Allowance));
        assert!(!watch.asks());
        assert_eq!(watch.poll_allowed(), Poll::Pending);
        assert!(watch.asks());
        watch.leave(Duration::from_secs(60));
        assert_eq!(watch.poll_allowed(), Poll::Ready(()));
        assert_eq!(watch.check(u32::MAX), Ok(()), "no steps are counted there");
        watch.come_back();
        assert!(!watch.asks());
        assert_eq!(watch.check(1), Err(Interrupted::Allowance), "no second one");
        watch.leave(Duration::ZERO);
        assert_eq!(watch.check(1), Err(Interrupted::Deadline));
        watch.abandon();
        assert_eq!(watch.check(1), Err(Interrupted::Abandoned));
    }
}
