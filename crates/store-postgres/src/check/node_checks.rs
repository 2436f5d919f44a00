//! Comparison of each node's record with the rows stored beside it.
use super::integrity_report::IntegrityReport;
use crate::columns::{gid, maybe_gid, number};
use crate::database_error::DatabaseError;
use crate::graph::index_keys::key_at;
use crate::graph::words::word_parts;
use crate::transaction::PgTransaction;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokio_postgres::Row;
use workgraph_core::engine::{build_entry, value_entries};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{membership, section};
use workgraph_core::search::is_searchable;
use workgraph_core::storage::GraphStoreError;
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::Snapshot;

/// Number of nodes that are read at once.
const CHUNK: i64 = 1_000;

const NODES: &str = "SELECT gid, kind, home, version, head, body, gone IS NULL FROM node \
    WHERE gid > $1 ORDER BY gid LIMIT $2";
const VALUES: &str = "SELECT node, field, key, tail FROM value WHERE node = ANY($1)";
const HEAD: &str = "SELECT head FROM node WHERE gid = $1";
const WORDS: &str = "SELECT w.gid, w.term, w.parts FROM node n \
    JOIN word w ON w.home = coalesce(n.home, 0) AND w.kind = n.kind AND w.gid = n.gid WHERE n.gid = ANY($1)";
const SHAPES: &str = "SELECT c.gid, c.shape FROM node n \
    JOIN card c ON c.home = coalesce(n.home, 0) AND c.kind = n.kind AND c.gid = n.gid WHERE n.gid = ANY($1)";

/// Rows stored beside the nodes of a chunk, by node: search keys, words and column sets.
#[derive(Default)]
struct Beside {
    values: HashMap<i64, Vec<(Gid, IndexKey)>>,
    words: HashMap<i64, BTreeMap<String, i16>>,
    shapes: HashMap<i64, i32>,
}

impl Beside {
    fn read(transaction: &mut PgTransaction<'_>, gids: &[i64]) -> Result<Self, DatabaseError> {
        let mut beside = Self::default();
        for row in transaction.rows(VALUES, &[&gids])? {
            let value = (gid(&row, 1)?, key_at(&row, 2)?);
            beside
                .values
                .entry(row.try_get(0)?)
                .or_default()
                .push(value);
        }
        for row in transaction.rows(WORDS, &[&gids])? {
            let words = beside.words.entry(row.try_get(0)?).or_default();
            words.insert(row.try_get(1)?, row.try_get(2)?);
        }
        for row in transaction.rows(SHAPES, &[&gids])? {
            beside.shapes.insert(row.try_get(0)?, row.try_get(1)?);
        }
        Ok(beside)
    }
}

/// Compares every node with the rows stored beside it.
pub(super) fn nodes(
    transaction: &mut PgTransaction<'_>,
    report: &mut IntegrityReport,
) -> Result<(), GraphStoreError> {
    let mut after = i64::MIN;
    loop {
        let rows = transaction.rows(NODES, &[&after, &CHUNK])?;
        let gids: Result<Vec<i64>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        let gids = gids.map_err(DatabaseError::from)?;
        let Some(last) = gids.last() else {
            return Ok(());
        };
        after = *last;
        let beside = Beside::read(transaction, &gids)?;
        for (row, number) in rows.iter().zip(&gids) {
            let Ok(node) = node(row) else {
                report.add(format!(
                    "a node has a number or a type that is unknown: {number}"
                ));
                continue;
            };
            if Draft::edit(&node).finish().head != node.head {
                report.add(format!(
                    "the head of node {} does not agree with its body",
                    node.gid
                ));
            }
            if row.try_get(6).map_err(DatabaseError::from)? {
                live_node(transaction, &node, &beside, report)?;
            }
        }
    }
}

/// Compares a live node with the rows stored beside it.
fn live_node(
    transaction: &mut PgTransaction<'_>,
    node: &Node,
    beside: &Beside,
    report: &mut IntegrityReport,
) -> Result<(), GraphStoreError> {
    let gid = node.gid;
    if is_searchable(node.ty) && !agrees(transaction, node, beside)? {
        report.add(format!(
            "the index entry of node {gid} does not agree with it"
        ));
    }
    if node.ty != Type::Task && beside.values.contains_key(&gid.as_i64()) {
        report.add(format!(
            "node {gid} is in the index of values and is no task"
        ));
    }
    match node.ty {
        Type::Section => {
            let linked = match node.get(section::PROJECT) {
                Some(project) => transaction.edge_between(gid, rel::SECTION_OF, project)?,
                None => None,
            };
            if linked.is_none() {
                report.add(format!("section {gid} has no edge to its project"));
            }
        }
        Type::Task if !is_indexed(transaction, node, beside)? => {
            report.add(format!(
                "the index of values does not agree with task {gid}"
            ));
        }
        Type::WorkspaceMembership => {
            let linked = match node.get(membership::USER).zip(node.workspace) {
                Some((user, workspace)) => {
                    transaction.edge_between(user, rel::WORKSPACES, workspace)?
                }
                None => None,
            };
            if linked.and_then(|edge| edge.aux) != Some(gid) {
                report.add(format!("workspace membership {gid} has no edge"));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Checks that the index entry and the words of a node agree with it. An entry may keep the flag `is_blocking` when no other
/// task waits for the node any more.
fn agrees(
    transaction: &mut PgTransaction<'_>,
    node: &Node,
    beside: &Beside,
) -> Result<bool, GraphStoreError> {
    let (mut fresh, text) = build_entry(transaction, node)?;
    let stored = transaction.index_entry(node.workspace, node.ty, node.gid)?;
    let number = node.gid.as_i64();
    let shape = beside.shapes.get(&number).copied();
    let words = beside.words.get(&number);
    let expected = word_parts(&text);
    let same_words = expected.len() == words.map_or(0, BTreeMap::len)
        && expected
            .iter()
            .all(|(word, parts)| words.and_then(|words| words.get(*word)) == Some(parts));
    Ok(stored.is_some_and(|stored| {
        let same_shape = shape == Some(i32::from(fresh.shape().number()));
        let blocks = stored.is_blocking || !fresh.is_blocking;
        fresh.is_blocking = stored.is_blocking;
        same_words && same_shape && blocks && stored == fresh
    }))
}

/// Checks that search finds a task by exactly the values that the task has.
fn is_indexed(
    transaction: &mut PgTransaction<'_>,
    task: &Node,
    beside: &Beside,
) -> Result<bool, DatabaseError> {
    let entries = value_entries(task, |field| {
        let rows = transaction.rows(HEAD, &[&field.as_i64()])?;
        let head = rows.first().map(|row| row.try_get(0)).transpose()?;
        Ok::<Option<String>, DatabaseError>(head)
    })?;
    let expected: BTreeSet<_> = entries
        .into_iter()
        .flat_map(|entry| entry.keys.into_iter().map(move |key| (entry.field, key)))
        .collect();
    let found = beside.values.get(&task.gid.as_i64());
    let found: BTreeSet<_> = found.into_iter().flatten().cloned().collect();
    Ok(expected == found)
}

fn node(row: &Row) -> Result<Node, DatabaseError> {
    let kind: i16 = row.try_get(1)?;
    let ty = u8::try_from(kind).ok().and_then(Type::from_code);
    Ok(Node {
        gid: gid(row, 0)?,
        ty: ty.ok_or_else(|| DatabaseError::unreadable("kind"))?,
        workspace: maybe_gid(row, 2)?,
        version: number(row, 3)?,
        head: row.try_get::<_, &str>(4)?.into(),
        body: row.try_get::<_, &str>(5)?.into(),
    })
}
