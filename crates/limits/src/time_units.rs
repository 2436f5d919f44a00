//! The unit of time of the limiters: milliseconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

/// Length of the window in milliseconds. A stamp made at `s` counts while `now - s` is below it.
pub const WINDOW_MS: u64 = 60_000;

/// Returns a time in milliseconds since 1970; earlier times become 0.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since
        .as_secs()
        .saturating_mul(1_000)
        .saturating_add(since.subsec_millis().into())
}
