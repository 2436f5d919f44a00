//! Facts: the known part of one state of the graph.
mod answers;
mod insertion;

use super::graph_read::GraphRead;
use super::known_ranges::KnownRanges;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type};
use crate::search::{ColumnSet, EntryScan, IndexEntry};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Known edges from a node: all with relations in `lo..=hi`.
#[derive(Clone, Debug)]
struct KnownBand {
    lo: Relation,
    hi: Relation,
    /// True if the edges lead to live nodes only and have their commits; false if they were read at
    /// [`Depth::Edge`](crate::storage::snapshot::Depth::Edge).
    is_live: bool,
    edges: Vec<Edge>,
}

impl KnownBand {
    fn within(&self, lo: Relation, hi: Relation) -> impl Iterator<Item = &Edge> {
        let edges = self.edges.iter();
        edges.filter(move |edge| edge.rel >= lo && edge.rel <= hi)
    }
}

/// Last edge of a list before a position.
type LastEdge = ((i64, i64), Option<Edge>);
/// Values of a custom field: the field, the first and the last key.
type ValueRange = (Gid, IndexKey, IndexKey);
/// Type of an index entry in a workspace.
type EntryKind = (Option<Gid>, Type);

/// Reads of one state of the graph with their answers. A list that was read answers every shorter read in it, and a node that was
/// read along with an edge also answers reads of itself.
///
/// All answers must be true of the same state: that of the commit [`Facts::seq`].
#[derive(Clone, Debug, Default)]
pub struct Facts {
    seq: Seq,
    aliases: FxHashMap<Box<str>, Option<Gid>>,
    nodes: FxHashMap<Gid, Option<Arc<Node>>>,
    bands: FxHashMap<Gid, Vec<KnownBand>>,
    between: FxHashMap<(Gid, Relation, Gid), Option<Edge>>,
    out_lists: FxHashMap<(Gid, Relation), KnownRanges<i64, Edge>>,
    in_lists: FxHashMap<(Gid, Relation), KnownRanges<(i64, i64), Edge>>,
    last_edges: FxHashMap<(Gid, Relation), Vec<LastEdge>>,
    counts: FxHashMap<(Gid, Relation), u64>,
    workspace_lists: FxHashMap<(Gid, Type), KnownRanges<i64, Seq>>,
    value_lists: FxHashMap<ValueRange, KnownRanges<(IndexKey, Gid), ()>>,
    keys: FxHashMap<(Gid, Gid), Vec<IndexKey>>,
    entries: FxHashMap<(EntryKind, Gid), Option<IndexEntry>>,
    entry_scans: FxHashMap<EntryScan, KnownRanges<(i64, i64), IndexEntry>>,
    column_sets: FxHashMap<EntryKind, Vec<ColumnSet>>,
    word_scans: FxHashMap<GraphRead, KnownRanges<i64, Gid>>,
    /// Lists without an order, by the read without its limit. The keys are the positions of the rows.
    unordered: FxHashMap<GraphRead, KnownRanges<usize, (Gid, Option<i64>)>>,
    app_names: FxHashMap<u64, Option<String>>,
    /// Bytes of all answers.
    bytes: usize,
}

impl Facts {
    /// Creates an empty set of facts about the state after this commit.
    #[must_use]
    pub fn at(seq: Seq) -> Self {
        Self {
            seq,
            ..Self::default()
        }
    }

    /// Returns the last commit of the state that the facts are true of.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns the approximate size of the answers in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the reads that have no answer, each once.
    #[must_use]
    pub fn lacking(&self, reads: Vec<GraphRead>) -> Vec<GraphRead> {
        let mut seen = rustc_hash::FxHashSet::default();
        let reads = reads.into_iter();
        reads
            .filter(|read| self.answer(read).is_none() && seen.insert(read.clone()))
            .collect()
    }

    /// Returns the number of known rows before the start of a scan.
    pub(super) fn known_before(&self, read: &GraphRead) -> usize {
        let known = match read {
            GraphRead::ScanIn {
                dst, rel, after, ..
            }
            | GraphRead::ScanInOut {
                dst, rel, after, ..
            } => {
                let list = self.in_lists.get(&(*dst, *rel));
                list.map(|list| list.known_to(Some(after)))
            }
            GraphRead::ScanIndexEntries(scan) => {
                let list = self.entry_scans.get(&whole(scan));
                let after = scan.after.map(|after| ordered(scan, after));
                list.map(|list| list.known_to(after.as_ref()))
            }
            GraphRead::ScanWorkspace {
                workspace,
                ty,
                after,
                ..
            } => {
                let list = self.workspace_lists.get(&(*workspace, *ty));
                list.map(|list| list.known_to(Some(after)))
            }
            GraphRead::ScanWords {
                descending,
                after: Some(after),
                ..
            } => {
                let list = self.word_scans.get(&without_bounds(read));
                let after = directed(after.as_i64(), *descending);
                list.map(|list| list.known_to(Some(&after)))
            }
            GraphRead::ScanValues {
                field,
                from,
                to,
                after: Some(after),
                ..
            } => {
                let list = self.value_lists.get(&(*field, from.clone(), to.clone()));
                list.map(|list| list.known_to(Some(after)))
            }
            _ => None,
        };
        known.unwrap_or(0)
    }
}

/// Returns the scan without its start and limit: the name of the list.
fn whole(scan: &EntryScan) -> EntryScan {
    EntryScan {
        after: None,
        limit: 0,
        ..*scan
    }
}

/// Returns a number that sorts in the direction of a scan.
fn directed(value: i64, descending: bool) -> i64 {
    if descending { !value } else { value }
}

/// Returns the key of an entry in the direction of a scan.
fn ordered(scan: &EntryScan, (value, gid): (i64, Gid)) -> (i64, i64) {
    let gid = directed(gid.as_i64(), scan.descending);
    (directed(value, scan.descending), gid)
}

/// Returns the read without its start and limit: the name of the list.
fn without_bounds(read: &GraphRead) -> GraphRead {
    let mut read = read.clone();
    match &mut read {
        GraphRead::ScanWords { after, limit, .. } => (*after, *limit) = (None, 0),
        GraphRead::ListIn { limit, .. }
        | GraphRead::ListPrefixMatches { limit, .. }
        | GraphRead::ListIndexEntries { limit, .. } => *limit = 0,
        _ => {}
    }
    read
}
