//! The keys that sign id_tokens: created and rotated in the background, stored with the private values of the store.
use crate::adapters::private_values::PrivateValues;
use crate::adapters::published_key;
use crate::adapters::system_clock::random;
use anyhow::{Context, Result, anyhow, bail};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rsa::pkcs8::EncodePrivateKey;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::OnceCell;
use workgraph_api::{Clock, Entropy};
use workgraph_auth::{AuthStoreError, Rs256, Signer, SigningKeyRing};
use workgraph_portal::SigningKeys;

/// Size of a key in bits.
const BITS: usize = 2048;

/// Name of the private value with the keys.
const NAME: &str = "signing-keys";
/// Maximum number of attempts to write the keys if other nodes write them at the same time.
const ATTEMPTS: usize = 5;

/// Key in the format of `signing-keys.json`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSigningKey {
    /// Creation time in seconds since 1970.
    made_at: u64,
    /// Private key in PKCS#8, base64.
    pkcs8: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SigningKeyFile {
    keys: Vec<StoredSigningKey>,
}

/// State of the keys: not read yet, a ring, or the error that prevented a ring.
type SigningKeyState = Option<Result<Arc<SigningKeyRing>, Arc<anyhow::Error>>>;

/// Signing keys of this process, read from its private values and replaced when they are old.
pub(crate) struct SigningKeyStore {
    values: PrivateValues,
    lifetime: Duration,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    known: Mutex<SigningKeyState>,
    /// First renewal, which requests wait for.
    first_renewal: OnceCell<()>,
}

impl SigningKeyStore {
    /// Returns the keys among the private values of a store. They are read or created by
    /// [`refresh`](Self::refresh), or when they are first requested.
    pub(crate) fn new(
        values: PrivateValues,
        lifetime: Duration,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Arc<Self> {
        Arc::new(Self {
            values,
            lifetime,
            clock,
            entropy,
            known: Mutex::default(),
            first_renewal: OnceCell::new(),
        })
    }

    /// Reads the keys, creates one if there is none or the newest is old, and drops those that are no longer published. Takes
    /// up to a second in the background. Call it about every hour.
    pub(crate) fn refresh(self: &Arc<Self>) {
        let this = Arc::clone(self);
        tokio::spawn(async move {
            match this.first_renewal.initialized() {
                true => this.renew().await,
                false => this.renew_first().await,
            }
        });
    }

    /// Renews the keys unless that was done before. One caller does it, and the others wait.
    async fn renew_first(&self) {
        self.first_renewal.get_or_init(|| self.renew()).await;
    }

    async fn renew(&self) {
        let known = self.ring_of_today().await;
        if known.is_err() && matches!(&*self.known.lock(), Some(Ok(_))) && self.values.are_shared()
        {
            // The database does not answer now; the previous keys remain valid.
            tracing::warn!("the keys that sign id_tokens could not be read again");
            return;
        }
        if let Err(error) = &known {
            tracing::error!(
                reason = format!("{error:#}"),
                "there are no keys to sign id_tokens with"
            );
        }
        let known = known.map(Arc::new).map_err(Arc::new);
        *self.known.lock() = Some(known);
    }

    async fn ring_of_today(&self) -> Result<SigningKeyRing> {
        for _ in 0..ATTEMPTS {
            let now = self.clock.now();
            let (mut keys, version) = self.read().await?;
            let before = keys.len();
            let old = |(kept, _): &SigningKeyPair| {
                let age = now.duration_since(made_at(kept)).unwrap_or_default();
                age >= self.lifetime
            };
            if keys.last().is_none_or(old) {
                let entropy = Arc::clone(&self.entropy);
                let made = tokio::task::spawn_blocking(move || make(now, &*entropy)).await;
                keys.push(made.context("no thread can make a key")??);
            }
            let made = keys.len() > before;
            let each = |(kept, signer): &SigningKeyPair| (Arc::clone(signer), made_at(kept));
            let ring = SigningKeyRing::new(keys.iter().map(each));
            let shown: Vec<&str> = ring.published(now).map(Signer::kid).collect();
            keys.retain(|(_, signer)| shown.contains(&signer.kid()));
            if !made && keys.len() == before {
                return Ok(ring);
            }
            let keys = keys.into_iter().map(|(kept, _)| kept).collect();
            let text = serde_json::to_string_pretty(&SigningKeyFile { keys })?;
            if self.values.replace(NAME, version, &text).await? {
                return Ok(ring);
            }
            // Another node has created the key, and all nodes use it.
        }
        bail!("other nodes keep changing the keys")
    }

    /// Returns the keys, with the version of their value.
    async fn read(&self) -> Result<(Vec<SigningKeyPair>, Option<u64>)> {
        let Some(value) = self.values.read(NAME).await? else {
            return Ok((Vec::new(), None));
        };
        let named = || self.values.describe(NAME);
        let file: SigningKeyFile = serde_json::from_str(&value.text).with_context(named)?;
        let pair = |kept: StoredSigningKey| {
            if kept.pkcs8 == published_key::PKCS8 {
                return Ok((kept, published_key::signer()?));
            }
            let der = STANDARD.decode(&kept.pkcs8).with_context(named)?;
            let signer = Rs256::from_pkcs8(&der).with_context(named)?;
            Ok((kept, Arc::new(signer) as Arc<dyn Signer>))
        };
        let keys: Result<Vec<_>> = file.keys.into_iter().map(pair).collect();
        Ok((keys?, value.version))
    }
}

/// Stores the published key as the only key, with the given creation time, unless it is already stored.
///
/// # Errors
/// Fails if the values can't be written.
pub(crate) async fn store_published_key(
    values: &PrivateValues,
    created_at: SystemTime,
) -> Result<()> {
    let stored = values.read(NAME).await?;
    if let Some(stored) = &stored {
        let named = || values.describe(NAME);
        let file: SigningKeyFile = serde_json::from_str(&stored.text).with_context(named)?;
        if file
            .keys
            .iter()
            .any(|key| key.pkcs8 == published_key::PKCS8)
        {
            return Ok(());
        }
    }
    let since = created_at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let key = StoredSigningKey {
        made_at: since.as_secs(),
        pkcs8: published_key::PKCS8.to_owned(),
    };
    let file = SigningKeyFile { keys: vec![key] };
    let version = stored.and_then(|value| value.version);
    values
        .replace(NAME, version, &serde_json::to_string_pretty(&file)?)
        .await?;
    Ok(())
}

type SigningKeyPair = (StoredSigningKey, Arc<dyn Signer>);

fn made_at(kept: &StoredSigningKey) -> SystemTime {
    UNIX_EPOCH
        .checked_add(Duration::from_secs(kept.made_at))
        .unwrap_or(UNIX_EPOCH)
}

/// Returns a new private key in PKCS#8.
fn new_key(entropy: &dyn Entropy) -> Result<Vec<u8>> {
    #[cfg(debug_assertions)]
    if crate::adapters::fault_injection::has_quick_secrets() {
        let known = STANDARD.decode(published_key::PKCS8);
        return known.context("the published key is not base64");
    }
    // All random bytes are drawn beforehand, so that a lack of them is an error, and never half a key.
    let mut stream = ChaCha20Rng::from_seed(random(entropy)?);
    let key = rsa::RsaPrivateKey::new(&mut stream, BITS).context("no RSA key can be made")?;
    let der = key.to_pkcs8_der().context("a new key has no PKCS#8 form")?;
    Ok(der.as_bytes().to_vec())
}

/// Creates a key. `ring` signs with it but cannot create one.
fn make(now: SystemTime, entropy: &dyn Entropy) -> Result<SigningKeyPair> {
    let der = new_key(entropy)?;
    let signer = Rs256::from_pkcs8(&der).context("a new key can't sign")?;
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let kept = StoredSigningKey {
        made_at: since.as_secs(),
        pkcs8: STANDARD.encode(&der),
    };
    Ok((kept, Arc::new(signer)))
}

#[async_trait]
impl SigningKeys for SigningKeyStore {
    async fn ring(&self) -> Result<Arc<SigningKeyRing>, AuthStoreError> {
        self.renew_first().await;
        let found = self.known.lock().clone();
        let found = found.unwrap_or_else(|| Err(Arc::new(anyhow!("no keys"))));
        found.map_err(|error| AuthStoreError::Unavailable(format!("{error:#}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::system_clock::SystemEntropy;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Mutex;
    use workgraph_auth::oidc::signing_keys::{KEY_RETENTION, KEY_SET_LIFETIME};

    struct SettableClock(Mutex<SystemTime>);

    impl Clock for SettableClock {
        fn now(&self) -> SystemTime {
            *self.0.lock().unwrap()
        }
    }

    /// B56.
    #[tokio::test]
    async fn keys_are_made_once_rotated_by_age_and_forgotten_when_nobody_needs_them() {
        const DAY: Duration = Duration::from_secs(86_400);
        let folder = std::env::temp_dir().join(format!("workgraph-signing-{}", std::process::id()));
        crate::adapters::data_dir::create_data_dir(&folder).unwrap();
        let start = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let clock = Arc::new(SettableClock(Mutex::new(start)));
        let values = PrivateValues::Folder(folder.clone());
        let path = folder.join("signing-keys.json");
        let entropy = Arc::new(SystemEntropy::new());
        let keys = SigningKeyStore::new(values, 90 * DAY, clock.clone(), entropy);
        let at = |after: Duration| *clock.0.lock().unwrap() = start + after;
        let kids = |ring: &SigningKeyRing| {
            let shown = ring.published(clock.now());
            shown.map(|key| key.kid().to_owned()).collect::<Vec<_>>()
        };
        let first = kids(&keys.ring_of_today().await.unwrap());
        assert_eq!(first.len(), 1);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        at(90 * DAY - Duration::from_secs(1));
        assert_eq!(
            kids(&keys.ring_of_today().await.unwrap()),
            first,
            "read again"
        );
        at(90 * DAY);
        let ring = keys.ring_of_today().await.unwrap();
        let both = kids(&ring);
        assert_eq!(both.len(), 2);
        assert_eq!(
            ring.signer(clock.now()).unwrap().kid(),
            both[0],
            "the old one signs"
        );
        at(90 * DAY + KEY_SET_LIFETIME);
        assert_eq!(ring.signer(clock.now()).unwrap().kid(), both[1]);
        at(90 * DAY + KEY_SET_LIFETIME + KEY_RETENTION);
        assert_eq!(kids(&keys.ring_of_today().await.unwrap()), both[1..]);
        assert_eq!(
            keys.read().await.unwrap().0.len(),
            1,
            "and is gone from the file"
        );
        std::fs::write(&path, "{\"keys\":[{\"made_at\":1,\"pkcs8\":\"AAAA\"}]}").unwrap();
        assert!(
            keys.ring_of_today().await.is_err(),
            "a garbled file is not replaced"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
