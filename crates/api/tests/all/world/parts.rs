//! The clock, the random bytes and the stores from which the API of a test is built.
use super::*;

/// The manual clock behind the clock port of the API.
pub(crate) struct Hand(pub(crate) ManualClock);

impl Clock for Hand {
    fn now(&self) -> SystemTime {
        self.0.now()
    }
}

pub(super) struct Seeded(pub(super) SeededBytes);

impl Entropy for Seeded {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyUnavailable> {
        self.0.fill(buffer);
        Ok(())
    }
}

/// Reads of decisions that a broken twin of the store does not validate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum IgnoredReads {
    #[default]
    None,
    All,
    /// Reads of nodes and their outgoing edges.
    Nodes,
    /// Reads of lists, names and viewers.
    Lists,
}

/// A store that, if it is switched on, lets other requests run after it loads and before it commits, and searches with
/// another effort.
pub(super) struct Hesitant {
    pub(super) store: Arc<dyn GraphStore>,
    pub(super) on: AtomicBool,
    /// The effort of searches, if not the one that the API chooses.
    pub(super) effort: Mutex<Option<SearchEffort>>,
    /// True if reads fail, as if the database were away, once something was committed.
    pub(super) is_lost_after_commit: AtomicBool,
    /// Reads that a broken twin of the store does not validate.
    pub(super) ignores: Mutex<IgnoredReads>,
    /// True while reads fail.
    pub(super) is_lost: AtomicBool,
    /// Number of commits that were a conflict.
    pub(super) conflicts: AtomicU64,
    /// Number of entries that the last search read.
    pub(super) read: AtomicU64,
}

#[async_trait]
impl GraphStoreWrapper for Hesitant {
    fn inner(&self) -> &dyn GraphStore {
        &*self.store
    }
    async fn wrapped_load(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        if self.is_lost.load(Ordering::Relaxed) {
            return Err(GraphStoreError::Unavailable("it is away".to_owned()));
        }
        let effort = *self.effort.lock().unwrap();
        let mut other = None;
        if let (Some(effort), Some(search)) = (effort, &want.search) {
            let search = Search {
                effort,
                ..search.clone()
            };
            other = Some(ReadQuery {
                search: Some(search),
                ..want.clone()
            });
        }
        let view = self.store.load(other.as_ref().unwrap_or(want)).await?;
        if want.search.is_some() {
            self.read.store(view.rows.entries_read, Ordering::Relaxed);
        }
        if self.on.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        Ok(view)
    }
    async fn wrapped_commit(&self, mut changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        let ignores = *self.ignores.lock().unwrap();
        let is_validated = |key: &FactKey| match ignores {
            IgnoredReads::None => true,
            IgnoredReads::All => false,
            IgnoredReads::Nodes => key.number() < 0,
            IgnoredReads::Lists => key.number() > 0,
        };
        if let Some(reads) = &mut changes.reads {
            reads.keys.retain(is_validated);
        }
        if self.on.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        let committed = self.store.commit(changes).await;
        if committed == Err(GraphStoreError::Conflict) {
            self.conflicts.fetch_add(1, Ordering::Relaxed);
        }
        if committed.is_ok() && self.is_lost_after_commit.load(Ordering::Relaxed) {
            self.is_lost.store(true, Ordering::Relaxed);
        }
        committed
    }
}
