//! The limits server as recorded for all processes of a service.

use std::time::Duration;

use crate::breaker::CAUTION_MS;

/// Redis that the processes of a service used last. It is recorded in their database, where all of them can read it.
///
/// A Redis without data is trusted immediately, unless an older process exists: the older process may have decided alone in
/// between, or may have used another Redis, which had admitted a whole quota. In that case, each process must also agree
/// with its part of each quota for a minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownServer {
    /// Name of its data ([`RedisLimiter::server_id`](crate::RedisLimiter::server_id)).
    pub id: String,
    /// Millisecond of the database's clock until which processes must also agree with their parts.
    pub cautious_until_ms: u64,
}

impl KnownServer {
    /// Age in milliseconds from which another process may know more than a new Redis.
    pub const OLD_MS: u64 = CAUTION_MS;

    /// Returns the record for the Redis that a process finds when it starts. `has_older` is true if another live process
    /// started at least [`OLD_MS`](Self::OLD_MS) ago.
    #[must_use]
    pub fn at_start(kept: Option<&Self>, id: &str, has_older: bool, now_ms: u64) -> Self {
        match kept {
            Some(kept) if kept.id == id => kept.clone(),
            _ if has_older => Self::new(id, now_ms.saturating_add(CAUTION_MS)),
            _ => Self::new(id, 0),
        }
    }

    /// Returns the record for a Redis that a process finds in place of its previous one.
    #[must_use]
    pub fn after_loss(kept: Option<&Self>, id: &str, now_ms: u64) -> Self {
        match kept {
            Some(kept) if kept.id == id && kept.cautious_until_ms > now_ms => kept.clone(),
            _ => Self::new(id, now_ms.saturating_add(CAUTION_MS)),
        }
    }

    /// Returns how long processes must still agree with their parts.
    #[must_use]
    pub fn caution(&self, now_ms: u64) -> Duration {
        Duration::from_millis(self.cautious_until_ms.saturating_sub(now_ms))
    }

    fn new(id: &str, cautious_until_ms: u64) -> Self {
        Self {
            id: id.to_owned(),
            cautious_until_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CAUTION_MS, KnownServer};

    #[test]
    fn only_a_server_that_an_older_process_does_not_know_is_met_with_caution() {
        let kept = KnownServer::new("a", 0);
        let start = |kept, id, has_older| {
            let found = KnownServer::at_start(kept, id, has_older, 1_000);
            found.cautious_until_ms
        };
        assert_eq!(start(None, "a", false), 0, "everything begins");
        assert_eq!(start(Some(&kept), "b", false), 0, "everything begins again");
        assert_eq!(start(Some(&kept), "a", true), 0, "it is the known one");
        assert_eq!(start(Some(&kept), "b", true), 1_000 + CAUTION_MS);
        let lost = KnownServer::after_loss(Some(&kept), "b", 5_000);
        assert_eq!(lost, KnownServer::new("b", 5_000 + CAUTION_MS));
        assert_eq!(KnownServer::after_loss(Some(&lost), "b", 6_000), lost);
        assert_eq!(
            lost.caution(6_000).as_millis(),
            u128::from(CAUTION_MS) - 1_000
        );
        assert!(lost.caution(u64::MAX).is_zero());
    }
}
