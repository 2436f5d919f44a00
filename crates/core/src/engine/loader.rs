//! The loader: gathers the nodes, edges and levels of one query from a [`Snapshot`].
mod edge_reads;
mod field_definitions;
mod goal_progress;
mod prefetch;
mod rule_inputs;
mod viewer_loading;

pub(crate) use edge_reads::all_in;
pub use viewer_loading::viewer;

use crate::access::{self, Level};
use crate::graph_store_error::GraphStoreError;
use crate::interrupt::StepCounter;
use crate::model::computed_nodes;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{CustomFieldType, Type};
use crate::storage::snapshot::{Depth, Snapshot};
use crate::storage::{ReadQuery, ReadView, alias};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::sync::Arc;

/// Bytes that an edge takes.
const EDGE: usize = size_of::<Edge>();

/// Returns the bytes that a node takes.
fn weight(node: &Node) -> usize {
    size_of::<Node>() + node.head.len() + node.body.weight()
}

/// Gatherer of the nodes and edges of one query.
pub(crate) struct Loader<'a> {
    pub(crate) snap: &'a mut dyn Snapshot,
    pub(crate) view: ReadView,
    pace: StepCounter,
    /// Number of bytes that may still be gathered.
    budget: usize,
    /// True while following the plan of a page's rows.
    pub(crate) many: bool,
    /// Linked nodes that were already followed, each with the address of its link plan.
    reached: FxHashSet<(usize, Gid)>,
    /// True if a task list of the viewer has custom fields; `None` until looked up.
    own_fields: Option<bool>,
    /// Types of the custom fields whose values were read.
    kinds: FxHashMap<Gid, Option<CustomFieldType>>,
    /// Completed part of the tasks (false) or only the milestones (true) of each project whose progress was computed.
    completed_parts: FxHashMap<(Gid, bool), Option<f64>>,
}

impl<'a> Loader<'a> {
    /// Returns a loader that adds to an empty view.
    pub(crate) fn new(snap: &'a mut dyn Snapshot, want: &ReadQuery, view: ReadView) -> Self {
        Self {
            snap,
            view: ReadView {
                interrupt: want.interrupt.clone(),
                app: want.app,
                ..view
            },
            pace: StepCounter::of(&want.interrupt),
            budget: want.budget,
            many: false,
            reached: FxHashSet::with_capacity_and_hasher(14, FxBuildHasher),
            own_fields: None,
            kinds: FxHashMap::default(),
            completed_parts: FxHashMap::default(),
        }
    }

    /// Returns the view, with the number of steps that the load took.
    pub(crate) fn finish(self) -> ReadView {
        ReadView {
            steps: self.pace.total(),
            ..self.view
        }
    }

    /// Counts steps, and fails if the work must stop.
    pub(crate) fn steps(&mut self, steps: usize) -> Result<(), GraphStoreError> {
        Ok(self.pace.steps(steps)?)
    }

    pub(crate) fn found(&self, at: usize) -> Option<Gid> {
        self.view.resolved_refs.get(at).and_then(|(_, gid)| *gid)
    }

    /// Loads the node with its body; returns false if no live node has this gid.
    pub(crate) fn load_full(&mut self, gid: Gid) -> Result<bool, GraphStoreError> {
        self.deep(gid, Depth::Full)
    }

    fn deep(&mut self, gid: Gid, depth: Depth) -> Result<bool, GraphStoreError> {
        if let Some(node) = self.view.nodes.get(&gid)
            && (depth < Depth::Full || !node.is_head())
        {
            return Ok(true);
        }
        self.steps(1)?;
        let node = match computed_nodes::of_gid(gid) {
            Some(node) => Some(Arc::new(node)),
            None => self.snap.node(gid, depth)?,
        };
        let live = node.is_some();
        if let Some(node) = node {
            self.keep_node(node)?;
        }
        Ok(live)
    }

    /// Loads the node of the person who replaced a removed user; returns `None` if no person did.
    pub(crate) fn heir_of(&mut self, gone: Gid) -> Result<Option<Gid>, GraphStoreError> {
        let heir = self.snap.alias(&alias::heir(gone))?;
        let Some(heir) = heir else { return Ok(None) };
        if !self.load_full(heir)? {
            return Ok(None);
        }
        self.view.heirs.insert(gone, heir);
        Ok(Some(heir))
    }

    /// Subtracts this many bytes from the budget.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), GraphStoreError> {
        let left = self.budget.checked_sub(bytes);
        self.budget = left.ok_or(GraphStoreError::OverBudget)?;
        Ok(())
    }

    /// Removes the node of a row that is not shown after all, unless the request names it. Also removes the row's edges, if
    /// no edges were read after them.
    pub(crate) fn forget(&mut self, gid: Gid) {
        if self
            .view
            .resolved_refs
            .iter()
            .any(|(_, found)| *found == Some(gid))
        {
            return;
        }
        let mut freed = self.view.nodes.remove(&gid).map_or(0, |node| weight(&node));
        if let Some(band) = self.view.out.get(&gid)
            && band.end as usize == self.view.edges.len()
        {
            freed += (band.end - band.start) as usize * EDGE;
            self.view.edges.truncate(band.start as usize);
            self.view.out.remove(&gid);
        }
        self.budget = self.budget.saturating_add(freed);
    }

    /// Keeps a node, unless it was already read at the same or a greater depth.
    pub(crate) fn keep_node(&mut self, node: Arc<Node>) -> Result<(), GraphStoreError> {
        match self.view.nodes.get(&node.gid) {
            Some(known) if !known.is_head() || node.is_head() => Ok(()),
            known => {
                let before = known.map_or(0, |known| weight(known));
                self.budget = self.budget.saturating_add(before);
                self.charge(weight(&node))?;
                self.view.nodes.insert(node.gid, node);
                Ok(())
            }
        }
    }

    /// Returns the viewer's level on a node, computed once.
    pub(crate) fn level_of(&mut self, gid: Gid) -> Result<Level, GraphStoreError> {
        if let Some(level) = self.view.levels.get(&gid) {
            return Ok(*level);
        }
        // Levels on nodes of these types need no body.
        let head_is_enough = self
            .view
            .nodes
            .get(&gid)
            .is_some_and(|n| matches!(n.ty, Type::Workspace | Type::Tag));
        let level = if head_is_enough || self.load_full(gid)? {
            let viewer = Arc::clone(&self.view.viewer);
            match self.view.nodes.get(&gid).cloned() {
                Some(node) => access::access_level(&viewer, &node, self)?,
                None => Level::None,
            }
        } else {
            Level::None
        };
        self.view.levels.insert(gid, level);
        Ok(level)
    }

    /// Sets the viewer's level on a node that they see through its container, unless a level is already known.
    pub(crate) fn seen_through(&mut self, gid: Gid, level: Level) {
        self.view.levels.entry(gid).or_insert(level);
    }
}
