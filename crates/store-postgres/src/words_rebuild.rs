//! Words of nodes that an older version wrote, rebuilt in the background while the store serves.
//!
//! The digest of its words in an index entry shows whether a node has the words of this version. Server nodes of the
//! previous version may still write the old words, so everything is checked once more after they have ended. Several nodes
//! may do this at once: each checks again under the lock of the store's state before it writes.
use crate::columns::{gid, maybe_gid, number};
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::params::borrowed;
use crate::statement_list::StatementList;
use std::time::Duration;
use tokio_postgres::Row;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;
use workgraph_core::search::{IndexEntry, NodeWords, is_searchable};

/// Version of the tables whose nodes write words as this program does.
const VERSION: i32 = 8;
/// Number of nodes that are checked together, and number of nodes that are written together.
const CHUNK: i64 = 500;
const WRITTEN: usize = 50;
/// Time between two checks for older server nodes, and before a retry after a failure.
const INTERVAL: Duration = Duration::from_secs(10);

const PENDING: &str = "SELECT words_pending FROM schema_version WHERE version = 1";
const OLDER_NODES: &str =
    "SELECT EXISTS (SELECT 1 FROM member WHERE until >= clock_timestamp() AND schema_max < $1)";
const SETTLE: &str = "UPDATE schema_version SET words_pending = false WHERE version = 1 \
    AND NOT EXISTS (SELECT 1 FROM member WHERE until >= clock_timestamp() AND schema_max < $1)";
const LOCK: &str = "SELECT 1 FROM store_state FOR UPDATE";
macro_rules! nodes {
    ($condition:literal) => {
        concat!(
            "SELECT n.gid, n.kind, n.home, n.version, n.head, n.body, c.sum FROM node n \
             JOIN card c ON c.home = coalesce(n.home, 0) AND c.kind = n.kind AND c.gid = n.gid \
             WHERE n.gone IS NULL AND ",
            $condition
        )
    };
}
const NEXT: &str = nodes!("n.gid > $1 ORDER BY n.gid LIMIT $2");
const AGAIN: &str = nodes!("n.gid = ANY($1) ORDER BY n.gid");
const SUM: &str = "UPDATE card SET sum = $4 WHERE home = $1 AND kind = $2 AND gid = $3";

/// Returns true if older nodes have written words, or may have.
pub(crate) async fn is_pending(database: Database) -> Result<bool, DatabaseError> {
    let connection = database.connection().await?;
    Ok(connection.query_one(PENDING, &[]).await?.try_get(0)?)
}

/// Rebuilds the words until all are those of this version and no older node serves.
pub(crate) async fn run(database: Database) {
    let mut ticks = tokio::time::interval(INTERVAL);
    let mut is_second_look = false;
    loop {
        ticks.tick().await;
        match attempt(&database, is_second_look).await {
            Ok(true) => return tracing::info!("the search index has its new form"),
            Ok(false) => is_second_look = true,
            Err(error) => {
                tracing::warn!(%error, "the search index could not be brought to its new form; another attempt follows")
            }
        }
    }
}

/// Rebuilds the words; returns true if no further attempt is needed. While older server nodes run, a second look is put off.
async fn attempt(database: &Database, is_second_look: bool) -> Result<bool, DatabaseError> {
    if !is_pending(database.clone()).await? {
        return Ok(true);
    }
    let has_older = has_older_nodes(database).await?;
    if has_older && is_second_look {
        return Ok(false);
    }
    rebuild(database).await?;
    if has_older {
        return Ok(false);
    }
    let connection = database.connection().await?;
    Ok(connection.execute(SETTLE, &[&VERSION]).await? > 0)
}

async fn has_older_nodes(database: &Database) -> Result<bool, DatabaseError> {
    let connection = database.connection().await?;
    let row = connection.query_one(OLDER_NODES, &[&VERSION]).await?;
    Ok(row.try_get(0)?)
}

/// Checks every node, and rewrites outdated words.
async fn rebuild(database: &Database) -> Result<(), DatabaseError> {
    let mut after = 0i64;
    loop {
        let connection = database.connection().await?;
        let rows = connection.query(NEXT, &[&after, &CHUNK]).await?;
        drop(connection);
        let Some(last) = rows.last() else {
            return Ok(());
        };
        after = last.try_get(0)?;
        let mut stale = Vec::new();
        for row in &rows {
            if let Some((entry, _)) = stale_words(row)? {
                stale.push(entry.gid.as_i64());
            }
        }
        for some in stale.chunks(WRITTEN) {
            write(database, some).await?;
        }
    }
}

/// Writes the words of some nodes in their current state.
async fn write(database: &Database, gids: &[i64]) -> Result<(), DatabaseError> {
    let mut connection = database.write_connection().await?;
    // The transaction has no effect unless it is committed.
    let transaction = connection.transaction().await?;
    transaction.query(LOCK, &[]).await?;
    for row in transaction.query(AGAIN, &[&gids]).await? {
        let Some((entry, text)) = stale_words(&row)? else {
            continue;
        };
        let mut statements = StatementList::default();
        statements.put_words(&entry, &text);
        for (sql, params) in statements {
            transaction.execute(sql, &borrowed(&params)).await?;
        }
        let (home, kind): (i64, i16) = (
            entry.workspace.map_or(0, |workspace| workspace.as_i64()),
            row.try_get(1)?,
        );
        let sum = entry.words_hash;
        transaction
            .execute(SUM, &[&home, &kind, &entry.gid.as_i64(), &sum])
            .await?;
    }
    Ok(transaction.commit().await?)
}

/// Returns the words of a node, with its index entry, unless the stored entry already has the same words.
fn stale_words(row: &Row) -> Result<Option<(IndexEntry, NodeWords)>, DatabaseError> {
    let kind: i16 = row.try_get(1)?;
    let ty = u8::try_from(kind).ok().and_then(Type::from_code);
    let node = Node {
        gid: gid(row, 0)?,
        ty: ty.ok_or_else(|| DatabaseError::unreadable("kind"))?,
        workspace: maybe_gid(row, 2)?,
        version: number(row, 3)?,
        head: row.try_get::<_, &str>(4)?.into(),
        body: row.try_get::<_, &str>(5)?.into(),
    };
    if !is_searchable(node.ty) {
        return Ok(None);
    }
    let text = NodeWords::of(&node);
    let entry = IndexEntry::of(&node, &text);
    let stored: i64 = row.try_get(6)?;
    Ok((entry.words_hash != stored).then_some((entry, text)))
}
