//! Rates: quotas per length of time.

use std::time::Duration;

use crate::time_units::length_ms;

/// Quota for each length of time, such as 100 in ten seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Weight of requests, or credits, that fit into any span of this length.
    pub quota: u32,
    /// Length of the span. It is rounded up to whole milliseconds, at least one.
    pub length: Duration,
}

/// Readable rates: `100.per(Duration::from_secs(10))`, `10_000.per_day()`.
pub trait PerTime: Sized {
    /// Returns the rate of this quota per `length`.
    #[must_use]
    fn per(self, length: Duration) -> Rate;

    /// Returns the rate of this quota per second.
    #[must_use]
    fn per_second(self) -> Rate {
        self.per(Duration::from_secs(1))
    }

    /// Returns the rate of this quota per minute.
    #[must_use]
    fn per_minute(self) -> Rate {
        self.per(Duration::from_secs(60))
    }

    /// Returns the rate of this quota per hour.
    #[must_use]
    fn per_hour(self) -> Rate {
        self.per(Duration::from_secs(3_600))
    }

    /// Returns the rate of this quota per 24 hours.
    #[must_use]
    fn per_day(self) -> Rate {
        self.per(Duration::from_secs(86_400))
    }
}

impl PerTime for u32 {
    fn per(self, length: Duration) -> Rate {
        Rate {
            quota: self,
            length,
        }
    }
}

/// Maximum window in ticks, so that the difference of two 32-bit stamps shows which one is older.
const TICKS_MAX: u64 = 1 << 31;

/// Length of a window, in ticks. A tick is a millisecond for windows below 24 days; for longer ones it is as many
/// milliseconds as a 32-bit stamp needs, and a request counts for up to two ticks longer than the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLength {
    ticks: u32,
    /// Binary logarithm of the milliseconds per tick.
    shift: u8,
}

impl WindowLength {
    /// Length of a minute.
    pub const MINUTE: Self = Self::from_millis(60_000);

    /// Returns the length of this many milliseconds, at least one.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        let mut shift = 0;
        while (ms >> shift) > TICKS_MAX - 2 {
            shift += 1;
        }
        let ticks = match (ms, shift) {
            (0, _) => 1,
            (ms, 0) => ms,
            // A partial tick at either end does not shorten the window.
            (ms, _) => (ms >> shift) + 2,
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the loop ends below the most ticks"
        )]
        let ticks = ticks as u32;
        Self { ticks, shift }
    }

    /// Returns the length of a duration in milliseconds, rounded up.
    #[must_use]
    pub fn of(length: Duration) -> Self {
        Self::from_millis(length_ms(length))
    }

    /// Returns the maximum number of milliseconds for which a request counts.
    #[must_use]
    pub fn millis(self) -> u64 {
        u64::from(self.ticks).saturating_mul(1 << self.shift)
    }

    /// Returns the length in ticks.
    #[must_use]
    pub fn ticks(self) -> u32 {
        self.ticks
    }

    /// Returns the binary logarithm of the milliseconds per tick.
    #[must_use]
    pub fn shift(self) -> u8 {
        self.shift
    }

    /// Returns the tick of a time in milliseconds.
    #[inline]
    pub(crate) fn tick(self, now: u64) -> u64 {
        now >> self.shift
    }

    /// Converts an age from ticks to milliseconds.
    pub(crate) fn age(self, ticks: u32) -> u64 {
        u64::from(ticks) << self.shift
    }

    /// Returns the milliseconds from `now` until this many ticks later.
    pub(crate) fn until(self, ticks: u64, now: u64) -> u64 {
        if ticks == 0 || self.shift == 0 {
            return ticks;
        }
        let tick = self.tick(now).saturating_add(ticks);
        tick.saturating_mul(1 << self.shift).saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::{PerTime, Rate, WindowLength};
    use std::time::Duration;

    const DAY_MS: u64 = 86_400_000;

    #[test]
    fn rates_are_written_as_they_are_spoken() {
        let rate = |quota, seconds| Rate {
            quota,
            length: Duration::from_secs(seconds),
        };
        assert_eq!(100.per(Duration::from_secs(10)), rate(100, 10));
        assert_eq!(5.per_second(), rate(5, 1));
        assert_eq!(150.per_minute(), rate(150, 60));
        assert_eq!(7.per_hour(), rate(7, 3_600));
        assert_eq!(10_000.per_day(), rate(10_000, 86_400));
    }

    #[test]
    fn lengths_are_exact_below_24_days_and_never_shorter_than_asked_for() {
        for ms in [1, 999, 60_000, DAY_MS, 24 * DAY_MS] {
            assert_eq!(WindowLength::from_millis(ms).millis(), ms);
        }
        assert_eq!(WindowLength::of(Duration::from_micros(1)).millis(), 1);
        assert_eq!(WindowLength::of(Duration::ZERO).millis(), 1);
        for ms in [25 * DAY_MS, 31 * DAY_MS, 365 * DAY_MS, 100 * 365 * DAY_MS] {
            let length = WindowLength::from_millis(ms);
            let tick = 1 << length.shift;
            assert!(length.millis() >= ms && length.millis() <= ms + 2 * tick);
            assert!(tick <= ms / 500_000_000, "{ms}");
        }
        let endless = WindowLength::of(Duration::MAX);
        assert!(endless.millis() >= 1 << 63);
    }

    #[test]
    fn the_wait_ends_with_a_tick() {
        let month = WindowLength::from_millis(31 * DAY_MS);
        let tick = 1_u64 << month.shift;
        let now = 1_800_000_000_000 + tick - 1;
        assert_eq!(month.until(1, now), 1);
        assert_eq!(month.until(0, now), 0);
        assert_eq!(WindowLength::MINUTE.until(7, u64::MAX), 7);
        assert!(month.until(u64::MAX, 5) > 1 << 62);
    }
}
