//! Loading: answers a [`Want`] from a [`Snapshot`], access rules and page bounds included.
mod edges;
mod fields;
mod follow;
mod rules;
mod viewer;

pub(crate) use edges::all_in;
pub use viewer::viewer;

use crate::access::{self, Level, Viewer};
use crate::gid::Gid;
use crate::graph::{Edge, StoreError, View, Want, alias};
use crate::interrupt::Pace;
use crate::node::Node;
use crate::registry::{Kind, Type};
use crate::snapshot::{Depth, Snapshot};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::sync::Arc;

/// Answers `want`. The viewer is the one that [`viewer`] works out for [`Want::viewer`], now or
/// from a cache that [`crate::snapshot::Transaction::viewers_changed`] empties.
///
/// # Errors
/// When the store fails, or the interrupt of the want stops it.
pub fn load(snap: &mut dyn Snapshot, want: &Want, viewer: Arc<Viewer>) -> Result<View, StoreError> {
    let seq = snap.seq()?;
    let viewer = match &want.reach {
        Some(reach) if viewer.exceeds(reach) => Arc::new(viewer.within(reach)),
        _ => viewer,
    };
    let mut loader = Loader {
        snap,
        view: View {
            interrupt: want.interrupt.clone(),
            app: want.app,
            ..View::new(viewer, seq)
        },
        pace: Pace::of(&want.interrupt),
        budget: want.budget,
        many: false,
        reached: FxHashSet::with_capacity_and_hasher(14, FxBuildHasher),
        own_fields: None,
        kinds: FxHashMap::default(),
    };
    for (at, r) in want.refs.iter().enumerate() {
        let gid = loader.named(r)?;
        let found = match gid {
            Some(gid) if loader.full(gid)? => Some(gid),
            Some(gid) => loader.heir_of(gid)?,
            None => None,
        };
        if let Some(gid) = found {
            // The edges the reply needs first: the level can then be worked out from them.
            let plan = want.plans.iter().find(|(of, _)| *of == at);
            if let Some((lo, hi)) = plan.and_then(|(_, plan)| plan.band) {
                loader.band(gid, lo, hi, Depth::Head)?;
            }
            loader.level(gid)?;
        }
        loader.view.found.push((r.clone(), found));
    }
    loader.rules(want)?;
    for (at, plan) in &want.plans {
        if let Some(gid) = loader.found(*at) {
            loader.follow(gid, plan)?;
        }
    }
    for (node, plan) in &want.given {
        loader.view.levels.insert(node.gid, Level::Admin);
        loader.view.nodes.insert(node.gid, Arc::clone(node));
        loader.many = true;
        loader.follow(node.gid, plan)?;
    }
    if let Some(page) = &want.page {
        crate::page::read(&mut loader, page, want.page_plan.as_deref())?;
    }
    if let Some(sieve) = &want.sieve {
        crate::search::sieve(&mut loader, sieve)?;
    }
    if let Some(search) = &want.search {
        crate::search::run(&mut loader, search)?;
    }
    if let Some(plan) = &want.page_plan {
        loader.many = true;
        for gid in loader.view.rows.gids.clone() {
            loader.follow(gid, plan)?;
        }
    }
    Ok(loader.view)
}

/// What an edge takes, in bytes.
const EDGE: usize = size_of::<Edge>();

/// What a node takes, in bytes.
fn weight(node: &Node) -> usize {
    size_of::<Node>() + node.head.len() + node.body.len()
}

pub(crate) struct Loader<'a> {
    pub(crate) snap: &'a mut dyn Snapshot,
    pub(crate) view: View,
    pace: Pace,
    /// How many bytes may still be gathered.
    budget: usize,
    /// Rows of a page are being followed.
    many: bool,
    /// Linked nodes that were followed already, each with the place of what is shown of it.
    reached: FxHashSet<(usize, Gid)>,
    /// Whether a task list of the viewer has custom fields, once that was looked up.
    own_fields: Option<bool>,
    /// The types of the custom fields that values were read for.
    kinds: FxHashMap<Gid, Option<Kind>>,
}

impl Loader<'_> {
    /// Takes some steps, unless the work is to stop.
    pub(crate) fn steps(&mut self, steps: usize) -> Result<(), StoreError> {
        Ok(self.pace.steps(steps)?)
    }

    pub(crate) fn found(&self, at: usize) -> Option<Gid> {
        self.view.found.get(at).and_then(|(_, gid)| *gid)
    }

    /// Has the node with its body; false if there is no such live node.
    pub(crate) fn full(&mut self, gid: Gid) -> Result<bool, StoreError> {
        self.deep(gid, Depth::Full)
    }

    fn deep(&mut self, gid: Gid, depth: Depth) -> Result<bool, StoreError> {
        if let Some(node) = self.view.nodes.get(&gid)
            && (depth < Depth::Full || !node.is_head())
        {
            return Ok(true);
        }
        self.steps(1)?;
        let node = self.snap.node(gid, depth)?;
        let live = node.is_some();
        if let Some(node) = node {
            self.keep(node)?;
        }
        Ok(live)
    }

    /// Has the person who took the place of a user that is gone, whole; none if nobody did.
    pub(crate) fn heir_of(&mut self, gone: Gid) -> Result<Option<Gid>, StoreError> {
        let heir = self.snap.alias(&alias::heir(gone))?;
        let Some(heir) = heir else { return Ok(None) };
        if !self.full(heir)? {
            return Ok(None);
        }
        self.view.heirs.insert(gone, heir);
        Ok(Some(heir))
    }

    /// Takes so many bytes of the budget.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), StoreError> {
        let left = self.budget.checked_sub(bytes);
        self.budget = left.ok_or(StoreError::OverBudget)?;
        Ok(())
    }

    /// Lets go of a row that is not shown after all, unless the request names it: of its node, and of its edges where
    /// nothing was read after them.
    pub(crate) fn forget(&mut self, gid: Gid) {
        if self.view.found.iter().any(|(_, found)| *found == Some(gid)) {
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

    /// Keeps a node, unless a deeper reading of it is there already.
    pub(crate) fn keep(&mut self, node: Arc<Node>) -> Result<(), StoreError> {
        match self.view.nodes.get(&node.gid) {
            Some(held) if !held.is_head() || node.is_head() => Ok(()),
            held => {
                let before = held.map_or(0, |held| weight(held));
                self.budget = self.budget.saturating_add(before);
                self.charge(weight(&node))?;
                self.view.nodes.insert(node.gid, node);
                Ok(())
            }
        }
    }

    /// The viewer's level on a node, worked out once.
    pub(crate) fn level(&mut self, gid: Gid) -> Result<Level, StoreError> {
        if let Some(level) = self.view.levels.get(&gid) {
            return Ok(*level);
        }
        // Levels of these need no body.
        let head_is_enough = self
            .view
            .nodes
            .get(&gid)
            .is_some_and(|n| matches!(n.ty, Type::Workspace | Type::Tag));
        let level = if head_is_enough || self.full(gid)? {
            let viewer = Arc::clone(&self.view.viewer);
            match self.view.nodes.get(&gid).cloned() {
                Some(node) => access::level(&viewer, &node, self)?,
                None => Level::None,
            }
        } else {
            Level::None
        };
        self.view.levels.insert(gid, level);
        Ok(level)
    }

    /// Says that the viewer may see a node, because they see what holds it.
    pub(crate) fn seen_through(&mut self, gid: Gid, level: Level) {
        self.view.levels.entry(gid).or_insert(level);
    }
}
