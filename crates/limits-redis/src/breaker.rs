//! Breaker: chooses between the shared limiter and this process, based on the failures seen.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use parking_lot::Mutex;
use workgraph_limits::shared_limiter::SharedMode;

/// Length of the windows of the functions, in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// Number of failures within [`FAILURE_SPAN_MS`] that open the breaker.
const FAILURES: usize = 3;
const FAILURE_SPAN_MS: u64 = 1_000;

/// Milliseconds for which decisions are cautious after another server has replaced a lost one: as long as decisions made
/// in between count, plus a second for requests in progress.
pub(crate) const CAUTION_MS: u64 = WINDOW_MS + 1_000;

/// Breaker. Times are milliseconds of a clock that never steps back.
#[derive(Debug)]
pub(crate) struct Breaker {
    caution_ms: u64,
    is_open: AtomicBool,
    /// Time until which decisions are cautious.
    cautious_until: AtomicU64,
    recent: Mutex<[Option<u64>; FAILURES]>,
}

impl Breaker {
    /// Makes a closed breaker.
    pub(crate) fn new(caution_ms: u64) -> Self {
        Self {
            caution_ms,
            is_open: AtomicBool::new(false),
            cautious_until: AtomicU64::new(0),
            recent: Mutex::default(),
        }
    }

    /// Makes decisions cautious until a time, and no longer.
    pub(crate) fn be_cautious_until(&self, until: u64) {
        self.cautious_until.store(until, Relaxed);
    }

    /// Returns the current mode of decisions.
    pub(crate) fn mode(&self, now: u64) -> SharedMode {
        if self.is_open.load(Relaxed) {
            SharedMode::Local
        } else if now < self.cautious_until.load(Relaxed) {
            SharedMode::Cautious
        } else {
            SharedMode::Exact
        }
    }

    /// Records a call that failed or took too long.
    pub(crate) fn note_failure(&self, now: u64) {
        let mut recent = self.recent.lock();
        recent.rotate_left(1);
        if let Some(last) = recent.last_mut() {
            *last = Some(now);
        }
        let all_recent = recent
            .iter()
            .all(|at| at.is_some_and(|at| now.saturating_sub(at) < FAILURE_SPAN_MS));
        if all_recent {
            self.is_open.store(true, Relaxed);
        }
    }

    /// Records that the connection was lost.
    pub(crate) fn note_loss(&self) {
        self.is_open.store(true, Relaxed);
    }

    /// Records that a server answers again: the same one, or another one that does not know earlier admissions.
    pub(crate) fn close(&self, now: u64, is_another: bool) {
        *self.recent.lock() = [None; FAILURES];
        if is_another {
            let until = now.saturating_add(self.caution_ms);
            self.cautious_until.fetch_max(until, Relaxed);
        }
        self.is_open.store(false, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Breaker, CAUTION_MS, SharedMode};

    #[test]
    fn three_failures_in_a_second_open_it_and_two_do_not() {
        let breaker = Breaker::new(CAUTION_MS);
        for now in [0, 600, 1_000, 1_600] {
            breaker.note_failure(now);
            assert_eq!(breaker.mode(now), SharedMode::Exact, "at {now}");
        }
        breaker.note_failure(1_700);
        assert_eq!(breaker.mode(1_700), SharedMode::Local);
        assert_eq!(
            breaker.mode(1_000_000),
            SharedMode::Local,
            "until it answers"
        );
        breaker.close(1_000_000, false);
        assert_eq!(
            breaker.mode(1_000_000),
            SharedMode::Exact,
            "nothing was lost"
        );
        breaker.note_failure(1_000_001);
        assert_eq!(
            breaker.mode(1_000_001),
            SharedMode::Exact,
            "failures are forgotten"
        );
    }

    #[test]
    fn a_lost_connection_opens_it_at_once_and_another_server_leaves_caution_for_a_minute() {
        let breaker = Breaker::new(CAUTION_MS);
        breaker.note_loss();
        assert_eq!(breaker.mode(0), SharedMode::Local);
        breaker.close(1_000, false);
        assert_eq!(breaker.mode(1_000), SharedMode::Exact, "it knows all");
        breaker.note_loss();
        breaker.close(5_000, true);
        assert_eq!(breaker.mode(5_000 + CAUTION_MS - 1), SharedMode::Cautious);
        assert_eq!(breaker.mode(5_000 + CAUTION_MS), SharedMode::Exact);
        breaker.note_loss();
        breaker.close(200_000, false);
        assert_eq!(breaker.mode(200_000), SharedMode::Exact);
    }
}
