//! Look-ups of tokens, sent together, along with a read of the commits since the cache was brought up to date.
//!
//! Nearly every request begins with a look-up. Look-ups that arrive while others are under way are collected for one trip, so
//! that the more requests there are, the less work each one causes.
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::reader::OpenConnection;
use crate::statement_pipeline::{Statement, pipeline_all};
use crate::waves::{Stamp, TOUCHED_SINCE, touched_since_params};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use workgraph_core::engine::waves::FactCache;
use workgraph_core::storage::Seq;

/// Maximum number of look-ups of one trip.
const BATCH: usize = 256;
/// Maximum number of look-ups in the queue; if it is full, callers wait for room.
const QUEUE: usize = 1024;
/// Maximum number of trips under way. With two of them, one is answered while the next is collected.
const TRIPS: usize = 2;

/// Result of looking up a token.
pub(crate) struct FoundToken {
    /// Row of the token, if there is one.
    pub(crate) row: Option<Arc<Row>>,
    /// Last commit at a time after the look-up began, if requested.
    pub(crate) last_commit: Option<Seq>,
}

type Found = Result<FoundToken, DatabaseError>;

/// Look-up that waits for its trip.
struct PendingLookup {
    /// Statement, the same for all look-ups, with an array of digests as its parameter; its second column is the digest.
    sql: &'static str,
    digest: [u8; 32],
    answer: oneshot::Sender<Found>,
}

/// Handle of the task that makes look-ups, which ends once this is dropped.
#[derive(Clone, Debug)]
pub(crate) struct TokenLookups {
    queue: mpsc::Sender<PendingLookup>,
}

impl TokenLookups {
    /// Starts the task on the runtime of the database.
    pub(crate) fn start(database: &Database, cache: Arc<Mutex<FactCache>>) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let own = database.clone();
        database.runtime().spawn(run(own, cache, waiting));
        Self { queue }
    }

    /// Finds the row of the token with a digest. The statement takes an array of digests, and returns the digest in its second
    /// column.
    pub(crate) async fn find(&self, sql: &'static str, digest: [u8; 32]) -> Found {
        let (answer, found) = oneshot::channel();
        let closed = || DatabaseError::Unavailable("the store is closed".into());
        let lookup = PendingLookup {
            sql,
            digest,
            answer,
        };
        self.queue.send(lookup).await.map_err(|_| closed())?;
        found.await.unwrap_or_else(|_| Err(closed()))
    }
}

/// Makes look-ups until all handles are dropped.
async fn run(
    database: Database,
    cache: Arc<Mutex<FactCache>>,
    mut queue: mpsc::Receiver<PendingLookup>,
) {
    let trips = Arc::new(Semaphore::new(TRIPS));
    let mut waiting = Vec::new();
    while queue.recv_many(&mut waiting, BATCH).await > 0 {
        let Ok(permit) = Arc::clone(&trips).acquire_owned().await else {
            return;
        };
        while waiting.len() < BATCH
            && let Ok(next) = queue.try_recv()
        {
            waiting.push(next);
        }
        let (batch, database, cache) = (
            std::mem::take(&mut waiting),
            database.clone(),
            Arc::clone(&cache),
        );
        tokio::spawn(async move {
            let found = trip(&database, &cache, &batch).await;
            drop(permit);
            answer(batch, found);
        });
    }
}

/// Sends the answer to each look-up.
fn answer(batch: Vec<PendingLookup>, found: Result<FoundTokens, DatabaseError>) {
    for lookup in batch {
        let found = match &found {
            Ok((rows, last_commit)) => Ok(FoundToken {
                row: rows.get(lookup.digest.as_slice()).cloned(),
                last_commit: *last_commit,
            }),
            Err(error) => Err(error.clone()),
        };
        // The caller may have stopped waiting.
        let _ = lookup.answer.send(found);
    }
}

/// Rows by their digests, and the last commit, if requested.
type FoundTokens = (HashMap<Vec<u8>, Arc<Row>>, Option<Seq>);

/// Finds tokens, and brings the cache up to date.
async fn trip(
    database: &Database,
    cache: &Mutex<FactCache>,
    batch: &[PendingLookup],
) -> Result<FoundTokens, DatabaseError> {
    let mut open = OpenConnection::new(database, database.connection().await?);
    database.count_statements(1);
    let digests: Vec<&[u8]> = batch
        .iter()
        .map(|lookup| lookup.digest.as_slice())
        .collect();
    let since = cache.lock().seq();
    let (from, most) = touched_since_params(since);
    let params: [&(dyn ToSql + Sync); 2] = [&from, &most];
    let wanted: [&(dyn ToSql + Sync); 1] = [&digests];
    let sql = batch.iter().map(|lookup| lookup.sql).take(1);
    let mut statements: Vec<Statement<'_>> = sql.map(|sql| (sql, wanted.as_slice())).collect();
    if database.options().waves && database.options().cache_bytes > 0 {
        statements.push((TOUCHED_SINCE, &params));
    }
    let sent = pipeline_all(open.connected()?, None, &statements, None);
    let done = Database::within(database.options().read_timeout, sent).await;
    open.give_back_after(&done);
    let mut rows = done?.into_iter();
    let mut tokens = HashMap::new();
    for row in rows.next().unwrap_or_default() {
        tokens.insert(row.try_get(1)?, Arc::new(row));
    }
    let seq = match rows.next() {
        Some(rows) => {
            let stamp = Stamp::read(&rows, since)?;
            let seq = stamp.seq();
            stamp.apply(since, &mut cache.lock());
            Some(seq)
        }
        None => None,
    };
    Ok((tokens, seq))
}
