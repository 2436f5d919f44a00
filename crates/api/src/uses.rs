//! When tokens were last used, roughly: noted by requests, written now and then, many at once.
use crate::pipeline::Api;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, SystemTime};
use workgraph_auth::TokenRecord;

/// A use is not noted if the record has one that is younger than this.
const RECENT: Duration = Duration::from_secs(600);
/// How many tokens wait to be written; uses of more are passed over until the next write.
const MOST: usize = 10_000;

/// How many tokens are known to be noted without a lock.
const SEEN: usize = 256;

/// Uses that are not written yet: of each token the first since the last write.
#[derive(Debug)]
pub(crate) struct Uses {
    noted: Mutex<FxHashMap<u64, SystemTime>>,
    /// Tokens that are noted, each in a place of its number; changed under the lock.
    seen: [AtomicU64; SEEN],
}

impl Default for Uses {
    fn default() -> Self {
        Self {
            noted: Mutex::default(),
            seen: [const { AtomicU64::new(0) }; SEEN],
        }
    }
}

impl Uses {
    /// Notes a use. A request never waits for another one here: it rather goes unnoted.
    pub(crate) fn note(&self, record: &TokenRecord, now: SystemTime) {
        let old = |at: SystemTime| now.duration_since(at).is_ok_and(|age| age >= RECENT);
        let is_seen = |seen: &AtomicU64| seen.load(Relaxed) == record.id;
        let seen = self.seen.get(record.id as usize % SEEN);
        let free = || match self.noted.try_lock() {
            Ok(uses) => Some(uses),
            Err(TryLockError::Poisoned(uses)) => Some(uses.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if record.last_used_at.is_none_or(old)
            && !seen.is_some_and(is_seen)
            && let Some(mut uses) = free()
            && (uses.len() < MOST || uses.contains_key(&record.id))
        {
            uses.entry(record.id).or_insert(now);
            if let Some(seen) = seen {
                seen.store(record.id, Relaxed);
            }
        }
    }

    fn take(&self) -> Vec<(u64, SystemTime)> {
        let mut uses = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        for seen in &self.seen {
            seen.store(0, Relaxed);
        }
        uses.drain().collect()
    }
}

impl Api {
    /// Writes down which tokens were used since the last call. Worth a call every half a minute, and
    /// one at the end.
    ///
    /// # Errors
    /// When the store fails; the text is for the log. Those uses are forgotten.
    pub async fn write_uses(&self) -> Result<(), String> {
        let uses = self.uses.take();
        if uses.is_empty() {
            return Ok(());
        }
        self.tokens.touch(&uses).await.map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use workgraph_auth::Digest;

    #[test]
    fn a_panic_beside_a_use_does_not_end_the_noting_of_uses() {
        let (uses, now) = (Uses::default(), SystemTime::UNIX_EPOCH);
        let panics = AssertUnwindSafe(|| {
            let _held = uses.noted.lock();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(catch_unwind(panics).is_err() && uses.noted.is_poisoned());
        uses.note(&TokenRecord::personal(7, Digest([0; 32]), 1, now), now);
        assert_eq!(uses.take(), [(7, now)]);
    }

    #[test]
    fn the_first_use_since_each_write_is_noted_of_every_token() {
        let (uses, start) = (Uses::default(), SystemTime::UNIX_EPOCH);
        // Two of them have the same place.
        let tokens = [7, 8, 7 + SEEN as u64];
        for round in 1..4 {
            let now = start + RECENT * round;
            for (id, at) in tokens
                .map(|id| (id, now))
                .into_iter()
                .chain(tokens.map(|id| (id, now + RECENT)))
            {
                uses.note(&TokenRecord::personal(id, Digest([0; 32]), 1, start), at);
            }
            let mut taken = uses.take();
            taken.sort_unstable();
            assert_eq!(taken, tokens.map(|id| (id, now)));
        }
    }
}
