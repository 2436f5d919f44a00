//! Inputs of rules: nodes by their references, edges, ancestors and depths of subtasks.
use super::{Loader, all_in};
use crate::access::{AccessLookup, Level};
use crate::graph_store_error::GraphStoreError;
use crate::model::body_reader::BodyReader;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::registry::{Relation, rel};
use crate::model::time::Date;
use crate::storage::snapshot::Depth;
use crate::storage::{LinkSelector, NodeRef, ReadQuery, alias};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Maximum number of nodes from which edges are followed to further nodes.
const REACHED_MAX: usize = 10_000;

impl Loader<'_> {
    /// Returns the gid that a node reference names, live or not.
    pub(crate) fn named(&mut self, name: &NodeRef) -> Result<Option<Gid>, GraphStoreError> {
        match name {
            NodeRef::Gid(gid) => Ok(Some(*gid)),
            NodeRef::Alias(key) => self.snap.alias(key),
            NodeRef::Address(address) => match self.snap.alias(&alias::email(address))? {
                Some(person) => self.acquainted(person),
                None => Ok(None),
            },
            NodeRef::TaskList {
                user,
                within_workspace_of: near,
            } => {
                let (Some(user), Some(near)) = (self.named(user)?, self.named(near)?) else {
                    return Ok(None);
                };
                let Some(node) = self.snap.node(near, Depth::Head)? else {
                    return Ok(None);
                };
                let workspace = node.workspace.unwrap_or(near);
                self.snap.alias(&alias::task_list(user, workspace))
            }
            NodeRef::External { app, id } => {
                let mut found = None;
                for workspace in self.view.viewer.workspaces() {
                    let task = self.snap.alias(&alias::external(*app, workspace, id))?;
                    if task.is_some() && found.is_some() {
                        return Ok(None);
                    }
                    found = found.or(task);
                }
                Ok(found)
            }
            NodeRef::Linked { node, by } => {
                let Some(gid) = self.named(node)? else {
                    return Ok(None);
                };
                match by {
                    LinkSelector::FirstEdge(rel) => {
                        self.band(gid, *rel, *rel, Depth::Head)?;
                        Ok(self.view.links(gid, *rel).first().map(|e| e.dst))
                    }
                    LinkSelector::Aux(rel, to) => {
                        let edge = self.snap.edge_between(gid, *rel, *to)?;
                        Ok(edge.and_then(|e| e.aux))
                    }
                    LinkSelector::Rank(rel, rank) => {
                        let (mut found, before) = (None, (*rank - 1, i64::MAX));
                        self.snap
                            .scan_in(gid, *rel, before, 1, Depth::Edge, &mut |edge, _| {
                                found = Some(edge)
                            })?;
                        Ok(found.filter(|e| e.rank == *rank).map(|e| e.src))
                    }
                    LinkSelector::Nth(rel, count) => {
                        let (mut found, start) = (Vec::new(), (i64::MIN, i64::MIN));
                        self.snap.scan_in(
                            gid,
                            *rel,
                            start,
                            *count + 1,
                            Depth::Head,
                            &mut |edge, _| found.push(edge.src),
                        )?;
                        Ok(found.get(*count).copied())
                    }
                    LinkSelector::Workspace => {
                        let node = self.snap.node(gid, Depth::Head)?;
                        Ok(node.and_then(|node| node.workspace))
                    }
                    LinkSelector::Key(key) => {
                        let raw = if self.load_full(gid)? {
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

    /// Returns a person as the viewer knows them: the person if both share a workspace, else the invited user in one of the
    /// viewer's workspaces.
    fn acquainted(&mut self, person: Gid) -> Result<Option<Gid>, GraphStoreError> {
        let viewer = Arc::clone(&self.view.viewer);
        if self.load_full(person)? && self.level_of(person)? > Level::None {
            // An address never names a user who left; users who were only invited look the same.
            let seats = self.lookup_edges(person, rel::WORKSPACES)?;
            let is_here =
                |seat: &Edge| viewer.membership(seat.dst).is_some() || viewer.is_member(seat.dst);
            if person == viewer.user || seats.iter().any(is_here) {
                return Ok(Some(person));
            }
        }
        let memberships = viewer
            .memberships
            .iter()
            .map(|membership| membership.workspace);
        for workspace in memberships.chain(viewer.service_workspace) {
            let invited = self.snap.alias(&alias::invitation(person, workspace))?;
            let Some(invited) = invited else { continue };
            if self
                .snap
                .edge_between(invited, rel::WORKSPACES, workspace)?
                .is_some()
            {
                return Ok(Some(invited));
            }
        }
        Ok(None)
    }

    /// Reads the edges that the rules of the request need.
    pub(crate) fn rules(&mut self, want: &ReadQuery) -> Result<(), GraphStoreError> {
        for (at, rel) in &want.out {
            if let Some(gid) = self.found(*at) {
                self.band(gid, *rel, *rel, Depth::Head)?;
            }
        }
        for (at, rel, limit) in &want.incoming_edges {
            if let Some(gid) = self.found(*at) {
                self.ins(gid, *rel, *limit, Depth::Head)?;
            }
        }
        for edges in &want.on_days {
            if let (Some(gid), Some(of)) = (self.found(edges.node), self.found(edges.days_of)) {
                let node = self.view.nodes.get(&of);
                let day = |key| {
                    let day =
                        node.and_then(|node| Date::parse(node.raw(key)?.trim_matches('"')).ok());
                    day.map(|day| i64::from(day.days()))
                };
                if let [Some(first), Some(last)] = edges.keys.map(day) {
                    self.ins_between(gid, edges.rel, (first, last), edges.limit)?;
                }
            }
        }
        for (at, rel, ranks, limit) in &want.between {
            if let Some(gid) = self.found(*at) {
                self.ins_between(gid, *rel, *ranks, *limit)?;
            }
        }
        for (a, rel, b) in &want.linked {
            if let (Some(a), Some(b)) = (self.found(*a), self.found(*b))
                && !self.view.has_links(a, *rel)
            {
                let edge = self.snap.edge_between(a, *rel, b)?;
                self.view.singles.insert((a, *rel, b), edge);
            }
        }
        for at in &want.custom_fields_of {
            if let Some(gid) = self.found(*at) {
                let Some(node) = self.view.nodes.get(&gid).cloned() else {
                    continue;
                };
                if let Some(rel) = rel::to_field_containers(node.ty) {
                    self.band(gid, rel, rel, Depth::Edge)?;
                }
                self.fields((gid, node.ty), &mut BodyReader::new(&node.body))?;
            }
        }
        for (at, rel) in &want.counts {
            if let Some(gid) = self.found(*at) {
                let count = self.count_in(gid, *rel)?;
                self.view.counts.insert((gid, *rel), count);
            }
        }
        for (at, rel) in &want.reachable {
            if let Some(gid) = self.found(*at) {
                self.reachable(gid, *rel)?;
                self.view.followed.push((gid, *rel));
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
                self.level_of(gid)?;
                self.band(gid, rel::PARENT, rel::PARENT, Depth::Head)?;
                next = self.view.links(gid, rel::PARENT).first().map(|e| e.dst);
            }
        }
        Ok(())
    }

    /// Loads the edges of a relation from a node, and from all nodes that can be reached along them.
    fn reachable(&mut self, from: Gid, rel: Relation) -> Result<(), GraphStoreError> {
        let mut reached = vec![from];
        let mut seen = FxHashSet::from_iter([from]);
        let mut next = 0;
        while let Some(gid) = reached.get(next).copied().filter(|_| next < REACHED_MAX) {
            next += 1;
            self.steps(1)?;
            self.band(gid, rel, rel, Depth::Head)?;
            let links = self.view.links(gid, rel).iter().map(|edge| edge.dst);
            reached.extend(links.filter(|dst| seen.insert(*dst)));
        }
        Ok(())
    }

    /// Returns the number of levels of subtasks below a node.
    fn height(&mut self, gid: Gid) -> Result<usize, GraphStoreError> {
        let mut level = vec![gid];
        for height in 0..8 {
            let mut below = Vec::new();
            for gid in level {
                let before = below.len();
                all_in(self.snap, gid, rel::PARENT, &mut |e| below.push(e.src))?;
                let found = below.len() - before;
                self.steps(1 + found)?;
            }
            if below.is_empty() {
                return Ok(height);
            }
            level = below;
        }
        Ok(8)
    }
}
