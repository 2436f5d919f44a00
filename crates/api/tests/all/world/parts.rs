//! The clock, the random bytes and the stores that the API of a test is made of.
use super::*;
use workgraph_core::MaybeInterrupt;

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

/// A store that lets others run after it loads and before it commits, and searches in other ways, when it is told to.
pub(super) struct Hesitant {
    pub(super) store: Arc<dyn GraphStore>,
    pub(super) on: AtomicBool,
    /// How searches go about it, if not as the API says.
    pub(super) effort: Mutex<Option<Effort>>,
    /// What the last search read.
    pub(super) read: AtomicU64,
}

#[async_trait]
impl GraphStore for Hesitant {
    async fn load(&self, want: &Want) -> Result<View, StoreError> {
        let effort = *self.effort.lock().unwrap();
        let mut other = None;
        if let (Some(effort), Some(search)) = (effort, &want.search) {
            let search = Search {
                effort,
                ..search.clone()
            };
            other = Some(Want {
                search: Some(search),
                ..want.clone()
            });
        }
        let view = self.store.load(other.as_ref().unwrap_or(want)).await?;
        if want.search.is_some() {
            self.read.store(view.rows.read, Ordering::Relaxed);
        }
        if self.on.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        Ok(view)
    }
    async fn commit(&self, changes: Changes) -> Result<Committed, StoreError> {
        if self.on.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        self.store.commit(changes).await
    }
    fn version(&self) -> Option<u64> {
        self.store.version()
    }
    async fn changed(&self, since: u64) {
        self.store.changed(since).await;
    }
    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.store.events(after, limit).await
    }
    async fn feed(&self, ask: Feed, interrupt: MaybeInterrupt) -> Result<Fed, StoreError> {
        self.store.feed(ask, interrupt).await
    }
    async fn audited(&self, ask: Ask, interrupt: MaybeInterrupt) -> Result<Vec<Row>, StoreError> {
        self.store.audited(ask, interrupt).await
    }
    async fn prune(&self, before: Time, upto: Seq, limit: usize) -> Result<usize, StoreError> {
        self.store.prune(before, upto, limit).await
    }
}
