//! New secrets in the memory of this node during one request, until they are moved to the cookie of the reply or the
//! page that shows them.
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use workgraph_auth::{Secret, SecretDigest};

use crate::pages::SecretKind;

/// Time for which a secret is kept to be shown.
pub(super) const SHOWING_LIFETIME: Duration = Duration::from_secs(300);
/// Maximum number of kept secrets; beyond it the oldest is dropped.
const SECRETS_MAX: usize = 1000;

type OneTimeSecret = (SystemTime, SecretKind, String, Secret);

/// New secrets in memory, one per session: removed when shown, dropped after five minutes. Between the requests
/// of a browser they are in its cookie (`carried_secret`).
#[derive(Debug, Default)]
pub struct OneTimeSecrets(Mutex<HashMap<SecretDigest, OneTimeSecret>>);

impl OneTimeSecrets {
    pub(super) fn put(
        &self,
        session: SecretDigest,
        purpose: SecretKind,
        name: &str,
        secret: Secret,
        now: SystemTime,
    ) {
        let mut entries = self.0.lock();
        entries.retain(|_, entry| fresh(entry, now));
        if entries.len() >= SECRETS_MAX {
            let oldest = entries
                .iter()
                .min_by_key(|(_, entry)| entry.0)
                .map(|(at, _)| *at);
            oldest.map(|at| entries.remove(&at));
        }
        entries.insert(session, (now, purpose, name.to_owned(), secret));
    }

    pub(super) fn take(
        &self,
        session: &SecretDigest,
        now: SystemTime,
    ) -> Option<(SecretKind, String, Secret)> {
        let entry = self
            .0
            .lock()
            .remove(session)
            .filter(|entry| fresh(entry, now));
        entry.map(|(_, purpose, name, secret)| (purpose, name, secret))
    }
}

fn fresh(entry: &OneTimeSecret, now: SystemTime) -> bool {
    now.duration_since(entry.0)
        .is_ok_and(|age| age < SHOWING_LIFETIME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn put(drawer: &OneTimeSecrets, session: &str, now: SystemTime) {
        drawer.put(
            SecretDigest::of(session),
            SecretKind::Personal,
            "x",
            Secret::new(session.to_owned()),
            now,
        );
    }

    #[test]
    fn a_secret_is_taken_once_by_its_session_and_in_time() {
        let (drawer, now) = (
            OneTimeSecrets::default(),
            UNIX_EPOCH + Duration::from_secs(9),
        );
        let take = |session: &str, now| {
            drawer
                .take(&SecretDigest::of(session), now)
                .map(|e| e.2.expose().to_owned())
        };
        put(&drawer, "a", now);
        assert_eq!(take("b", now), None);
        assert_eq!(take("a", now).as_deref(), Some("a"));
        assert_eq!(take("a", now), None);
        put(&drawer, "a", now);
        assert_eq!(take("a", now + SHOWING_LIFETIME), None);
    }

    #[test]
    fn the_drawer_does_not_grow_without_end() {
        let (drawer, now) = (OneTimeSecrets::default(), UNIX_EPOCH);
        for n in 0..u32::try_from(SECRETS_MAX).unwrap() + 5 {
            put(
                &drawer,
                &n.to_string(),
                now + Duration::from_millis(n.into()),
            );
        }
        assert_eq!(drawer.0.lock().len(), SECRETS_MAX);
        assert!(
            drawer
                .take(&SecretDigest::of("4"), now + Duration::from_secs(5))
                .is_none()
        );
        assert!(
            drawer
                .take(&SecretDigest::of("5"), now + Duration::from_secs(5))
                .is_some()
        );
    }
}
