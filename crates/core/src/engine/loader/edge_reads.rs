//! Runs of edges, each read once, and the look-ups of the access rules.
use super::{EDGE, Loader};
use crate::access::AccessLookup;
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type, rel};
use crate::storage::EdgeBand;
use crate::storage::snapshot::{Depth, Snapshot};
use smallvec::SmallVec;
use std::sync::Arc;

/// Number of edges counted in the time of one step.
const COUNTED: usize = 8;

/// Visits every edge of a relation into a node.
pub(crate) fn all_in(
    snap: &mut dyn Snapshot,
    dst: Gid,
    rel: Relation,
    each: &mut dyn FnMut(Edge),
) -> Result<(), GraphStoreError> {
    snap.scan_in(
        dst,
        rel,
        (i64::MIN, i64::MIN),
        usize::MAX >> 1,
        Depth::Edge,
        &mut |edge, _| each(edge),
    )
}

/// Nodes that were read along with edges; most nodes have few.
type TargetNodes = SmallVec<[Arc<Node>; 32]>;

impl Loader<'_> {
    /// Loads the edges from a node with relations in `lo..=hi`.
    pub(crate) fn band(
        &mut self,
        gid: Gid,
        lo: Relation,
        hi: Relation,
        depth: Depth,
    ) -> Result<(), GraphStoreError> {
        let band = self.view.out.get(&gid).copied();
        let heads = depth > Depth::Edge;
        if band.is_some_and(|b| b.lo <= lo && b.hi >= hi && b.heads >= heads) {
            return Ok(());
        }
        let (lo, hi) = band.map_or((lo, hi), |b| (lo.min(b.lo), hi.max(b.hi)));
        let (edges, mut nodes) = (&mut self.view.edges, TargetNodes::new());
        let start = edges.len();
        self.snap.edges_out(gid, lo, hi, depth, &mut |edge, node| {
            edges.push(edge);
            nodes.extend(node);
        })?;
        let (start, end) = self.keep_read(start, nodes)?;
        let band = EdgeBand {
            lo,
            hi,
            start,
            end,
            heads,
        };
        self.view.out.insert(gid, band);
        Ok(())
    }

    /// Adds edges that were read along with a node: all its edges with relations in `band`.
    pub(crate) fn adopt(
        &mut self,
        gid: Gid,
        (lo, hi): (Relation, Relation),
        edges: &[Edge],
    ) -> Result<(), GraphStoreError> {
        if self.view.out.contains_key(&gid) {
            return Ok(());
        }
        self.charge(edges.len() * EDGE)?;
        let start = self.view.edges.len() as u32;
        self.view.edges.extend_from_slice(edges);
        let band = EdgeBand {
            lo,
            hi,
            start,
            end: self.view.edges.len() as u32,
            heads: false,
        };
        self.view.out.insert(gid, band);
        Ok(())
    }

    /// Counts the edges into a node.
    pub(crate) fn count_in(&mut self, gid: Gid, rel: Relation) -> Result<u64, GraphStoreError> {
        let count = self.snap.count_in(gid, rel)?;
        self.steps(1 + usize::try_from(count).unwrap_or(usize::MAX) / COUNTED)?;
        Ok(count)
    }

    /// Loads the first edges into a node.
    pub(super) fn ins(
        &mut self,
        gid: Gid,
        rel: Relation,
        limit: usize,
        depth: Depth,
    ) -> Result<(), GraphStoreError> {
        if self.view.ins.contains_key(&(gid, rel)) {
            return Ok(());
        }
        let (edges, mut nodes) = (&mut self.view.edges, TargetNodes::new());
        let start = edges.len();
        self.snap.scan_in(
            gid,
            rel,
            (i64::MIN, i64::MIN),
            limit,
            depth,
            &mut |edge, node| {
                edges.push(edge);
                nodes.extend(node);
            },
        )?;
        let span = self.keep_read(start, nodes)?;
        self.view.ins.insert((gid, rel), span);
        Ok(())
    }

    /// Loads the first edges into a node within a range of ranks, with their sources in full.
    pub(super) fn ins_between(
        &mut self,
        gid: Gid,
        rel: Relation,
        (first, last): (i64, i64),
        limit: usize,
    ) -> Result<(), GraphStoreError> {
        let (edges, mut sources) = (&mut self.view.edges, Vec::new());
        let start = edges.len();
        let before = (first.saturating_sub(1), i64::MAX);
        self.snap
            .scan_in(gid, rel, before, limit, Depth::Edge, &mut |edge, _| {
                if edge.rank <= last {
                    edges.push(edge);
                    sources.push(edge.src);
                }
            })?;
        let span = self.keep_read(start, TargetNodes::new())?;
        self.view.between.insert((gid, rel, first, last), span);
        for source in sources {
            self.load_full(source)?;
        }
        Ok(())
    }

    /// Counts the edges that were read from index `start` on, and keeps the nodes that came with them. Returns the span
    /// of the edges.
    fn keep_read(
        &mut self,
        start: usize,
        nodes: TargetNodes,
    ) -> Result<(u32, u32), GraphStoreError> {
        let end = self.view.edges.len();
        self.steps(end - start)?;
        self.charge((end - start) * EDGE)?;
        for node in nodes {
            self.keep_node(node)?;
        }
        Ok((start as u32, end as u32))
    }
}

impl AccessLookup for Loader<'_> {
    fn lookup_node(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, GraphStoreError> {
        Ok(if self.load_full(gid)? {
            self.view.nodes.get(&gid).cloned()
        } else {
            None
        })
    }
    fn lookup_edges(&mut self, gid: Gid, rel: Relation) -> Result<Vec<Edge>, GraphStoreError> {
        self.band(gid, rel, rel, Depth::Edge)?;
        Ok(self.view.links(gid, rel).to_vec())
    }
    fn lookup_edge(
        &mut self,
        source: Gid,
        rel: Relation,
        target: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        match self.view.out.get(&source) {
            Some(b) if b.lo <= rel && b.hi >= rel => {
                Ok(self.view.link(source, rel, target).cloned())
            }
            _ => {
                self.steps(1)?;
                self.snap.edge_between(source, rel, target)
            }
        }
    }
    fn teams_of(&mut self, user: Gid) -> Result<Vec<Gid>, GraphStoreError> {
        let (first, all) = ((i64::MIN, i64::MIN), usize::MAX >> 1);
        let (mut teams, depth) = (Vec::new(), Depth::Head);
        self.snap.scan_in(
            user,
            rel::TEAM_MEMBERS,
            first,
            all,
            depth,
            &mut |edge, node| {
                // A node that is not a team has no members, even if it has a membership edge.
                teams.extend(node.filter(|n| n.ty == Type::Team).map(|_| edge.src));
            },
        )?;
        self.steps(1 + teams.len())?;
        Ok(teams)
    }
}
