//! Names of targets, resolved a few at a time.
//!
//! A look-up occupies a thread until its name server answers, even if its caller has given up. So the thread holds the
//! permits: there are few per domain and not many in total, and the other threads stay free for
//! everything else.
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};
use tokio::sync::Semaphore;

/// Maximum number of concurrent look-ups.
const AT_ONCE: usize = 32;
/// Maximum number of concurrent look-ups per domain.
const OF_DOMAIN: usize = 4;

/// Look-ups in progress.
#[derive(Debug)]
pub(crate) struct DnsLookups {
    all: Arc<Semaphore>,
    domains: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl Default for DnsLookups {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(AT_ONCE)),
            domains: Mutex::default(),
        }
    }
}

/// Returns the last two labels of a name, which usually identify the name server.
fn domain(name: &str) -> &str {
    let name = name.trim_end_matches('.');
    let mut dots = name.rmatch_indices('.').map(|(at, _)| at + 1);
    let start = dots.nth(1).unwrap_or(0);
    name.get(start..).unwrap_or(name)
}

impl DnsLookups {
    fn of_domain(&self, name: &str) -> Arc<Semaphore> {
        let mut domains = self.domains.lock();
        domains.retain(|_, semaphore| semaphore.strong_count() > 0);
        let key = domain(name).to_ascii_lowercase();
        if let Some(semaphore) = domains.get(&key).and_then(Weak::upgrade) {
            return semaphore;
        }
        let semaphore = Arc::new(Semaphore::new(OF_DOMAIN));
        domains.insert(key, Arc::downgrade(&semaphore));
        semaphore
    }

    /// Resolves a name on a thread that may block. If the caller stops waiting, the look-up still runs to its end.
    ///
    /// # Errors
    /// Fails as the look-up does.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        name: &str,
        lookup: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let of_domain = self.of_domain(name).acquire_owned().await;
        let of_all = Arc::clone(&self.all).acquire_owned().await;
        let permits = (
            of_domain.map_err(io::Error::other)?,
            of_all.map_err(io::Error::other)?,
        );
        let work = move || {
            let found = lookup();
            drop(permits);
            found
        };
        tokio::task::spawn_blocking(work)
            .await
            .map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;
    use tokio::time::timeout;

    #[test]
    fn the_domain_of_a_name_is_its_last_two_labels() {
        for (name, is) in [
            ("a.b.evil.example", "evil.example"),
            ("evil.example", "evil.example"),
            ("evil.example.", "evil.example"),
            ("localhost", "localhost"),
            ("", ""),
        ] {
            assert_eq!(domain(name), is, "{name}");
        }
    }

    /// Starts look-ups that end when their sender is dropped, and stops waiting for them immediately.
    async fn hang(lookups: &DnsLookups, names: impl Iterator<Item = String>) -> Vec<Sender<()>> {
        let mut open = Vec::new();
        for name in names {
            let (sender, silent): (Sender<()>, Receiver<()>) = channel();
            let lookup = move || {
                let _ended = silent.recv();
                Ok(())
            };
            let asked = timeout(Duration::from_millis(1), lookups.run(&name, lookup));
            assert!(asked.await.is_err());
            open.push(sender);
        }
        open
    }

    async fn answers(lookups: &DnsLookups, name: &str) -> bool {
        let asked = timeout(Duration::from_millis(200), lookups.run(name, || Ok(())));
        asked.await.is_ok()
    }

    /// S121. Few threads wait for silent name servers, even after all callers gave up, and those of one domain leave
    /// room for others.
    #[tokio::test]
    async fn silent_name_servers_hold_up_few_threads() {
        let lookups = DnsLookups::default();
        let evil = (0..OF_DOMAIN).map(|n| format!("n{n}.evil.example"));
        let mut open = hang(&lookups, evil).await;
        assert!(
            !answers(&lookups, "x.Evil.example").await,
            "its domain waits"
        );
        assert!(
            answers(&lookups, "hooks.example.org").await,
            "others do not"
        );
        let many = (OF_DOMAIN..AT_ONCE).map(|n| format!("evil{n}.example"));
        open.extend(hang(&lookups, many).await);
        assert_eq!(lookups.all.available_permits(), 0);
        assert!(!answers(&lookups, "hooks.example.org").await);
        let other = tokio::task::spawn_blocking(|| 7);
        assert_eq!(other.await.ok(), Some(7), "other work has threads");
        drop(open);
        // Every thread has released its permits.
        drop(
            lookups
                .all
                .acquire_many(u32::try_from(AT_ONCE).unwrap())
                .await,
        );
        assert!(answers(&lookups, "hooks.example.org").await);
        assert!(answers(&lookups, "n1.evil.example").await);
        assert_eq!(lookups.domains.lock().len(), 1, "none is kept for long");
    }
}
