//! When tokens were last used, roughly: noted by requests, written now and then, many at once.
use crate::pipeline::Api;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, SystemTime};
use workgraph_auth::TokenRecord;

/// A use is not noted if the record has one that is younger than this.
const RECENT: Duration = Duration::from_secs(600);
/// How many tokens wait to be written; uses of more are passed over until the next write.
const MOST: usize = 10_000;

/// Uses that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct Uses(Mutex<FxHashMap<u64, SystemTime>>);

impl Uses {
    /// Notes a use. A request never waits for another one here: it rather goes unnoted.
    pub(crate) fn note(&self, record: &TokenRecord, now: SystemTime) {
        let old = |at: SystemTime| now.duration_since(at).is_ok_and(|age| age >= RECENT);
        let free = || match self.0.try_lock() {
            Ok(uses) => Some(uses),
            Err(TryLockError::Poisoned(uses)) => Some(uses.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if record.last_used_at.is_none_or(old)
            && let Some(mut uses) = free()
            && (uses.len() < MOST || uses.contains_key(&record.id))
        {
            uses.insert(record.id, now);
        }
    }

    fn take(&self) -> Vec<(u64, SystemTime)> {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
            let _held = uses.0.lock();
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(catch_unwind(panics).is_err() && uses.0.is_poisoned());
        uses.note(&TokenRecord::personal(7, Digest([0; 32]), 1, now), now);
        assert_eq!(uses.take(), [(7, now)]);
    }
}
