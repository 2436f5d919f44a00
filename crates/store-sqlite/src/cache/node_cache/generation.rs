//! Generation of the node cache: texts in one buffer, edges in another, and an index of both.
//!
//! Buffers are used instead of an allocation for each part, for two reasons. Cached parts live long and are freed on another
//! thread than the one that made them, which allocators handle badly; and parts that are read together are next to each other. A
//! generation only grows, until it is cleared as a whole.
use super::{OutEdges, StateNumber};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;
use workgraph_core::search::IndexEntry;
use workgraph_core::storage::Edge;

/// Cached parts of a gid, each with the state in which it was read.
#[derive(Clone, Copy, Debug, Default)]
struct GenerationEntry {
    node: Option<(StateNumber, NodeSlice)>,
    out: Option<(StateNumber, EdgeSlice)>,
    /// Complete list by a short relation ([`Relation::is_short`](workgraph_core::model::registry::Relation::is_short)),
    /// in order.
    list: Option<(StateNumber, EdgeSlice)>,
}

/// Node without its text, which is in the buffer of texts.
#[derive(Clone, Copy, Debug)]
struct NodeSlice {
    ty: Type,
    workspace: Option<Gid>,
    version: u64,
    start: u32,
    head: u32,
    body: u32,
}

/// Run of edges in the buffer of edges.
#[derive(Clone, Copy, Debug)]
enum EdgeSlice {
    Few { start: u32, len: u32 },
    Many,
}

/// Approximate bytes of an entry besides its text and edges: the table is at least half full.
const ENTRY_BYTES: usize = 2 * (size_of::<GenerationEntry>() + size_of::<Gid>());
/// Approximate bytes of an index entry.
const INDEX_ENTRY_BYTES: usize = 2 * (size_of::<(StateNumber, IndexEntry)>() + size_of::<Gid>());

/// Cached parts of many nodes.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    index: FxHashMap<Gid, GenerationEntry>,
    texts: String,
    edges: Vec<Edge>,
    /// Index entries, kept separately: most nodes that are read are not searched for.
    index_entries: FxHashMap<Gid, (StateNumber, IndexEntry)>,
}

impl Generation {
    /// Returns the approximate number of bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.index.len() * ENTRY_BYTES
            + self.texts.len()
            + size_of_val(&*self.edges)
            + self.index_entries.len() * INDEX_ENTRY_BYTES
    }

    /// Forgets everything, but keeps the allocated memory.
    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.texts.clear();
        self.edges.clear();
        self.index_entries.clear();
    }

    /// Forgets a node.
    pub(super) fn remove(&mut self, gid: Gid) {
        self.index.remove(&gid);
        self.index_entries.remove(&gid);
    }

    /// Returns the node, if it was read in this state or before, with the state in which it was read.
    pub(super) fn node(&self, gid: Gid, at: StateNumber) -> Option<(StateNumber, Arc<Node>)> {
        let (read, text) = self.index.get(&gid)?.node.filter(|(read, _)| *read <= at)?;
        let (start, middle) = (text.start as usize, (text.start + text.head) as usize);
        let node = Node {
            gid,
            ty: text.ty,
            workspace: text.workspace,
            version: text.version,
            head: self.texts.get(start..middle)?.into(),
            body: self.texts.get(middle..middle + text.body as usize)?.into(),
        };
        Some((read, Arc::new(node)))
    }

    /// Returns the outgoing edges of a node, if they were read in this state or before.
    pub(super) fn out(&self, gid: Gid, at: StateNumber) -> Option<(StateNumber, OutEdges)> {
        let (read, run) = self.index.get(&gid)?.out.filter(|(read, _)| *read <= at)?;
        Some((read, self.run(run)?))
    }

    /// Returns the short list into a node, if it was read in this state or before.
    pub(super) fn list(&self, gid: Gid, at: StateNumber) -> Option<(StateNumber, Arc<[Edge]>)> {
        let (read, run) = self.index.get(&gid)?.list.filter(|(read, _)| *read <= at)?;
        match self.run(run)? {
            OutEdges::Few(edges) => Some((read, edges)),
            OutEdges::Many => None,
        }
    }

    /// Returns the index entry of a node, if it was read in this state or before.
    pub(super) fn index_entry(
        &self,
        gid: Gid,
        at: StateNumber,
    ) -> Option<(StateNumber, IndexEntry)> {
        let found = self.index_entries.get(&gid);
        found.filter(|(read, _)| *read <= at).copied()
    }

    fn run(&self, run: EdgeSlice) -> Option<OutEdges> {
        Some(match run {
            EdgeSlice::Few { start, len } => {
                let (start, len) = (start as usize, len as usize);
                OutEdges::Few(self.edges.get(start..start + len)?.into())
            }
            EdgeSlice::Many => OutEdges::Many,
        })
    }

    /// Adds a node to the generation.
    pub(super) fn put_node(&mut self, node: &Node, at: StateNumber) {
        let start = self.texts.len();
        self.texts.push_str(&node.head);
        self.texts.push_str(&node.body);
        // A generation is never this large; if it were, it would keep nothing more.
        let Some([start, head, body]) = small([start, node.head.len(), node.body.len()]) else {
            return;
        };
        let text = NodeSlice {
            ty: node.ty,
            workspace: node.workspace,
            version: node.version,
            start,
            head,
            body,
        };
        self.index.entry(node.gid).or_default().node = Some((at, text));
    }

    /// Adds the outgoing edges of a node to the generation.
    pub(super) fn put_out(&mut self, gid: Gid, out: &OutEdges, at: StateNumber) {
        let run = match out {
            OutEdges::Few(edges) => self.put_run(edges),
            OutEdges::Many => Some(EdgeSlice::Many),
        };
        if let Some(run) = run {
            self.index.entry(gid).or_default().out = Some((at, run));
        }
    }

    /// Adds a short list into a node to the generation.
    pub(super) fn put_list(&mut self, gid: Gid, list: &[Edge], at: StateNumber) {
        if let Some(run) = self.put_run(list) {
            self.index.entry(gid).or_default().list = Some((at, run));
        }
    }

    /// Adds the index entry of a node to the generation.
    pub(super) fn put_index_entry(&mut self, entry: IndexEntry, at: StateNumber) {
        self.index_entries.insert(entry.gid, (at, entry));
    }

    fn put_run(&mut self, edges: &[Edge]) -> Option<EdgeSlice> {
        let [start, len] = small([self.edges.len(), edges.len()])?;
        self.edges.extend_from_slice(edges);
        Some(EdgeSlice::Few { start, len })
    }
}

/// Converts numbers to the 32 bits that entries keep.
fn small<const N: usize>(numbers: [usize; N]) -> Option<[u32; N]> {
    let mut small = [0; N];
    for (to, from) in small.iter_mut().zip(numbers) {
        // Half of the range, so that sums of two also fit.
        *to = u32::try_from(from).ok().filter(|n| *n <= u32::MAX / 2)?;
    }
    Some(small)
}
