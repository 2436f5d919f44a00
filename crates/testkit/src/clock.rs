//! Time and random bytes controlled by a test.
use parking_lot::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Clock that shows the same time until a test moves it.
#[derive(Debug)]
pub struct ManualClock(Mutex<SystemTime>);

impl ManualClock {
    /// Makes a clock that shows `now`.
    #[must_use]
    pub const fn new(now: SystemTime) -> Self {
        Self(Mutex::new(now))
    }

    /// Returns the time that the clock shows.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        *self.0.lock()
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        *self.0.lock() += by;
    }

    /// Sets the clock, possibly back.
    pub fn set(&self, now: SystemTime) {
        *self.0.lock() = now;
    }
}

/// Clock at 2026-01-15 09:30:00 UTC, a Thursday.
impl Default for ManualClock {
    fn default() -> Self {
        Self::new(UNIX_EPOCH + Duration::from_secs(1_768_469_400))
    }
}

/// Source of bytes that look random and are the same for the same seed. Not secret.
#[derive(Debug)]
pub struct SeededBytes(Mutex<u64>);

impl SeededBytes {
    /// Makes a source for this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    /// Fills the buffer with the next bytes.
    pub fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0.lock();
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64, which is in the public domain.
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = *state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            for (to, from) in chunk.iter_mut().zip(z.to_le_bytes()) {
                *to = from;
            }
        }
    }

    /// Returns the next bytes.
    #[must_use]
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_goes_only_when_told() {
        let clock = ManualClock::default();
        let start = clock.now();
        assert_eq!(clock.now(), start);
        clock.advance(Duration::from_millis(1500));
        assert_eq!(clock.now(), start + Duration::from_millis(1500));
        clock.set(start);
        assert_eq!(clock.now(), start);
    }

    #[test]
    fn seeded_bytes_depend_on_the_seed_and_go_on() {
        let (a, b, c) = (
            SeededBytes::new(1),
            SeededBytes::new(1),
            SeededBytes::new(2),
        );
        let first: [u8; 32] = a.bytes();
        assert_eq!(first, b.bytes());
        assert_ne!(first, c.bytes());
        assert_ne!(first, a.bytes());
    }
}
