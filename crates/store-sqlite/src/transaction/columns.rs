//! Conversion of columns to values, and of values to parameters.
use crate::edge_list::EdgeList;
use rusqlite::Row;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::Depth;
use workgraph_core::storage::{Edge, GraphStoreError, Seq};

pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) fn unreadable(at: usize, value: i64) -> rusqlite::Error {
    rusqlite::Error::IntegralValueOutOfRange(at, value)
}

/// Returns a number as SQLite stores it.
pub(super) fn whole(number: u64) -> Result<i64, GraphStoreError> {
    i64::try_from(number)
        .map_err(|_| GraphStoreError::Failed(format!("{number} is too large to be kept")))
}

/// Returns the gid in a column.
pub(crate) fn gid(row: &Row<'_>, at: usize) -> rusqlite::Result<Gid> {
    let number = row.get(at)?;
    Gid::from_i64(number).ok_or_else(|| unreadable(at, number))
}

/// Returns the gid in a column that may be null.
pub(crate) fn maybe_gid(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Gid>> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => match Gid::from_i64(number) {
            Some(gid) => Ok(Some(gid)),
            None => Err(unreadable(at, number)),
        },
        _ => gid(row, at).map(Some),
    }
}

/// Returns the sequence number in a column.
pub(crate) fn seq(row: &Row<'_>, at: usize) -> rusqlite::Result<Seq> {
    let number: i64 = row.get(at)?;
    Seq::try_from(number).map_err(|_| unreadable(at, number))
}

/// Returns the sequence number in a column that may be null.
pub(crate) fn maybe_seq(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Seq>> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        _ => seq(row, at).map(Some),
    }
}

/// Returns a key of the value index as a parameter.
pub(crate) fn column(key: &IndexKey) -> ToSqlOutput<'_> {
    match key {
        IndexKey::Number(number) => ToSqlOutput::from(*number),
        IndexKey::Text(text) => ToSqlOutput::from(text.as_str()),
    }
}

/// Returns the key in a column.
pub(crate) fn key(row: &Row<'_>, at: usize) -> rusqlite::Result<IndexKey> {
    Ok(match row.get_ref(at)? {
        ValueRef::Text(_) => IndexKey::Text(row.get(at)?),
        _ => IndexKey::Number(row.get(at)?),
    })
}

/// Returns the edge in the first six columns.
pub(crate) fn edge(row: &Row<'_>) -> rusqlite::Result<Edge> {
    Ok(Edge {
        src: gid(row, 0)?,
        rel: Relation(row.get(1)?),
        dst: gid(row, 2)?,
        rank: row.get(3)?,
        seq: seq(row, 4)?,
        aux: maybe_gid(row, 5)?,
    })
}

/// Returns the edge of a list in the first four columns: far end, rank, seq, aux. `ends` returns source, relation and target.
pub(super) fn listed_edge(
    row: &Row<'_>,
    ends: impl Fn(Gid) -> (Gid, Relation, Gid),
) -> rusqlite::Result<Edge> {
    let (src, rel, dst) = ends(gid(row, 0)?);
    Ok(Edge {
        src,
        rel,
        dst,
        rank: row.get(1)?,
        seq: seq(row, 2)?,
        aux: maybe_gid(row, 3)?,
    })
}

/// Returns the edge list in a column that is null for a node that never had an edge.
pub(crate) fn column_list(row: &Row<'_>, at: usize, src: Gid) -> rusqlite::Result<EdgeList> {
    let list = match row.get_ref(at)? {
        ValueRef::Null => return Ok(EdgeList::Row(Vec::new())),
        ValueRef::Blob(bytes) => EdgeList::from_bytes(src, bytes),
        _ => None,
    };
    list.ok_or_else(|| {
        let name = format!("the edge list of node {src}");
        rusqlite::Error::InvalidColumnType(at, name, rusqlite::types::Type::Blob)
    })
}

/// Returns the node whose columns start at `at`.
pub(super) fn node(
    row: &Row<'_>,
    at: usize,
    gid: Gid,
    depth: Depth,
) -> rusqlite::Result<Option<Arc<Node>>> {
    if depth == Depth::Edge {
        return Ok(None);
    }
    let kind: u8 = row.get(at)?;
    let ty = Type::from_code(kind).ok_or_else(|| unreadable(at, i64::from(kind)))?;
    let workspace = maybe_gid(row, at + 1)?;
    let head = text(row, at + 2)?;
    let (version, body) = match depth {
        Depth::Full => (seq(row, at + 3)?, text(row, at + 4)?),
        _ => (0, Box::default()),
    };
    Ok(Some(Arc::new(Node {
        gid,
        ty,
        workspace,
        version,
        head,
        body: body.into(),
    })))
}

fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<Box<str>> {
    let value = row.get_ref(at)?;
    value
        .as_str()
        .map(Into::into)
        .map_err(|e| rusqlite::Error::FromSqlConversionFailure(at, value.data_type(), Box::new(e)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::auth_rows::{maybe_number, whole};

    #[test]
    fn a_number_below_zero_is_an_error_and_null_is_none() {
        let conn = rusqlite::Connection::open_in_memory().unwrap();
        let sql = "SELECT -1, NULL, 7";
        let read = |row: &Row<'_>| {
            assert!(seq(row, 0).is_err() && maybe_seq(row, 0).is_err());
            assert!(whole(row, 0).is_err() && maybe_number(row, 0).is_err());
            assert_eq!((maybe_seq(row, 1)?, maybe_number(row, 1)?), (None, None));
            assert_eq!(
                (maybe_seq(row, 2)?, maybe_number(row, 2)?),
                (Some(7), Some(7))
            );
            Ok(())
        };
        conn.query_row(sql, [], read).unwrap();
    }
}
