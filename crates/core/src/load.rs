//! Loading: answers a [`Want`] from a [`Snapshot`], access rules and page bounds included.
use crate::access::{self, Facts, Level, Role, Seat, Viewer};
use crate::gid::Gid;
use crate::graph::{Band, By, Edge, Ref, StoreError, View, ViewerKey, Want, alias};
use crate::node::{Node, entries};
use crate::plan::{Plan, Step, Then};
use crate::registry::{Dir, Kind, Part, Rel, Source, Type, rel};
use crate::resources::custom_field::{self, FIELDS_MAX};
use crate::resources::{membership, task, workspace};
use crate::snapshot::{Depth, Snapshot};
use crate::values;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Answers `want`. The viewer is the one that [`viewer`] works out for [`Want::viewer`], now or
/// from a cache that [`crate::snapshot::Transaction::viewers_changed`] empties.
///
/// # Errors
/// When the store fails.
pub fn load(snap: &mut dyn Snapshot, want: &Want, viewer: Arc<Viewer>) -> Result<View, StoreError> {
    let seq = snap.seq()?;
    let viewer = match &want.reach {
        Some(reach) if viewer.exceeds(reach) => Arc::new(viewer.within(reach)),
        _ => viewer,
    };
    let mut loader = Loader {
        snap,
        view: View::new(viewer, seq),
        many: false,
        reached: FxHashSet::default(),
        own_fields: None,
        kinds: FxHashMap::default(),
    };
    for (at, r) in want.refs.iter().enumerate() {
        let gid = loader.named(r)?;
        let found = match gid {
            Some(gid) => loader.full(gid)?.then_some(gid),
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

/// Works out what a user's own memberships say.
///
/// # Errors
/// When the store fails.
pub fn viewer(snap: &mut dyn Snapshot, key: ViewerKey) -> Result<Viewer, StoreError> {
    let mut viewer = Viewer {
        service: key.service,
        ..Viewer::alone(key.user)
    };
    let mut seats = Vec::new();
    snap.out(
        key.user,
        rel::WORKSPACES,
        rel::WORKSPACES,
        Depth::Edge,
        &mut |edge, _| seats.push(edge),
    )?;
    for edge in seats {
        let Some(node) = edge
            .aux
            .map(|g| snap.node(g, Depth::Full))
            .transpose()?
            .flatten()
        else {
            continue;
        };
        let role = match (
            node.get(membership::IS_ADMIN),
            node.get(membership::IS_GUEST),
        ) {
            (true, _) => Role::Admin,
            (_, true) => Role::Guest,
            _ => Role::Member,
        };
        let place = snap.node(edge.dst, Depth::Full)?;
        viewer.seats.push(Seat {
            workspace: edge.dst,
            role,
            paid: place.is_some_and(|w| w.get(workspace::PLAN).as_deref() == Some("paid")),
            view_only: node.get(membership::IS_VIEW_ONLY),
            membership: node.gid,
            task_list: node.get(membership::TASK_LIST),
        });
    }
    let mut teams = Vec::new();
    all_in(snap, key.user, rel::TEAM_MEMBERS, &mut |e| {
        teams.push((e.src, e.rank == 1))
    })?;
    viewer.teams.extend(teams);
    let mut projects: FxHashMap<Gid, Level> = FxHashMap::default();
    let members: Vec<Gid> = std::iter::once(key.user)
        .chain(viewer.teams.keys().copied())
        .collect();
    for member in members {
        all_in(snap, member, rel::MEMBERS, &mut |e| {
            let best = projects.entry(e.src).or_default();
            *best = (*best).max(Level::from_rank(e.rank));
        })?;
    }
    viewer.projects = projects;
    Ok(viewer)
}

/// Every edge of a relation into a node.
pub(crate) fn all_in(
    snap: &mut dyn Snapshot,
    dst: Gid,
    rel: Rel,
    each: &mut dyn FnMut(Edge),
) -> Result<(), StoreError> {
    snap.scan_in(
        dst,
        rel,
        (i64::MIN, i64::MIN),
        usize::MAX >> 1,
        Depth::Edge,
        &mut |edge, _| each(edge),
    )
}

pub(crate) struct Loader<'a> {
    pub(crate) snap: &'a mut dyn Snapshot,
    pub(crate) view: View,
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
    pub(crate) fn found(&self, at: usize) -> Option<Gid> {
        self.view.found.get(at).and_then(|(_, gid)| *gid)
    }

    /// The gid a ref names, live or not.
    fn named(&mut self, name: &Ref) -> Result<Option<Gid>, StoreError> {
        match name {
            Ref::Gid(gid) => Ok(Some(*gid)),
            Ref::Alias(key) => self.snap.alias(key),
            Ref::TaskList { user, near } => {
                let (Some(user), Some(near)) = (self.named(user)?, self.named(near)?) else {
                    return Ok(None);
                };
                let Some(node) = self.snap.node(near, Depth::Head)? else {
                    return Ok(None);
                };
                let workspace = node.home.unwrap_or(near);
                self.snap.alias(&alias::task_list(user, workspace))
            }
            Ref::Of { node, by } => {
                let Some(gid) = self.named(node)? else {
                    return Ok(None);
                };
                match by {
                    By::Edge(rel) => {
                        self.band(gid, *rel, *rel, Depth::Head)?;
                        Ok(self.view.links(gid, *rel).first().map(|e| e.dst))
                    }
                    By::Aux(rel, to) => {
                        let edge = self.snap.linked(gid, *rel, *to)?;
                        Ok(edge.and_then(|e| e.aux))
                    }
                    By::Key(key) => {
                        let raw = if self.full(gid)? {
                            self.view.nodes.get(&gid).and_then(|n| n.raw(key))
                        } else {
                            None
                        };
                        Ok(raw.and_then(|v| Gid::parse(v.trim_matches('"'))))
                    }
                }
            }
        }
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
        let node = self.snap.node(gid, depth)?;
        let live = node.is_some();
        if let Some(node) = node {
            self.keep(node);
        }
        Ok(live)
    }

    /// Lets go of a node that is not shown after all, unless the request names it.
    pub(crate) fn forget(&mut self, gid: Gid) {
        if !self.view.found.iter().any(|(_, found)| *found == Some(gid)) {
            self.view.nodes.remove(&gid);
        }
    }

    /// Keeps a node, unless a deeper reading of it is there already.
    pub(crate) fn keep(&mut self, node: Arc<Node>) {
        match self.view.nodes.get(&node.gid) {
            Some(held) if !held.is_head() || node.is_head() => {}
            _ => {
                self.view.nodes.insert(node.gid, node);
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

    /// Reads the edges that rules asked for.
    fn rules(&mut self, want: &Want) -> Result<(), StoreError> {
        for (at, rel) in &want.out {
            if let Some(gid) = self.found(*at) {
                self.band(gid, *rel, *rel, Depth::Head)?;
            }
        }
        for (at, rel, limit) in &want.into {
            if let Some(gid) = self.found(*at) {
                self.ins(gid, *rel, *limit, Depth::Head)?;
            }
        }
        for (a, rel, b) in &want.linked {
            if let (Some(a), Some(b)) = (self.found(*a), self.found(*b))
                && self.view.link(a, *rel, b).is_none()
                && let Some(edge) = self.snap.linked(a, *rel, b)?
            {
                self.view.singles.push(edge);
            }
        }
        for at in &want.fields {
            if let Some(gid) = self.found(*at) {
                self.band(gid, rel::SECTION, rel::SECTION, Depth::Edge)?;
                self.fields(gid)?;
            }
        }
        for at in &want.heights {
            if let Some(gid) = self.found(*at) {
                let height = self.height(gid)?;
                self.view.heights.insert(gid, height);
            }
        }
        for at in &want.ancestors {
            let mut next = self.found(*at);
            for _ in 0..8 {
                let Some(gid) = next else { break };
                self.level(gid)?;
                self.band(gid, rel::PARENT, rel::PARENT, Depth::Head)?;
                next = self.view.links(gid, rel::PARENT).first().map(|e| e.dst);
            }
        }
        Ok(())
    }

    /// How many levels of subtasks are below a node.
    fn height(&mut self, gid: Gid) -> Result<usize, StoreError> {
        let mut level = vec![gid];
        for height in 0..8 {
            let mut below = Vec::new();
            for gid in level {
                all_in(self.snap, gid, rel::PARENT, &mut |e| below.push(e.src))?;
            }
            if below.is_empty() {
                return Ok(height);
            }
            level = below;
        }
        Ok(8)
    }

    /// Has the edges from a node with relations in `lo..=hi`.
    fn band(&mut self, gid: Gid, lo: Rel, hi: Rel, depth: Depth) -> Result<(), StoreError> {
        let held = self.view.out.get(&gid).copied();
        let heads = depth > Depth::Edge;
        if held.is_some_and(|b| b.lo <= lo && b.hi >= hi && b.heads >= heads) {
            return Ok(());
        }
        let (lo, hi) = held.map_or((lo, hi), |b| (lo.min(b.lo), hi.max(b.hi)));
        let (mut edges, mut nodes) = (Vec::new(), Vec::new());
        self.snap.out(gid, lo, hi, depth, &mut |edge, node| {
            edges.push(edge);
            nodes.extend(node);
        })?;
        for node in nodes {
            self.keep(node);
        }
        let start = self.view.edges.len() as u32;
        self.view.edges.append(&mut edges);
        let end = self.view.edges.len() as u32;
        let band = Band {
            lo,
            hi,
            start,
            end,
            heads,
        };
        self.view.out.insert(gid, band);
        Ok(())
    }

    /// Has edges from a node that were read along with it, all there are with relations in `band`.
    pub(crate) fn adopt(&mut self, gid: Gid, (lo, hi): (Rel, Rel), edges: &[Edge]) {
        let view = &mut self.view;
        if let std::collections::hash_map::Entry::Vacant(free) = view.out.entry(gid) {
            let start = view.edges.len() as u32;
            view.edges.extend_from_slice(edges);
            free.insert(Band {
                lo,
                hi,
                start,
                end: view.edges.len() as u32,
                heads: false,
            });
        }
    }

    /// Has the first edges into a node.
    fn ins(&mut self, gid: Gid, rel: Rel, limit: usize, depth: Depth) -> Result<(), StoreError> {
        if self.view.ins.contains_key(&(gid, rel)) {
            return Ok(());
        }
        let (mut edges, mut nodes) = (Vec::new(), Vec::new());
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
        for node in nodes {
            self.keep(node);
        }
        let start = self.view.edges.len() as u32;
        self.view.edges.append(&mut edges);
        self.view
            .ins
            .insert((gid, rel), (start, self.view.edges.len() as u32));
        Ok(())
    }

    /// Has everything that projecting `gid` by `plan` reads.
    fn follow(&mut self, gid: Gid, plan: &Plan) -> Result<(), StoreError> {
        if plan.reads_body && !self.full(gid)? {
            return Ok(());
        }
        if let Some((lo, hi)) = plan.band {
            // Rows of a page mostly lead to the same nodes, which are then read once; a single
            // record gets its neighbours along with the edges.
            let depth = if self.many { Depth::Edge } else { Depth::Head };
            self.band(gid, lo, hi, depth)?;
        }
        for step in &plan.steps {
            self.step(gid, step)?;
        }
        Ok(())
    }

    fn step(&mut self, gid: Gid, step: &Step) -> Result<(), StoreError> {
        if let (Some(only), Some(node)) = (step.def.only, self.view.nodes.get(&gid))
            && !only(node)
        {
            return Ok(());
        }
        match step.def.source {
            Source::Inline(key) => {
                let node = self.view.nodes.get(&gid);
                if let Some(target) = node.and_then(|n| n.raw(key)).and_then(inline) {
                    self.reach(target, &step.then)?;
                }
            }
            Source::Stored(key) => {
                let (Then::Group(parts), Some(node)) = (&step.then, self.view.nodes.get(&gid))
                else {
                    return Ok(());
                };
                let inner: Vec<(&str, &str)> =
                    node.raw(key).map(entries).into_iter().flatten().collect();
                let mut links = Vec::new();
                for part in parts {
                    if let Source::Inline(key) = part.def.source {
                        let value = inner.iter().find(|(k, _)| *k == key);
                        links.extend(
                            value
                                .and_then(|(_, v)| inline(v))
                                .map(|to| (to, &part.then)),
                        );
                    }
                }
                for (to, then) in links {
                    self.reach(to, then)?;
                }
            }
            Source::Home => {
                if let Some(target) = self.view.nodes.get(&gid).and_then(|n| n.home) {
                    self.reach(target, &step.then)?;
                }
            }
            Source::Edges(rel, Dir::Out) => self.each_link(gid, rel, &step.then)?,
            Source::Edges(rel, Dir::In) => {
                self.ins(gid, rel, LINKS_MAX, Depth::Head)?;
                if rel == rel::OPTION_OF {
                    // Whoever sees a field sees its options.
                    let level = self.view.level(gid);
                    for edge in self.view.sources(gid, rel).to_vec() {
                        self.seen_through(edge.src, level);
                    }
                }
                for edge in self.view.sources(gid, rel).to_vec() {
                    self.reach(edge.src, &step.then)?;
                }
            }
            Source::Aux(rel, dir) => {
                if dir == Dir::In {
                    self.ins(gid, rel, LINKS_MAX, Depth::Edge)?;
                }
                let edges = match dir {
                    Dir::Out => self.view.links(gid, rel),
                    Dir::In => self.view.sources(gid, rel),
                };
                let parties: Vec<Gid> = edges.iter().filter_map(|e| e.aux).collect();
                for aux in parties {
                    self.reach(aux, &step.then)?;
                }
            }
            Source::Gids(key) => {
                let node = self.view.nodes.get(&gid).cloned();
                for target in node
                    .iter()
                    .filter_map(|n| n.raw(key))
                    .flat_map(values::gids)
                {
                    self.reach(target, &step.then)?;
                }
            }
            Source::Values(key) => self.values(gid, key, &step.then)?,
            Source::Count(rel, Dir::In) => {
                let count = self.snap.count_in(gid, rel)?;
                self.view.counts.insert((gid, rel), count);
            }
            _ => {}
        }
        Ok(())
    }

    fn each_link(&mut self, gid: Gid, rel: Rel, then: &Then) -> Result<(), StoreError> {
        for at in self.view.span(gid, rel) {
            let Some(edge) = self.view.edges.get(at).copied() else {
                break;
            };
            let Then::Items(parts) = then else {
                self.reach(edge.dst, then)?;
                continue;
            };
            for part in parts {
                let target = match part.def.source {
                    Source::ItemTarget => Some(edge.dst),
                    Source::ItemAux => edge.aux,
                    _ => None,
                };
                if let Some(target) = target {
                    self.reach(target, &part.then)?;
                    if Some(target) == edge.aux {
                        let level = self.view.level(target);
                        self.seen_through(edge.dst, level);
                    }
                }
            }
        }
        Ok(())
    }

    /// Has a linked node as deep as it will be shown, and the viewer's level on it.
    fn reach(&mut self, gid: Gid, then: &Then) -> Result<(), StoreError> {
        if !self
            .reached
            .insert((std::ptr::from_ref(then) as usize, gid))
        {
            return Ok(());
        }
        if !self.deep(gid, Depth::Head)? {
            return Ok(());
        }
        let ty = self.view.nodes.get(&gid).map(|n| n.ty);
        if ty == Some(Type::User) {
            self.seen_through(gid, Level::Viewer);
        } else {
            self.level(gid)?;
        }
        if let Then::Plans(plans) = then
            && let Some(plan) = plans.iter().find(|p| Some(p.ty) == ty)
            && self.view.level(gid) > Level::None
        {
            self.follow(gid, plan)?;
        }
        Ok(())
    }

    /// Has the edges from a task to the custom fields of what it is in, and their definitions.
    pub(crate) fn fields(&mut self, gid: Gid) -> Result<(), StoreError> {
        let own = match self.own_fields {
            Some(own) => own,
            // One look for all rows of a page; for one task only if it is the viewer's.
            None if self.many || self.is_mine(gid) => self.own_fields()?,
            None => false,
        };
        if own {
            self.band(gid, rel::SECTION, rel::MY_TASKS, Depth::Edge)?;
        }
        let places: Vec<Gid> = values::places(&self.view, gid).collect();
        for place in places {
            self.ins(place, rel::FIELD_ON, FIELDS_MAX, Depth::Full)?;
        }
        Ok(())
    }

    /// Whether a task is assigned to the viewer.
    fn is_mine(&self, gid: Gid) -> bool {
        let assignee = self.view.node(gid).and_then(|n| n.get(task::ASSIGNEE));
        assignee == Some(self.view.viewer.user)
    }

    /// Whether a task list of the viewer has custom fields, which is seldom.
    fn own_fields(&mut self) -> Result<bool, StoreError> {
        let mut own = false;
        for list in Arc::clone(&self.view.viewer)
            .seats
            .iter()
            .filter_map(|s| s.task_list)
        {
            self.ins(list, rel::FIELD_ON, FIELDS_MAX, Depth::Full)?;
            own |= !self.view.sources(list, rel::FIELD_ON).is_empty();
        }
        self.own_fields = Some(own);
        Ok(own)
    }

    /// Has the custom fields of a task, and what its values link to.
    fn values(&mut self, gid: Gid, key: &str, then: &Then) -> Result<(), StoreError> {
        self.fields(gid)?;
        let Then::Plans(plans) = then else {
            return Ok(());
        };
        let (Some(plan), Some(task)) = (plans.first(), self.view.nodes.get(&gid).cloned()) else {
            return Ok(());
        };
        let places: Vec<Gid> = values::places(&self.view, gid).collect();
        for place in places {
            // The fields of a place are those of all tasks in it.
            let at = (std::ptr::from_ref(then) as usize, place);
            if self.reached.insert(at) {
                for edge in self.view.sources(place, rel::FIELD_ON).to_vec() {
                    self.reach(edge.src, then)?;
                }
            }
        }
        for (field, value) in task.raw(key).into_iter().flat_map(values::stored) {
            self.reach(field, then)?;
            let kind = match self.kinds.get(&field) {
                Some(kind) => *kind,
                None => {
                    let kind = self.view.node(field).map(custom_field::kind);
                    self.kinds.insert(field, kind);
                    kind
                }
            };
            let Some(kind) = kind.filter(|k| k.links()) else {
                continue;
            };
            let part = |s: &&Step| match s.def.source {
                Source::Value(Part::Linked(of)) => of == kind,
                Source::Value(Part::Display) => true,
                _ => false,
            };
            // The links themselves stand before the one string that shows them.
            let Some(step) = plan.steps.iter().find(part) else {
                continue;
            };
            for target in values::linked(kind, value) {
                if matches!(kind, Kind::Enum | Kind::MultiEnum) {
                    let level = self.view.level(field);
                    self.seen_through(target, level);
                }
                self.reach(target, &step.then)?;
            }
        }
        Ok(())
    }
}

/// The gid of a link that is kept in a body.
fn inline(raw: &str) -> Option<Gid> {
    Gid::parse(raw.trim_matches('"'))
}

/// The most links of one field that a record carries.
pub const LINKS_MAX: usize = 1_000;

impl Facts for Loader<'_> {
    fn fact(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, StoreError> {
        Ok(if self.full(gid)? {
            self.view.nodes.get(&gid).cloned()
        } else {
            None
        })
    }
    fn edges_of(&mut self, gid: Gid, rel: Rel) -> Result<Vec<Edge>, StoreError> {
        self.band(gid, rel, rel, Depth::Edge)?;
        Ok(self.view.links(gid, rel).to_vec())
    }
    fn is_linked(&mut self, source: Gid, rel: Rel, target: Gid) -> Result<bool, StoreError> {
        match self.view.out.get(&source) {
            Some(b) if b.lo <= rel && b.hi >= rel => {
                Ok(self.view.link(source, rel, target).is_some())
            }
            _ => Ok(self.snap.linked(source, rel, target)?.is_some()),
        }
    }
}
