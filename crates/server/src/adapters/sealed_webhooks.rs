//! Webhooks in the store, with sealed secrets, so that neither the database nor a backup reveals them.
use crate::adapters::system_clock::random;
use anyhow::{Context, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_api::Entropy;
use workgraph_webhooks::{
    AttemptRecord, DeliveryLogEntry, DeliveryPermission, DeliveryStateChange, EventFilter,
    InsertOutcome, Webhook, WebhookLimits, WebhookListQuery, WebhookStore, WebhookStoreError,
};
use workgraph_wire::{KeyRing, sealed_secret};

/// Seals and opens the secrets of webhooks.
#[derive(Clone)]
pub(crate) struct WebhookSecretSealer {
    keys: KeyRing,
    entropy: Arc<dyn Entropy>,
}

/// Returns the owner that a secret is sealed for.
fn owner(id: u64) -> String {
    format!("webhook {id}")
}

impl WebhookSecretSealer {
    pub(crate) fn new(keys: KeyRing, entropy: Arc<dyn Entropy>) -> Self {
        Self { keys, entropy }
    }

    fn seal(&self, id: u64, plain: &str) -> Result<String> {
        let nonce = random::<12>(&*self.entropy)?;
        sealed_secret::seal(&self.keys, nonce, &owner(id), plain)
            .with_context(|| format!("webhook {id}: its secret can't be sealed"))
    }

    /// Returns the form in which a secret should be stored from now on, if it differs: sealed with the current key. A
    /// secret that can't be opened stays as it is.
    ///
    /// # Errors
    /// Fails if there are no random bytes.
    pub(crate) fn reseal(&self, id: u64, kept: &str) -> Result<Option<String>> {
        if sealed_secret::is_current(&self.keys, &owner(id), kept) {
            return Ok(None);
        }
        match sealed_secret::open(&self.keys, &owner(id), kept) {
            Ok(plain) => self.seal(id, &plain).map(Some),
            Err(sealed_secret::SecretError::NotSealed) => self.seal(id, kept).map(Some),
            Err(reason) => {
                tracing::error!(
                    webhook = id,
                    reason = reason.to_string(),
                    "the secret of this webhook can't be opened, so its deliveries fail; put the key back into keys.json, or make the webhook again"
                );
                Ok(None)
            }
        }
    }

    /// Returns the webhook with its secret in clear text, for signing. If the secret can't be opened it is empty, and
    /// nothing is sent.
    fn open(&self, mut hook: Webhook) -> Webhook {
        let opened = sealed_secret::open(&self.keys, &owner(hook.id), &hook.secret);
        hook.secret = opened.unwrap_or_default();
        hook
    }

    /// Returns true if a secret is sealed but can't be opened.
    pub(crate) fn is_lost(&self, id: u64, kept: &str) -> bool {
        let opened = sealed_secret::open(&self.keys, &owner(id), kept);
        opened.is_err_and(|reason| reason != sealed_secret::SecretError::NotSealed)
    }

    /// Returns the digest of the sealing key.
    pub(crate) fn digest(&self) -> u64 {
        self.keys.digest()
    }

    /// Returns true if the key with this digest exists.
    pub(crate) fn has_digest(&self, known: u64) -> bool {
        self.keys.has_digest(known)
    }
}

/// Store that seals the secrets it receives, and opens those it returns.
pub(crate) struct SealedWebhookStore {
    pub(crate) store: Arc<dyn WebhookStore>,
    pub(crate) sealer: WebhookSecretSealer,
}

#[async_trait]
impl WebhookStore for SealedWebhookStore {
    async fn insert(
        &self,
        mut hook: Webhook,
        limits: WebhookLimits,
    ) -> Result<InsertOutcome, WebhookStoreError> {
        hook.secret = self
            .sealer
            .seal(hook.id, &hook.secret)
            .map_err(|error| WebhookStoreError(format!("{error:#}")))?;
        Ok(match self.store.insert(hook, limits).await? {
            InsertOutcome::Done(hook) => InsertOutcome::Done(Box::new(self.sealer.open(*hook))),
            other => other,
        })
    }
    async fn all(&self) -> Result<Vec<Webhook>, WebhookStoreError> {
        let all = self.store.all().await?.into_iter();
        Ok(all.map(|hook| self.sealer.open(hook)).collect())
    }
    async fn delivery_permission(
        &self,
        id: u64,
        scope: &str,
    ) -> Result<DeliveryPermission, WebhookStoreError> {
        self.store.delivery_permission(id, scope).await
    }
    async fn get(&self, id: u64) -> Result<Option<Webhook>, WebhookStoreError> {
        let hook = self.store.get(id).await?;
        Ok(hook.map(|hook| self.sealer.open(hook)))
    }
    async fn list(&self, page: WebhookListQuery) -> Result<Vec<Webhook>, WebhookStoreError> {
        let some = self.store.list(page).await?.into_iter();
        Ok(some.map(|hook| self.sealer.open(hook)).collect())
    }
    async fn set_filters(
        &self,
        id: u64,
        filters: Vec<EventFilter>,
    ) -> Result<bool, WebhookStoreError> {
        self.store.set_filters(id, filters).await
    }
    async fn remove(&self, id: u64) -> Result<bool, WebhookStoreError> {
        self.store.remove(id).await
    }
    async fn record_attempt(
        &self,
        id: u64,
        change: Option<DeliveryStateChange>,
        delivery: Option<DeliveryLogEntry>,
    ) -> Result<AttemptRecord, WebhookStoreError> {
        self.store.record_attempt(id, change, delivery).await
    }
    async fn advance_positions(&self, ids: Vec<u64>, seq: u64) -> Result<(), WebhookStoreError> {
        self.store.advance_positions(ids, seq).await
    }
    async fn deliveries(
        &self,
        id: u64,
        limit: usize,
    ) -> Result<Vec<DeliveryLogEntry>, WebhookStoreError> {
        self.store.deliveries(id, limit).await
    }
    async fn prune_delivery_log(&self, before: SystemTime) -> Result<u64, WebhookStoreError> {
        self.store.prune_delivery_log(before).await
    }
    async fn revision(&self) -> Result<Option<u64>, WebhookStoreError> {
        self.store.revision().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::system_clock::SystemEntropy;
    use workgraph_auth::conformance::block_on;
    use workgraph_store_sqlite::{SqliteStore, StoreOptions};
    use workgraph_webhooks::DeliveryState;

    fn sealer(key: u8) -> WebhookSecretSealer {
        WebhookSecretSealer::new(KeyRing::new(1, [key; 32]), Arc::new(SystemEntropy::new()))
    }

    fn hook() -> Webhook {
        Webhook {
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
            state: DeliveryState::default(),
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
        // As it was before secrets were sealed.
        let store = SqliteStore::open(&folder, StoreOptions::default()).unwrap();
        let inserted = block_on(store.insert(made.clone(), WebhookLimits::default())).unwrap();
        assert!(matches!(inserted, InsertOutcome::Done(_)));
        drop(store);
        assert!(
            shown(&folder.join("workgraph.db")),
            "the test looks where it would stand"
        );

        let seal = sealer(7);
        let mut reseal = |id, kept: &str| seal.reseal(id, kept).map_err(Into::into);
        let opened = SqliteStore::open_resealed(&folder, StoreOptions::default(), &mut reseal);
        let sqlite = Arc::new(opened.unwrap());
        let store = SealedWebhookStore {
            store: sqlite.clone(),
            sealer: seal.clone(),
        };
        let other = Webhook {
            id: 13,
            ..made.clone()
        };
        let InsertOutcome::Done(done) =
            block_on(store.insert(other, WebhookLimits::default())).unwrap()
        else {
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
        let strange = SealedWebhookStore {
            store: sqlite.clone(),
            sealer: sealer(8),
        };
        let hook = block_on(strange.get(12)).unwrap().unwrap();
        assert_eq!(hook.secret, "", "what can't be opened signs nothing");
        assert_eq!(sealer(8).reseal(12, &kept.secret).unwrap(), None);
        drop((store, strange, sqlite));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
