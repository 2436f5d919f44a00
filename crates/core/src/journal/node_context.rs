//! Context of the nodes in a commit; the journal row keeps it so that events need no graph.
//!
//! The nodes that have a change as an event depend on the containers of the changed node at that time: a comment is an event
//! of its task, the task's parents and their projects. The graph changes later, so the containers are recorded in the
//! transaction of the commit. Edges of a new node are in the change set itself; only edges of older nodes are read.
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::json_members::member;
use crate::model::node::{Node, decode_json_string};
use crate::model::registry::{Relation, Type, rel};
use crate::model::resources::{custom_field_setting, membership, resource, section, status_update};
use crate::storage::snapshot::{Depth, Transaction};
use crate::storage::{ChangeAction, ChangeRecord, Changes, EdgeWrite, NodeContext};
use rustc_hash::FxHashMap;

/// Maximum length of a chain of parents that is followed.
const DEEPEST: u8 = 8;

/// Collects the contexts of the nodes of a commit.
pub(crate) struct ContextCollector<'c> {
    /// Nodes that are written, by gid.
    puts: FxHashMap<Gid, &'c Node>,
    /// New edges in the order of their sources.
    links: Vec<&'c EdgeWrite>,
    nodes: Vec<NodeContext>,
    /// Index of a node in `nodes`, and true if the node itself changed, false if it only contains a
    /// changed one.
    known: FxHashMap<Gid, (usize, bool)>,
}

impl<'c> ContextCollector<'c> {
    pub(crate) fn new(changes: &'c Changes) -> Self {
        let mut links: Vec<&EdgeWrite> = changes.edge_writes.iter().collect();
        links.sort_by_key(|l| l.src);
        Self {
            puts: changes
                .node_writes
                .iter()
                .map(|p| (p.node.gid, &p.node))
                .collect(),
            links,
            nodes: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// Returns the contexts that these change records need.
    pub(crate) fn finish(
        mut self,
        txn: &mut dyn Transaction,
        change_records: &[ChangeRecord],
    ) -> Result<Vec<NodeContext>, GraphStoreError> {
        for change in change_records {
            self.record_subject(txn, change.gid, change.ty)?;
            let mentioned = match change.action {
                ChangeAction::Added { parent } => [parent, None],
                ChangeAction::Removed { parent } => [Some(parent), None],
                ChangeAction::Changed { added, removed, .. } => [added, removed],
                ChangeAction::Deleted => [None, None],
            };
            for gid in mentioned.into_iter().flatten() {
                self.mention(txn, gid)?;
            }
        }
        Ok(self.nodes)
    }

    fn note(&mut self, about: NodeContext, subject: bool) {
        match self.known.get_mut(&about.gid) {
            Some((at, deep)) => {
                *deep |= subject;
                if let Some(known) = self.nodes.get_mut(*at) {
                    *known = about;
                }
            }
            None => {
                self.known.insert(about.gid, (self.nodes.len(), subject));
                self.nodes.push(about);
            }
        }
    }

    /// Records a changed node and all its containers. Must run before the node is trashed.
    pub(crate) fn record_subject(
        &mut self,
        txn: &mut dyn Transaction,
        gid: Gid,
        ty: Type,
    ) -> Result<(), GraphStoreError> {
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
                | Type::StatusUpdate
                | Type::PortfolioMembership
        ) || resource(ty).container.is_some();
        let read = match put {
            Some(_) => None,
            None if deep => txn.node(gid, Depth::Full)?,
            None => txn.node(gid, Depth::Head)?,
        };
        let node = put.or(read.as_deref());
        let mut within: Vec<Gid> = node.and_then(|n| n.workspace).into_iter().collect();
        if matches!(ty, Type::Story | Type::Attachment) {
            // The workspace is among the containers of the node's parent.
            within.clear();
        }
        let fresh = put.is_some_and(|n| n.version == 1);
        let places = self.places(txn, gid, ty, node, fresh)?;
        within.extend(places.iter().map(|(gid, _)| *gid));
        let about = NodeContext {
            gid,
            ty,
            subtype: node.and_then(subtype),
            containers: within,
        };
        self.note(about, true);
        for (gid, ty) in places {
            self.container(txn, gid, ty, 0)?;
        }
        Ok(())
    }

    /// Records a container of a changed node.
    fn container(
        &mut self,
        txn: &mut dyn Transaction,
        gid: Gid,
        ty: Type,
        depth: u8,
    ) -> Result<(), GraphStoreError> {
        if self.known.contains_key(&gid) || depth > DEEPEST {
            return Ok(());
        }
        let mut within = Vec::new();
        let mut places = Vec::new();
        if matches!(ty, Type::Task | Type::Goal) {
            // Edges of a new node are in the change set.
            let put = self.puts.get(&gid).copied();
            let fresh = put.is_some_and(|n| n.version == 1);
            let depth = match resource(ty).container {
                Some(_) => Depth::Full,
                None => Depth::Head,
            };
            let read = match put {
                Some(_) => None,
                None => txn.node(gid, depth)?,
            };
            let node = put.or(read.as_deref());
            within.extend(node.and_then(|n| n.workspace));
            places = self.places(txn, gid, ty, node, fresh)?;
            within.extend(places.iter().map(|(gid, _)| *gid));
        }
        let about = NodeContext {
            gid,
            ty,
            subtype: None,
            containers: within,
        };
        self.note(about, false);
        for (gid, ty) in places {
            self.container(txn, gid, ty, depth + 1)?;
        }
        Ok(())
    }

    /// Records a node that a change record names besides its own.
    fn mention(&mut self, txn: &mut dyn Transaction, gid: Gid) -> Result<(), GraphStoreError> {
        if self.known.contains_key(&gid) {
            return Ok(());
        }
        match self.type_of(txn, gid)? {
            // The task that lost a subtask is itself in projects.
            Some(Type::Task) => self.container(txn, gid, Type::Task, 0),
            Some(ty) => {
                let about = NodeContext {
                    gid,
                    ty,
                    subtype: None,
                    containers: Vec::new(),
                };
                self.note(about, false);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Returns the type of a node, after the change.
    fn type_of(
        &self,
        txn: &mut dyn Transaction,
        gid: Gid,
    ) -> Result<Option<Type>, GraphStoreError> {
        Ok(match self.puts.get(&gid) {
            Some(put) => Some(put.ty),
            None => txn.node(gid, Depth::Head)?.map(|n| n.ty),
        })
    }

    /// Returns the containers of a node besides its workspace, with their types.
    fn places(
        &self,
        txn: &mut dyn Transaction,
        gid: Gid,
        ty: Type,
        node: Option<&Node>,
        fresh: bool,
    ) -> Result<Vec<(Gid, Type)>, GraphStoreError> {
        let mut places = Vec::new();
        // A node with just one container names it in its body.
        let container = match ty {
            Type::Section => Some((section::PROJECT, Type::Project)),
            Type::ProjectMembership => Some((membership::PARENT, Type::Project)),
            Type::CustomFieldMembership => Some((membership::PARENT, Type::CustomField)),
            Type::CustomFieldSetting => Some((custom_field_setting::PARENT, Type::Project)),
            Type::TeamMembership => Some((membership::TEAM, Type::Team)),
            Type::PortfolioMembership => Some((membership::PARENT, Type::Portfolio)),
            Type::StatusUpdate => Some((status_update::PARENT, Type::Project)),
            _ => None,
        };
        if let Some((gid, usual)) = container.and_then(|(key, ty)| Some((node?.get(key)?, ty))) {
            let ty = match usual {
                // Sections, for example, may also belong to a task list.
                Type::Project => self.type_of(txn, gid)?.unwrap_or(usual),
                _ => usual,
            };
            places.push((gid, ty));
        }
        let container = resource(ty).container;
        if let Some(gid) = container.and_then(|key| node?.link(key))
            && let Some(ty) = self.type_of(txn, gid)?
        {
            places.push((gid, ty));
        }
        match ty {
            Type::Story | Type::Attachment => {
                let mut parents = Vec::new();
                let to_parent = match ty {
                    Type::Story => rel::STORY_OF,
                    _ => rel::ATTACHED_TO,
                };
                let run = (to_parent, to_parent);
                self.edges(txn, gid, run, fresh, &mut |_, dst, _| parents.push(dst))?;
                for parent in parents {
                    places.extend(self.type_of(txn, parent)?.map(|ty| (parent, ty)));
                }
            }
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
            Type::Project | Type::Portfolio => {
                for (rel, of) in [(rel::TEAM, Type::Team), (rel::ITEM_OF, Type::Portfolio)] {
                    self.edges(txn, gid, (rel, rel), fresh, &mut |_, dst, _| {
                        places.push((dst, of));
                    })?;
                }
            }
            _ => {}
        }
        Ok(places)
    }

    /// Calls `each` with the edges of a run of relations from a node, after the change.
    fn edges(
        &self,
        txn: &mut dyn Transaction,
        gid: Gid,
        (lo, hi): (Relation, Relation),
        fresh: bool,
        each: &mut dyn FnMut(Relation, Gid, Option<Gid>),
    ) -> Result<(), GraphStoreError> {
        if fresh {
            let from = self.links.partition_point(|l| l.src < gid);
            let own = self.links.iter().skip(from).take_while(|l| l.src == gid);
            for link in own.filter(|l| l.rel >= lo && l.rel <= hi) {
                each(link.rel, link.dst, link.aux);
            }
            return Ok(());
        }
        txn.edges_out(gid, lo, hi, Depth::Edge, &mut |edge, _| {
            each(edge.rel, edge.dst, edge.aux)
        })
    }
}

/// Returns the subtype in a node's head.
fn subtype(node: &Node) -> Option<Box<str>> {
    let raw = member(&node.head, "resource_subtype")?;
    Some(decode_json_string(raw).into())
}
