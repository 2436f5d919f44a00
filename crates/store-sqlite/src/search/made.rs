//! Cards and words made anew, for files that have none or others, and to compare with what is kept.
use super::place;
use crate::error::failed;
use crate::schema::roll_back;
use crate::session::{Session, gid, unreadable};
use crate::sql::Sql;
use rusqlite::Connection;
use workgraph_core::gid::Gid;
use workgraph_core::graph::StoreError;
use workgraph_core::node::Node;
use workgraph_core::registry::Type;
use workgraph_core::search::{Card, fresh, is_found, renew};

/// Whether the card of a live node says what the node does. That another task waited for it may be
/// said longer than it is true.
pub(crate) fn agrees(conn: &Connection, node: &Node) -> rusqlite::Result<bool> {
    let mut session = Session::new(conn);
    let unread = |_| rusqlite::Error::InvalidQuery;
    let (fresh, _) = fresh(&mut session, node).map_err(unread)?;
    let kept = session
        .card_of(node.home, node.ty, node.gid)
        .map_err(unread)?;
    let params = (place(node.home), node.ty as u8, node.gid.as_i64());
    let shape: Option<u16> = session.one(Sql::CardShape, params, |row| row.get(0))?;
    Ok(kept.is_some_and(|kept| {
        let blocks = kept.blocks || fresh.blocks;
        shape == Some(fresh.shape().number())
            && (kept.blocks || !fresh.blocks)
            && Card { blocks, ..kept } == Card { blocks, ..fresh }
    }))
}

/// Which form of cards and words this program writes. Another number in a file has them made anew.
const FORM: i64 = 3;
/// Where a file says which form it has.
pub(super) const FORM_KEY: &str = "cards";
/// Nodes whose cards are made in one transaction.
const AT_ONCE: i64 = 10_000;

/// Whether cards and words have the form that this program writes.
pub(crate) fn is_made(conn: &Connection) -> rusqlite::Result<bool> {
    let form = Session::new(conn).one(Sql::GetMeta, [FORM_KEY], |row| row.get(0))?;
    Ok(form == Some(FORM))
}

/// Makes cards and words of everything, if the file has none or has them in another form.
pub(crate) fn make(conn: &Connection) -> Result<(), StoreError> {
    if is_made(conn).map_err(failed)? {
        return Ok(());
    }
    let mut session = Session::new(conn);
    conn.execute_batch(
        "BEGIN IMMEDIATE; DELETE FROM card; INSERT INTO words (words) VALUES ('delete-all'); COMMIT;",
    )
    .map_err(failed)?;
    let mut after = 0;
    loop {
        conn.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        let done = some(conn, &mut session, after).and_then(|last| {
            if last.is_none() {
                session
                    .run(Sql::PutMeta, (FORM_KEY, FORM))
                    .map_err(failed)?;
            }
            session.write_words().map_err(failed)?;
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

/// Makes the cards of the next nodes; gives the last of them.
fn some(
    conn: &Connection,
    session: &mut Session<'_>,
    after: i64,
) -> Result<Option<i64>, StoreError> {
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
    for (gid, _) in rows.iter().filter(|(_, ty)| is_found(*ty)) {
        renew(session, *gid)?;
    }
    Ok(rows.last().map(|(gid, _)| gid.as_i64()))
}
