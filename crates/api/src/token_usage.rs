//! Last-used times of tokens, approximate: requests buffer them, and batches write them periodically.
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};
use workgraph_auth::{AuthStoreError, TokenRecord, TokenStore};

/// Interval in which further uses of a token are not recorded, since the stored time is recent enough.
const MIN_USE_INTERVAL: Duration = Duration::from_secs(600);
/// Maximum number of tokens in the buffer; uses of further tokens are dropped until the next write.
const BUFFERED_TOKENS_MAX: usize = 10_000;

/// Number of slots that show without a lock that a token is in the buffer.
const SEEN_SLOTS: usize = 256;

/// Buffered uses: for each token the first use since the last write.
#[derive(Debug)]
pub(crate) struct TokenUsage {
    pending: Mutex<FxHashMap<u64, SystemTime>>,
    /// Tokens in the buffer, each in the slot of its number; changed under the lock.
    seen: [AtomicU64; SEEN_SLOTS],
}

impl Default for TokenUsage {
    fn default() -> Self {
        Self {
            pending: Mutex::default(),
            seen: [const { AtomicU64::new(0) }; SEEN_SLOTS],
        }
    }
}

impl TokenUsage {
    /// Records a use. A request never waits for another one here: if the lock is taken, the use is dropped.
    pub(crate) fn note(&self, record: &TokenRecord, now: SystemTime) {
        let old = |at: SystemTime| {
            now.duration_since(at)
                .is_ok_and(|age| age >= MIN_USE_INTERVAL)
        };
        let is_seen = |seen: &AtomicU64| seen.load(Relaxed) == record.id;
        let seen = self.seen.get(record.id as usize % SEEN_SLOTS);
        if record.last_used_at.is_none_or(old)
            && !seen.is_some_and(is_seen)
            && let Some(mut uses) = self.pending.try_lock()
            && (uses.len() < BUFFERED_TOKENS_MAX || uses.contains_key(&record.id))
        {
            uses.entry(record.id).or_insert(now);
            if let Some(seen) = seen {
                seen.store(record.id, Relaxed);
            }
        }
    }

    fn drain(&self) -> Vec<(u64, SystemTime)> {
        let mut uses = self.pending.lock();
        for seen in &self.seen {
            seen.store(0, Relaxed);
        }
        uses.drain().collect()
    }

    /// Writes the uses since the last call to the store.
    ///
    /// # Errors
    /// Fails when the store fails; the text is for the log. The uses of that batch are lost.
    pub(crate) async fn flush(&self, tokens: &dyn TokenStore) -> Result<(), AuthStoreError> {
        let uses = self.drain();
        if uses.is_empty() {
            return Ok(());
        }
        tokens.record_token_uses(&uses).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use workgraph_auth::SecretDigest;

    #[test]
    fn a_panic_beside_a_use_does_not_end_the_noting_of_uses() {
        let (uses, now) = (TokenUsage::default(), SystemTime::UNIX_EPOCH);
        let panics = AssertUnwindSafe(|| {
            let _held = uses.pending.lock();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(catch_unwind(panics).is_err());
        uses.note(
            &TokenRecord::personal(7, SecretDigest([0; 32]), 1, now),
            now,
        );
        assert_eq!(uses.drain(), [(7, now)]);
    }

    #[test]
    fn the_first_use_since_each_write_is_noted_of_every_token() {
        let (uses, start) = (TokenUsage::default(), SystemTime::UNIX_EPOCH);
        // Two of these tokens have the same slot.
        let tokens = [7, 8, 7 + SEEN_SLOTS as u64];
        for round in 1..4 {
            let now = start + MIN_USE_INTERVAL * round;
            for (id, at) in tokens
                .map(|id| (id, now))
                .into_iter()
                .chain(tokens.map(|id| (id, now + MIN_USE_INTERVAL)))
            {
                uses.note(
                    &TokenRecord::personal(id, SecretDigest([0; 32]), 1, start),
                    at,
                );
            }
            let mut taken = uses.drain();
            taken.sort_unstable();
            assert_eq!(taken, tokens.map(|id| (id, now)));
        }
    }
}
