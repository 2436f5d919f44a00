//! Settings of the limiter.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a [`RedisLimiter`](crate::RedisLimiter).
#[derive(Clone)]
pub struct RedisLimiterSettings {
    /// Address: `redis://`, `rediss://` (TLS) or `redis+unix://`, with user, password and number of the database.
    pub url: String,
    /// File with the certificates of the authorities that are trusted with TLS (PEM), instead of those of the machine.
    pub root_certificates: Option<PathBuf>,
    /// Start of every key, so that several services can use one server.
    pub prefix: String,
    /// Longest time that a decision may take before this process decides alone.
    pub timeout: Duration,
    /// Longest time that connecting may take.
    pub connect_timeout: Duration,
    /// Time between two attempts to come back.
    pub probe_interval: Duration,
    /// Number of processes that divide each quota when they decide alone.
    pub processes: u32,
    /// True if decisions are made at the time of this process instead of the server's: for tests with a clock of their
    /// own.
    pub local_time: bool,
}

impl RedisLimiterSettings {
    /// Returns the settings with the default of everything but the address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            root_certificates: None,
            prefix: "workgraph".to_owned(),
            timeout: Duration::from_millis(20),
            connect_timeout: Duration::from_secs(2),
            probe_interval: Duration::from_secs(1),
            processes: 1,
            local_time: false,
        }
    }
}

/// Shows no address, because it may have a password.
impl fmt::Debug for RedisLimiterSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLimiterSettings")
            .field("root_certificates", &self.root_certificates)
            .field("prefix", &self.prefix)
            .field("timeout", &self.timeout)
            .field("processes", &self.processes)
            .finish_non_exhaustive()
    }
}
