//! Conversion of columns to nodes and edges.
use crate::columns::{code, gid, maybe_gid, number};
use crate::database_error::DatabaseError;
use std::sync::Arc;
use tokio_postgres::Row;
use workgraph_core::model::body::Body;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::storage::Edge;
use workgraph_core::storage::snapshot::Depth;

/// Returns the statement for a depth.
pub(super) fn by_depth([edge, head, full]: [&'static str; 3], depth: Depth) -> &'static str {
    match depth {
        Depth::Edge => edge,
        Depth::Head => head,
        Depth::Full => full,
    }
}

/// Returns a relation as a parameter.
pub(super) fn relation(rel: Relation) -> i16 {
    i16::from(rel.0)
}

/// Returns the edge in the first columns.
pub(super) fn edge(row: &Row) -> Result<Edge, DatabaseError> {
    Ok(Edge {
        src: gid(row, 0)?,
        rel: Relation(code(row, 1)?),
        dst: gid(row, 2)?,
        rank: row.try_get(3)?,
        seq: number(row, 4)?,
        aux: maybe_gid(row, 5)?,
    })
}

/// Returns the node whose columns start at `at`; `None` if only edges were read.
pub(super) fn node(
    row: &Row,
    at: usize,
    gid: Gid,
    depth: Depth,
) -> Result<Option<Arc<Node>>, DatabaseError> {
    if depth == Depth::Edge {
        return Ok(None);
    }
    let ty = Type::from_code(code(row, at)?).ok_or_else(|| DatabaseError::unreadable("kind"))?;
    let (version, body) = match depth {
        Depth::Full => (number(row, at + 3)?, row.try_get::<_, &str>(at + 4)?.into()),
        _ => (0, Body::default()),
    };
    Ok(Some(Arc::new(Node {
        gid,
        ty,
        workspace: maybe_gid(row, at + 1)?,
        version,
        head: row.try_get::<_, &str>(at + 2)?.into(),
        body,
    })))
}
