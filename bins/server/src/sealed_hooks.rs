//! Webhooks as they are kept: their secrets are sealed, so that neither the database nor a backup shows them.
use crate::seams::random;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_api::Entropy;
use workgraph_webhooks::{
    Delivery, Filter, Hook, HookStore, Inserted, Limits, Page, Standing, State, StoreError,
};
use workgraph_wire::{KeyRing, secret};

/// Seals and opens the secrets of webhooks.
#[derive(Clone)]
pub(crate) struct Sealer {
    keys: KeyRing,
    entropy: Arc<dyn Entropy>,
}

/// The owner that a secret is sealed for.
fn owner(id: u64) -> String {
    format!("webhook {id}")
}

impl Sealer {
    pub(crate) fn new(keys: KeyRing, entropy: Arc<dyn Entropy>) -> Self {
        Self { keys, entropy }
    }

    fn seal(&self, id: u64, plain: &str) -> Result<String, String> {
        let nonce = random::<12>(&*self.entropy)?;
        secret::seal(&self.keys, nonce, &owner(id), plain)
            .ok_or_else(|| format!("webhook {id}: its secret can't be sealed"))
    }

    /// The form in which a secret is to be kept from now on, if that is another one: sealed, with the current key. One
    /// that can't be opened stays as it is.
    ///
    /// # Errors
    /// When there are no random bytes.
    pub(crate) fn reseal(&self, id: u64, kept: &str) -> Result<Option<String>, String> {
        if secret::is_current(&self.keys, kept) {
            return Ok(None);
        }
        match secret::open(&self.keys, &owner(id), kept) {
            Ok(plain) => self.seal(id, &plain).map(Some),
            Err(secret::SecretError::Plain) => self.seal(id, kept).map(Some),
            Err(why) => {
                tracing::error!(
                    webhook = id,
                    why = why.to_string(),
                    "its receiver will not know its signatures; put the key back into keys.json, or make the webhook anew"
                );
                Ok(None)
            }
        }
    }

    /// The webhook with its secret as it signs. If that can't be opened, what is kept signs: nobody can know it.
    fn open(&self, mut hook: Hook) -> Hook {
        if let Ok(plain) = secret::open(&self.keys, &owner(hook.id), &hook.secret) {
            hook.secret = plain;
        }
        hook
    }
}

/// A store that is given sealed secrets, and gives them opened.
pub(crate) struct SealedHooks {
    pub(crate) store: Arc<dyn HookStore>,
    pub(crate) sealer: Sealer,
}

#[async_trait]
impl HookStore for SealedHooks {
    async fn insert(&self, mut hook: Hook, limits: Limits) -> Result<Inserted, StoreError> {
        hook.secret = self
            .sealer
            .seal(hook.id, &hook.secret)
            .map_err(StoreError)?;
        Ok(match self.store.insert(hook, limits).await? {
            Inserted::Done(hook) => Inserted::Done(Box::new(self.sealer.open(*hook))),
            other => other,
        })
    }
    async fn all(&self) -> Result<Vec<Hook>, StoreError> {
        let all = self.store.all().await?.into_iter();
        Ok(all.map(|hook| self.sealer.open(hook)).collect())
    }
    async fn standing(&self, id: u64) -> Result<Standing, StoreError> {
        self.store.standing(id).await
    }
    async fn get(&self, id: u64) -> Result<Option<Hook>, StoreError> {
        let hook = self.store.get(id).await?;
        Ok(hook.map(|hook| self.sealer.open(hook)))
    }
    async fn list(&self, page: Page) -> Result<Vec<Hook>, StoreError> {
        let some = self.store.list(page).await?.into_iter();
        Ok(some.map(|hook| self.sealer.open(hook)).collect())
    }
    async fn set_filters(&self, id: u64, filters: Vec<Filter>) -> Result<bool, StoreError> {
        self.store.set_filters(id, filters).await
    }
    async fn remove(&self, id: u64) -> Result<bool, StoreError> {
        self.store.remove(id).await
    }
    async fn settle(
        &self,
        id: u64,
        state: State,
        delivery: Option<Delivery>,
    ) -> Result<bool, StoreError> {
        self.store.settle(id, state, delivery).await
    }
    async fn advance(&self, ids: Vec<u64>, seq: u64) -> Result<(), StoreError> {
        self.store.advance(ids, seq).await
    }
    async fn deliveries(&self, id: u64, limit: usize) -> Result<Vec<Delivery>, StoreError> {
        self.store.deliveries(id, limit).await
    }
    async fn sweep(&self, before: SystemTime) -> Result<u64, StoreError> {
        self.store.sweep(before).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::SystemEntropy;
    use workgraph_auth::conformance::block_on;
    use workgraph_store_sqlite::{Options, SqliteStore};

    fn sealer(key: u8) -> Sealer {
        Sealer::new(KeyRing::new(1, [key; 32]), Arc::new(SystemEntropy::new()))
    }

    fn hook() -> Hook {
        Hook {
            id: 12,
            user: 7,
            app: None,
            service: None,
            workspace: 3,
            resource: 5,
            kind: 1,
            target: "https://a.example/".to_owned(),
            secret: "0123456789abcdef0123456789abcdef".to_owned(),
            filters: Vec::new(),
            created_at: SystemTime::UNIX_EPOCH,
            state: State::default(),
        }
    }

    /// S104.
    #[test]
    fn neither_database_nor_log_nor_backup_shows_the_secret_of_a_webhook() {
        let folder =
            std::env::temp_dir().join(format!("workgraph-sealed-hooks-{}", std::process::id()));
        let made = hook();
        let shown = |path: &std::path::Path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            bytes
                .windows(made.secret.len())
                .any(|w| w == made.secret.as_bytes())
        };
        // As before there was a seal.
        let store = SqliteStore::open(&folder, Options::default()).unwrap();
        let inserted = block_on(store.insert(made.clone(), Limits::default())).unwrap();
        assert!(matches!(inserted, Inserted::Done(_)));
        drop(store);
        assert!(
            shown(&folder.join("workgraph.db")),
            "the test looks where it would stand"
        );

        let seal = sealer(7);
        let mut reseal = |id, kept: &str| seal.reseal(id, kept);
        let opened = SqliteStore::open_resealed(&folder, Options::default(), &mut reseal);
        let sqlite = Arc::new(opened.unwrap());
        let store = SealedHooks {
            store: sqlite.clone(),
            sealer: seal.clone(),
        };
        let other = Hook {
            id: 13,
            ..made.clone()
        };
        let Inserted::Done(done) = block_on(store.insert(other, Limits::default())).unwrap() else {
            panic!("there is room for it");
        };
        assert_eq!(done.secret, made.secret);
        let all = block_on(store.all()).unwrap();
        let secrets: Vec<(u64, &str)> = all.iter().map(|h| (h.id, &*h.secret)).collect();
        assert_eq!(secrets, [(12, &*made.secret), (13, &*made.secret)]);
        let kept = block_on(sqlite.get(12)).unwrap().unwrap();
        assert!(kept.secret.starts_with("sealed:1:"), "{}", kept.secret);
        let backup = folder.join("backup.db");
        SqliteStore::open_read_only(&folder)
            .unwrap()
            .backup(&backup)
            .unwrap();
        for file in ["workgraph.db", "workgraph.db-wal", "backup.db"] {
            assert!(!shown(&folder.join(file)), "{file}");
        }
        // With other keys nothing signs as before, and nothing is lost.
        let strange = SealedHooks {
            store: sqlite.clone(),
            sealer: sealer(8),
        };
        let hook = block_on(strange.get(12)).unwrap().unwrap();
        assert_eq!(hook.secret, kept.secret);
        assert_eq!(sealer(8).reseal(12, &kept.secret), Ok(None));
        drop((store, strange, sqlite));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
