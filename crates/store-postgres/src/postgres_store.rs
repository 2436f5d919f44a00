//! The store: opening it, and its ports.
use crate::database::{Database, DatabaseOptions};
use crate::database_error::DatabaseError;
use crate::graph_statements::LAST_COMMIT_TIME;
use crate::handle_actor::HandleActor;
use crate::store_stats::StoreStats;
use crate::token_lookups::TokenLookups;
use crate::words_rebuild;
use crate::writer::Writer;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::runtime::Handle;
use workgraph_core::engine::waves::FactCache;
use workgraph_core::model::time::Time;
use workgraph_core::storage::CommitClock;

const DATABASE_BYTES: &str = "SELECT pg_database_size(current_database())";

/// Graph, journal, tokens and audit log in a PostgreSQL database shared with other nodes. A clone is another handle on the same
/// store.
#[derive(Clone, Debug)]
pub struct PostgresStore {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
    pub(crate) lookups: TokenLookups,
    /// Actor of this handle, for the audit log.
    pub(crate) actor: HandleActor,
    /// Answers of earlier loads and commits, exact at one commit.
    pub(crate) cache: Arc<Mutex<FactCache>>,
}

impl PostgresStore {
    /// Opens the store, and brings its tables to the newest version. All work runs on `runtime`.
    ///
    /// # Errors
    /// Fails as [`Database::open`] does.
    pub async fn open(options: DatabaseOptions, runtime: Handle) -> Result<Self, DatabaseError> {
        let database = Database::open(options, runtime).await?;
        if database
            .run(words_rebuild::is_pending(database.clone()))
            .await?
        {
            database
                .runtime()
                .spawn(words_rebuild::run(database.clone()));
        }
        let cache = FactCache::new(database.options().cache_bytes, 0);
        let cache = Arc::new(Mutex::new(cache));
        let clock = CommitClock::after(last_commit_time(&database).await?);
        let writer = Writer::start(database.clone(), Arc::clone(&cache), clock)?;
        let lookups = TokenLookups::start(&database, Arc::clone(&cache));
        let actor = HandleActor::default();
        Ok(Self {
            database,
            writer,
            lookups,
            actor,
            cache,
        })
    }

    /// Returns the counts of reads, writes and trips since the store was opened.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        self.database.stats()
    }

    /// Returns the size of the database on the server's disk in bytes, without its log.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub async fn database_bytes(&self) -> Result<u64, DatabaseError> {
        let own = self.database.clone();
        let asked = async move {
            let connection = own.connection().await?;
            let row = connection.query_one(DATABASE_BYTES, &[]).await?;
            Ok(row.try_get::<_, i64>(0)?.cast_unsigned())
        };
        self.database.run(asked).await
    }

    /// Forgets the answers of earlier loads and commits, as if the store had just been opened: for measurements.
    pub fn clear_cache(&self) {
        let mut cache = self.cache.lock();
        let seq = cache.seq();
        cache.clear(seq);
    }

    /// Returns the database that holds the tables.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }
}

/// Returns the time of the last commit, or the epoch if there is none.
async fn last_commit_time(database: &Database) -> Result<Time, DatabaseError> {
    let own = database.clone();
    let found = async move {
        let connection = own.connection().await?;
        let row = connection.query_one(LAST_COMMIT_TIME, &[]).await?;
        Ok(Time::from_millis(row.try_get(0)?))
    };
    database.run(found).await
}
