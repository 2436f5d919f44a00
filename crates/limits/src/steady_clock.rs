//! Clock that never goes back, for programs without one.

use std::time::{Instant, SystemTime};

/// Clock that reads the time of day once and then adds the time measured by a monotonic clock, so that it never goes
/// back and never jumps when the time of day is set.
///
/// It drifts from the time of day as the monotonic clock does, which does not matter for limits. The limiters themselves
/// read no clock: the time is an argument.
///
/// ```
/// use workgraph_limits::{Limiter, PerTime, SteadyClock};
///
/// let clock = SteadyClock::new();
/// let limits: Limiter<String> = Limiter::builder().window("minute", 150.per_minute()).build();
/// assert!(limits.admit(&"alice".to_owned(), clock.now()).is_ok());
/// assert!(clock.now() <= clock.now());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SteadyClock {
    start: SystemTime,
    since: Instant,
}

impl SteadyClock {
    /// Starts the clock at the time of day.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that others take as an argument"
    )]
    pub fn new() -> Self {
        Self {
            start: SystemTime::now(),
            since: Instant::now(),
        }
    }

    /// Returns the time, which is never before the result of an earlier call.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        let start = self.start;
        start.checked_add(self.since.elapsed()).unwrap_or(start)
    }
}

impl Default for SteadyClock {
    fn default() -> Self {
        Self::new()
    }
}
