//! Settings of the limiter: its connection, its keys and its timeouts.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a [`RedisLimiter`](crate::RedisLimiter).
#[derive(Clone)]
pub struct RedisLimiterSettings {
    /// Address: `redis://`, `rediss://` (TLS) or `redis+unix://`, with user, password and database number.
    pub url: String,
    /// File with the certificates of the authorities trusted for TLS (PEM), instead of the machine's certificates.
    pub root_certificates: Option<PathBuf>,
    /// Prefix of every key, so that several services can use one server.
    pub prefix: String,
    /// Maximum time of a decision, after which this process decides alone.
    pub timeout: Duration,
    /// Maximum time for connecting.
    pub connect_timeout: Duration,
    /// Interval between attempts to reconnect.
    pub probe_interval: Duration,
    /// Number of processes that divide each quota when they decide alone.
    pub processes: u32,
    /// True if decisions use the time of this process instead of the server's: for tests with their own
    /// clock.
    pub local_time: bool,
}

impl RedisLimiterSettings {
    /// Returns the default settings for an address.
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

/// Hides the address, because it may contain a password.
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
