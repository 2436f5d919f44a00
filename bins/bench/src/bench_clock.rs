//! The wall clock, which is only read here.

use std::time::{Duration, Instant};

/// Returns the current instant.
#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures with the wall clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Sleeps for the given time.
#[expect(
    clippy::disallowed_methods,
    reason = "waiting for a child process, not for a condition of a test"
)]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}
