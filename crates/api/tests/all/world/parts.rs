//! The clock, the random bytes and the stores that the API of a test is made of.
use super::*;

/// The manual clock at the API's seam.
pub(crate) struct Hand(pub(crate) ManualClock);

impl Clock for Hand {
    fn now(&self) -> SystemTime {
        self.0.now()
    }
}

pub(super) struct Seeded(pub(super) SeededBytes);

impl Entropy for Seeded {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), NoEntropy> {
        self.0.fill(buffer);
        Ok(())
    }
}

/// A store that lets others run before it commits, when it is told to.
pub(super) struct Hesitant {
    pub(super) store: Arc<dyn GraphStore>,
    pub(super) on: AtomicBool,
}

#[async_trait]
impl GraphStore for Hesitant {
    async fn load(&self, want: &Want) -> Result<View, StoreError> {
        self.store.load(want).await
    }
    async fn commit(&self, changes: Changes) -> Result<Committed, StoreError> {
        if self.on.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        self.store.commit(changes).await
    }
    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.store.events(after, limit).await
    }
    async fn feed(&self, ask: Feed) -> Result<Fed, StoreError> {
        self.store.feed(ask).await
    }
    async fn audited(&self, ask: Ask) -> Result<Vec<Row>, StoreError> {
        self.store.audited(ask).await
    }
    async fn prune(&self, before: Time, upto: Seq, limit: usize) -> Result<usize, StoreError> {
        self.store.prune(before, upto, limit).await
    }
}

/// The token store, with tokens of apps beside it: how an app gets one is not the API's concern.
pub(super) struct Tokens {
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) apps: Mutex<BTreeMap<Digest, TokenRecord>>,
}

type Kept<T> = Result<T, workgraph_auth::StoreError>;

#[async_trait]
impl TokenStore for Tokens {
    async fn find(&self, digest: &Digest) -> Kept<Option<(TokenRecord, Account)>> {
        let held = self.apps.lock().unwrap().get(digest).cloned();
        let Some(record) = held else {
            return self.store.find(digest).await;
        };
        let account = self.store.account(record.user).await?;
        Ok(account.map(|account| (record, account)))
    }
    async fn insert(&self, record: TokenRecord) -> Kept<()> {
        if record.app.is_none() {
            return self.store.insert(record).await;
        }
        self.apps.lock().unwrap().insert(record.digest, record);
        Ok(())
    }
    async fn revoke(&self, id: u64, now: SystemTime) -> Kept<bool> {
        self.store.revoke(id, now).await
    }
    async fn list(&self, user: u64) -> Kept<Vec<TokenRecord>> {
        self.store.list(user).await
    }
    async fn touch(&self, used: &[(u64, SystemTime)]) -> Kept<()> {
        self.store.touch(used).await
    }
    async fn put_account(&self, account: Account, login: Option<Login>) -> Kept<()> {
        self.store.put_account(account, login).await
    }
    async fn account(&self, user: u64) -> Kept<Option<Account>> {
        self.store.account(user).await
    }
    async fn login(&self, email: &str) -> Kept<Option<(Account, Secret)>> {
        self.store.login(email).await
    }
}
