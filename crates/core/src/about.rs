//! What a commit's journal row says of the nodes in it, so that it can be told without the graph.
//!
//! Who hears of a change depends on what the node was in when it changed: a comment is heard in its
//! task, the task's parents and their projects. The graph moves on, so this is noted along, in the
//! transaction. A new node's edges are in the change set itself; only those of older nodes are read.
use crate::gid::Gid;
use crate::graph::{About, Action, Changes, Fact, Link, StoreError};
use crate::node::{Node, decode, entries};
use crate::registry::{Rel, Type, rel};
use crate::resources::{custom_field_setting, membership, section};
use crate::snapshot::{Depth, Transaction};
use rustc_hash::FxHashMap;

/// The deepest chain of parents that is followed.
const DEEPEST: u8 = 8;

/// Collects what is to be known.
pub(crate) struct Notes<'c> {
    /// What is written, by gid.
    puts: FxHashMap<Gid, &'c Node>,
    /// New edges in the order of their sources.
    links: Vec<&'c Link>,
    nodes: Vec<About>,
    /// Where in `nodes` a node is, and whether something happened to it rather than in it.
    known: FxHashMap<Gid, (usize, bool)>,
}

impl<'c> Notes<'c> {
    pub(crate) fn new(changes: &'c Changes) -> Self {
        let mut links: Vec<&Link> = changes.links.iter().collect();
        links.sort_by_key(|l| l.src);
        Self {
            puts: changes.puts.iter().map(|p| (p.node.gid, &p.node)).collect(),
            links,
            nodes: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// What was collected for these facts.
    pub(crate) fn finish(
        mut self,
        txn: &mut dyn Transaction,
        facts: &[Fact],
    ) -> Result<Vec<About>, StoreError> {
        for fact in facts {
            self.subject(txn, fact.gid, fact.ty)?;
            let mentioned = match fact.action {
                Action::Added { parent } => [parent, None],
                Action::Removed { parent } => [Some(parent), None],
                Action::Changed { added, removed, .. } => [added, removed],
                Action::Deleted => [None, None],
            };
            for gid in mentioned.into_iter().flatten() {
                self.mention(txn, gid)?;
            }
        }
        Ok(self.nodes)
    }

    fn note(&mut self, about: About, subject: bool) {
        match self.known.get_mut(&about.gid) {
            Some((at, deep)) => {
                *deep |= subject;
                if let Some(held) = self.nodes.get_mut(*at) {
                    *held = about;
                }
            }
            None => {
                self.known.insert(about.gid, (self.nodes.len(), subject));
                self.nodes.push(about);
            }
        }
    }

    /// Notes a node that something happened to, and all it is in. Before it is trashed, if it is.
    pub(crate) fn subject(
        &mut self,
        txn: &mut dyn Transaction,
        gid: Gid,
        ty: Type,
    ) -> Result<(), StoreError> {
        if self.known.get(&gid).is_some_and(|(_, subject)| *subject) {
            return Ok(());
        }
        let put = self.puts.get(&gid).copied();
        let deep = matches!(
            ty,
            Type::Section
                | Type::TeamMembership
                | Type::ProjectMembership
                | Type::CustomFieldMembership
                | Type::CustomFieldSetting
        );
        let read = match put {
            Some(_) => None,
            None if deep => txn.node(gid, Depth::Full)?,
            None => txn.node(gid, Depth::Head)?,
        };
        let node = put.or(read.as_deref());
        let mut within: Vec<Gid> = node.and_then(|n| n.home).into_iter().collect();
        if ty == Type::Story {
            // Its task brings the workspace along.
            within.clear();
        }
        let fresh = put.is_some_and(|n| n.version == 1);
        let places = self.places(txn, gid, ty, node, fresh)?;
        within.extend(places.iter().map(|(gid, _)| *gid));
        let about = About {
            gid,
            ty,
            subtype: node.and_then(subtype),
            within,
        };
        self.note(about, true);
        for (gid, ty) in places {
            self.container(txn, gid, ty, 0)?;
        }
        Ok(())
    }

    /// Notes what holds a node that something happened to.
    fn container(
        &mut self,
        txn: &mut dyn Transaction,
        gid: Gid,
        ty: Type,
        depth: u8,
    ) -> Result<(), StoreError> {
        if self.known.contains_key(&gid) || depth > DEEPEST {
            return Ok(());
        }
        let mut within = Vec::new();
        let mut places = Vec::new();
        if ty == Type::Task {
            // A new task's edges are in the change set.
            let put = self.puts.get(&gid).copied();
            let fresh = put.is_some_and(|n| n.version == 1);
            let read = match put {
                Some(_) => None,
                None => txn.node(gid, Depth::Head)?,
            };
            within.extend(put.or(read.as_deref()).and_then(|n| n.home));
            places = self.places(txn, gid, ty, None, fresh)?;
            within.extend(places.iter().map(|(gid, _)| *gid));
        }
        let about = About {
            gid,
            ty,
            subtype: None,
            within,
        };
        self.note(about, false);
        for (gid, ty) in places {
            self.container(txn, gid, ty, depth + 1)?;
        }
        Ok(())
    }

    /// Notes a node that a fact names beside its own.
    fn mention(&mut self, txn: &mut dyn Transaction, gid: Gid) -> Result<(), StoreError> {
        if self.known.contains_key(&gid) {
            return Ok(());
        }
        match self.type_of(txn, gid)? {
            // What a subtask was taken out of is in projects itself.
            Some(Type::Task) => self.container(txn, gid, Type::Task, 0),
            Some(ty) => {
                let about = About {
                    gid,
                    ty,
                    subtype: None,
                    within: Vec::new(),
                };
                self.note(about, false);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The type of a node, after the change.
    fn type_of(&self, txn: &mut dyn Transaction, gid: Gid) -> Result<Option<Type>, StoreError> {
        Ok(match self.puts.get(&gid) {
            Some(put) => Some(put.ty),
            None => txn.node(gid, Depth::Head)?.map(|n| n.ty),
        })
    }

    /// What a node is in, besides its workspace, and the types of that.
    fn places(
        &self,
        txn: &mut dyn Transaction,
        gid: Gid,
        ty: Type,
        node: Option<&Node>,
        fresh: bool,
    ) -> Result<Vec<(Gid, Type)>, StoreError> {
        let mut places = Vec::new();
        // What is in one thing only keeps it in its body.
        let held = match ty {
            Type::Section => Some((section::PROJECT, Type::Project)),
            Type::ProjectMembership => Some((membership::PARENT, Type::Project)),
            Type::CustomFieldMembership => Some((membership::PARENT, Type::CustomField)),
            Type::CustomFieldSetting => Some((custom_field_setting::PARENT, Type::Project)),
            Type::TeamMembership => Some((membership::TEAM, Type::Team)),
            _ => None,
        };
        if let Some((gid, usual)) = held.and_then(|(key, ty)| Some((node?.get(key)?, ty))) {
            let ty = match usual {
                // What makes up a project also makes up a task list.
                Type::Project => self.type_of(txn, gid)?.unwrap_or(usual),
                _ => usual,
            };
            places.push((gid, ty));
        }
        match ty {
            Type::Story => self.edges(
                txn,
                gid,
                (rel::STORY_OF, rel::STORY_OF),
                fresh,
                &mut |_, dst, _| {
                    places.push((dst, Type::Task));
                },
            )?,
            Type::Task => self.edges(
                txn,
                gid,
                (rel::SECTION, rel::PARENT),
                fresh,
                &mut |rel, dst, aux| match (rel, aux) {
                    (rel::SECTION, Some(project)) => places.push((project, Type::Project)),
                    (rel::PARENT, _) => places.push((dst, Type::Task)),
                    _ => {}
                },
            )?,
            Type::Project => {
                self.edges(txn, gid, (rel::TEAM, rel::TEAM), fresh, &mut |_, dst, _| {
                    places.push((dst, Type::Team));
                })?
            }
            _ => {}
        }
        Ok(places)
    }

    /// The edges of a run of relations from a node, after the change.
    fn edges(
        &self,
        txn: &mut dyn Transaction,
        gid: Gid,
        (lo, hi): (Rel, Rel),
        fresh: bool,
        each: &mut dyn FnMut(Rel, Gid, Option<Gid>),
    ) -> Result<(), StoreError> {
        if fresh {
            let from = self.links.partition_point(|l| l.src < gid);
            let own = self.links.iter().skip(from).take_while(|l| l.src == gid);
            for link in own.filter(|l| l.rel >= lo && l.rel <= hi) {
                each(link.rel, link.dst, link.aux);
            }
            return Ok(());
        }
        txn.out(gid, lo, hi, Depth::Edge, &mut |edge, _| {
            each(edge.rel, edge.dst, edge.aux)
        })
    }
}

/// The subtype that a node's head carries.
fn subtype(node: &Node) -> Option<Box<str>> {
    let mut parts = entries(&node.head);
    let raw = parts.find(|(k, _)| *k == "resource_subtype")?.1;
    Some(decode(raw).into())
}
