//! One age of the cache: texts in one buffer, edges in another, and what is where.
//!
//! Buffers rather than an allocation for each part: what is remembered lives long and goes on another thread than it came, which
//! allocators take ill; and what is read together lies together. A shelf only grows, until all of it is cleared.
use super::{Out, State};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use workgraph_core::gid::Gid;
use workgraph_core::graph::Edge;
use workgraph_core::node::Node;
use workgraph_core::registry::Type;

/// What is known of a gid, each part with the state it was read in.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    node: Option<(State, Text)>,
    out: Option<(State, Run)>,
    /// All of its list by a short relation ([`Rel::is_short`](workgraph_core::registry::Rel::is_short)), in order.
    list: Option<(State, Run)>,
}

/// A node, but for its text.
#[derive(Clone, Copy, Debug)]
struct Text {
    ty: Type,
    home: Option<Gid>,
    version: u64,
    start: u32,
    head: u32,
    body: u32,
}

/// Some edges.
#[derive(Clone, Copy, Debug)]
enum Run {
    Few { start: u32, len: u32 },
    Many,
}

/// About what an entry takes besides its text and edges: the table is at least half full.
const ENTRY: usize = 2 * (size_of::<Entry>() + size_of::<Gid>());

/// The parts of many nodes.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    index: FxHashMap<Gid, Entry>,
    texts: String,
    edges: Vec<Edge>,
}

impl Shelf {
    /// About how many bytes are in use.
    pub(super) fn bytes(&self) -> usize {
        self.index.len() * ENTRY + self.texts.len() + size_of_val(&*self.edges)
    }

    /// Forgets everything, and keeps the room.
    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.texts.clear();
        self.edges.clear();
    }

    /// Forgets a node.
    pub(super) fn remove(&mut self, gid: Gid) {
        self.index.remove(&gid);
    }

    /// The node, if it was read in this state or before, with the state it was read in.
    pub(super) fn node(&self, gid: Gid, at: State) -> Option<(State, Arc<Node>)> {
        let (read, text) = self.index.get(&gid)?.node.filter(|(read, _)| *read <= at)?;
        let (start, middle) = (text.start as usize, (text.start + text.head) as usize);
        let node = Node {
            gid,
            ty: text.ty,
            home: text.home,
            version: text.version,
            head: self.texts.get(start..middle)?.into(),
            body: self.texts.get(middle..middle + text.body as usize)?.into(),
        };
        Some((read, Arc::new(node)))
    }

    /// The edges away from a node, likewise.
    pub(super) fn out(&self, gid: Gid, at: State) -> Option<(State, Out)> {
        let (read, run) = self.index.get(&gid)?.out.filter(|(read, _)| *read <= at)?;
        Some((read, self.run(run)?))
    }

    /// The short list into a node, likewise.
    pub(super) fn list(&self, gid: Gid, at: State) -> Option<(State, Arc<[Edge]>)> {
        let (read, run) = self.index.get(&gid)?.list.filter(|(read, _)| *read <= at)?;
        match self.run(run)? {
            Out::Few(edges) => Some((read, edges)),
            Out::Many => None,
        }
    }

    fn run(&self, run: Run) -> Option<Out> {
        Some(match run {
            Run::Few { start, len } => {
                let (start, len) = (start as usize, len as usize);
                Out::Few(self.edges.get(start..start + len)?.into())
            }
            Run::Many => Out::Many,
        })
    }

    /// Puts a node on the shelf.
    pub(super) fn put_node(&mut self, node: &Node, at: State) {
        let start = self.texts.len();
        self.texts.push_str(&node.head);
        self.texts.push_str(&node.body);
        // A shelf has fewer bytes than that, or keeps nothing more.
        let Some([start, head, body]) = small([start, node.head.len(), node.body.len()]) else {
            return;
        };
        let text = Text {
            ty: node.ty,
            home: node.home,
            version: node.version,
            start,
            head,
            body,
        };
        self.index.entry(node.gid).or_default().node = Some((at, text));
    }

    /// Puts the edges away from a node on the shelf.
    pub(super) fn put_out(&mut self, gid: Gid, out: &Out, at: State) {
        let run = match out {
            Out::Few(edges) => self.put_run(edges),
            Out::Many => Some(Run::Many),
        };
        if let Some(run) = run {
            self.index.entry(gid).or_default().out = Some((at, run));
        }
    }

    /// Puts a short list into a node on the shelf.
    pub(super) fn put_list(&mut self, gid: Gid, list: &[Edge], at: State) {
        if let Some(run) = self.put_run(list) {
            self.index.entry(gid).or_default().list = Some((at, run));
        }
    }

    fn put_run(&mut self, edges: &[Edge]) -> Option<Run> {
        let [start, len] = small([self.edges.len(), edges.len()])?;
        self.edges.extend_from_slice(edges);
        Some(Run::Few { start, len })
    }
}

/// Numbers as they are kept.
fn small<const N: usize>(numbers: [usize; N]) -> Option<[u32; N]> {
    let mut small = [0; N];
    for (to, from) in small.iter_mut().zip(numbers) {
        // Half of the range, so that sums of two are in it.
        *to = u32::try_from(from).ok().filter(|n| *n <= u32::MAX / 2)?;
    }
    Some(small)
}
