//! Unit of time of the limiters: milliseconds since 1970.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns a time in milliseconds since 1970; earlier times become 0.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since
        .as_secs()
        .saturating_mul(1_000)
        .saturating_add(since.subsec_millis().into())
}

/// Returns the whole milliseconds of a duration, rounded up.
pub(crate) fn length_ms(length: Duration) -> u64 {
    u64::try_from(length.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
