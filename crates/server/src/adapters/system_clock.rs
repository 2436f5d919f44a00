//! Access to the machine: the clock and the source of random bytes.
use ring::rand::{SecureRandom, SystemRandom};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime};
use workgraph_api::ports::EntropyUnavailable;
use workgraph_api::{Clock, Entropy};

/// Clock that reads the time of day once and adds the time of a monotonic clock, so that it never goes back.
#[derive(Debug)]
pub(crate) struct WallClock {
    start: SystemTime,
    since: Instant,
    /// Milliseconds by which the machine's clock is ahead, for instance after a sleep.
    ahead: AtomicU64,
}

impl WallClock {
    /// Starts a clock at the time of day.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where time is read"
    )]
    pub(crate) fn start() -> Self {
        Self {
            start: SystemTime::now(),
            since: Instant::now(),
            ahead: AtomicU64::new(0),
        }
    }
    /// Returns the time since the start, for measuring.
    pub(crate) fn uptime(&self) -> Duration {
        self.since.elapsed()
    }
    /// Advances the clock, for tests that control the time of a real process.
    #[cfg(debug_assertions)]
    pub(crate) fn advance(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap_or_default();
        self.ahead.fetch_add(millis, Relaxed);
    }
    /// Catches up if the machine's clock is more than two seconds ahead. Never goes back.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where time is read"
    )]
    pub(crate) fn catch_up(&self) {
        let gap = SystemTime::now()
            .duration_since(self.now())
            .unwrap_or_default();
        if gap > Duration::from_secs(2) {
            self.ahead
                .fetch_add(u64::try_from(gap.as_millis()).unwrap_or_default(), Relaxed);
        }
    }
}

/// Waits for the given time after a failure that may be temporary. Only for loops that do nothing else, hence here:
/// everywhere else time is controlled, and a lint forbids sleeping.
pub(crate) async fn pause(time: Duration) {
    // The timeout always expires.
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}

impl Clock for WallClock {
    fn now(&self) -> SystemTime {
        let now = self.start + self.since.elapsed();
        match self.ahead.load(Relaxed) {
            0 => now,
            ahead => now + Duration::from_millis(ahead),
        }
    }
}

/// Random bytes of the operating system.
#[derive(Debug)]
pub(crate) struct SystemEntropy(SystemRandom);

impl SystemEntropy {
    /// Opens the random generator of the operating system.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place where randomness comes from"
    )]
    pub(crate) fn new() -> Self {
        Self(SystemRandom::new())
    }
}

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyUnavailable> {
        self.0.fill(buffer).map_err(|_| EntropyUnavailable)
    }
}

/// Returns random bytes in an array.
pub(crate) fn random<const N: usize>(entropy: &dyn Entropy) -> Result<[u8; N], EntropyUnavailable> {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes)?;
    Ok(bytes)
}

/// Returns the bytes as lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
            // Writing to a String cannot fail.
            let _ = write!(out, "{b:02x}");
            out
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_step_back_and_random_bytes_differ() {
        let clock = WallClock::start();
        let first = clock.now();
        clock.catch_up();
        assert!(clock.now() >= first);
        let entropy = SystemEntropy::new();
        assert_ne!(random::<16>(&entropy), random::<16>(&entropy));
        assert_eq!(hex(&[0, 0xab, 9]), "00ab09");
    }
}
