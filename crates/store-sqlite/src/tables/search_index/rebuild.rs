//! Rebuild of index entries and words, for files that have none or have them in another format, and for checks of the stored
//! rows.
use super::workspace_column;
use crate::migrations::roll_back;
use crate::open_error::failed;
use crate::statements::Sql;
use crate::transaction::{SqliteTransaction, gid, unreadable};
use rusqlite::Connection;
use workgraph_core::engine::{build_entry, update_entry};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;
use workgraph_core::search::{IndexEntry, is_searchable};
use workgraph_core::storage::GraphStoreError;

/// Checks that the index entry of a live node agrees with the node. An entry may keep the flag `is_blocking` when no other
/// task waits for the node any more.
pub(crate) fn agrees(conn: &Connection, node: &Node) -> rusqlite::Result<bool> {
    let mut tx = SqliteTransaction::new(conn);
    let unread = |_| rusqlite::Error::InvalidQuery;
    let (fresh, _) = build_entry(&mut tx, node).map_err(unread)?;
    let kept = tx
        .card_of(node.workspace, node.ty, node.gid)
        .map_err(unread)?;
    let params = (
        workspace_column(node.workspace),
        node.ty as u8,
        node.gid.as_i64(),
    );
    let shape: Option<u16> = tx.one(Sql::CardShape, params, |row| row.get(0))?;
    Ok(kept.is_some_and(|kept| {
        let blocks = kept.is_blocking || fresh.is_blocking;
        shape == Some(fresh.shape().number())
            && (kept.is_blocking || !fresh.is_blocking)
            && IndexEntry {
                is_blocking: blocks,
                ..kept
            } == IndexEntry {
                is_blocking: blocks,
                ..fresh
            }
    }))
}

/// Number of the format of index entries and words that this program writes. If a file has another number, they are rebuilt.
const FORM: i64 = 4;
/// Key in `meta` for the format in a file.
pub(super) const FORM_KEY: &str = "cards";
/// Number of nodes whose index entries are built in one transaction.
const AT_ONCE: i64 = 10_000;

/// Returns true if index entries and words have the format that this program writes.
pub(crate) fn is_current(conn: &Connection) -> rusqlite::Result<bool> {
    let form = SqliteTransaction::new(conn).one(Sql::GetMeta, [FORM_KEY], |row| row.get(0))?;
    Ok(form == Some(FORM))
}

/// Records that index entries and words have the format that this program writes.
pub(crate) fn set_current(tx: &mut SqliteTransaction<'_>) -> rusqlite::Result<()> {
    tx.run(Sql::PutMeta, (FORM_KEY, FORM)).map(drop)
}

/// Builds index entries and words of all nodes, if the file has none or has them in another format.
pub(crate) fn rebuild(conn: &Connection) -> Result<(), GraphStoreError> {
    if is_current(conn).map_err(failed)? {
        return Ok(());
    }
    let mut tx = SqliteTransaction::new(conn);
    conn.execute_batch(
        "BEGIN IMMEDIATE; DELETE FROM card; INSERT INTO words (words) VALUES ('delete-all'); COMMIT;",
    )
    .map_err(failed)?;
    let mut after = 0;
    loop {
        conn.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        let done = some(conn, &mut tx, after).and_then(|last| {
            if last.is_none() {
                set_current(&mut tx).map_err(failed)?;
            }
            tx.write_words().map_err(failed)?;
            conn.execute_batch("COMMIT").map_err(failed)?;
            Ok(last)
        });
        match done {
            Ok(Some(last)) => after = last,
            Ok(None) => return Ok(()),
            Err(error) => {
                roll_back(conn).map_err(failed)?;
                return Err(error);
            }
        }
    }
}

/// Builds the index entries of the next nodes; returns the last of them.
fn some(
    conn: &Connection,
    tx: &mut SqliteTransaction<'_>,
    after: i64,
) -> Result<Option<i64>, GraphStoreError> {
    let mut nodes = conn
        .prepare_cached(
            "SELECT gid, kind FROM node WHERE gid > ?1 AND gone IS NULL ORDER BY gid LIMIT ?2",
        )
        .map_err(failed)?;
    let rows = nodes.query_map((after, AT_ONCE), |row| {
        let kind: u8 = row.get(1)?;
        let ty = Type::from_code(kind).ok_or_else(|| unreadable(1, i64::from(kind)))?;
        Ok((gid(row, 0)?, ty))
    });
    let rows: Vec<(Gid, Type)> = rows.and_then(Iterator::collect).map_err(failed)?;
    for (gid, _) in rows.iter().filter(|(_, ty)| is_searchable(*ty)) {
        update_entry(tx, *gid)?;
    }
    Ok(rows.last().map(|(gid, _)| gid.as_i64()))
}
