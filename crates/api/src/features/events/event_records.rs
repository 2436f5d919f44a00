//! Events as records, as far as the viewer may know of their objects.
use super::positioned_event::PositionedEvent;
use crate::error::ApiError;
use crate::execute::load_view::load;
use crate::state::Api;
use std::collections::HashSet;
use std::sync::Arc;
use workgraph_core::access::{Level, level_on_container};
use workgraph_core::model::gid::GID_END;
use workgraph_core::model::registry::Type;
use workgraph_core::plan::Plan;
use workgraph_core::storage::{JournalEntry, NodeRef, ReadQuery, ReadView};
use workgraph_core::{Gid, Node};

/// Maximum number of containers of deleted nodes that are followed one after the other, which ends a loop.
const CONTAINERS_FOLLOWED: u8 = 16;

/// Events as records, with everything that a plan reads to show them.
pub(crate) struct EventRecords {
    pub(crate) view: ReadView,
    pub(crate) gids: Vec<Gid>,
}

impl EventRecords {
    /// Reads the objects of the events. Events about objects that the viewer may no longer see are left out,
    /// unless they report that the object was removed from here. For deleted objects that the viewer saw, gid and type remain;
    /// events about other deleted objects are left out.
    pub(crate) async fn load(
        api: &Api,
        mut want: ReadQuery,
        at: Gid,
        some: &[PositionedEvent<'_>],
        plan: &Arc<Plan>,
    ) -> Result<Self, ApiError> {
        let mut gids = Vec::with_capacity(some.len());
        for (i, positioned) in some.iter().enumerate() {
            // This gid is above all existing ones, because these nodes are not stored.
            let gid = Gid::new(GID_END - 1 - i as u64).unwrap_or(at);
            let record = positioned
                .event
                .event_node(gid, positioned.change, &positioned.summary);
            want.external_nodes
                .push((Arc::new(record), Arc::clone(plan)));
            gids.push(gid);
        }
        // The contexts include the containers that decide who saw a deleted object.
        let contexts = some.iter().flat_map(|t| &t.event.node_contexts);
        let mut known: HashSet<Gid> = contexts.map(|about| about.gid).collect();
        known.extend(some.iter().map(|t| t.change.gid));
        want.node_refs.extend(known.into_iter().map(NodeRef::Gid));
        let mut view = load(api, &want).await?;
        let (mut gone, mut shown) = (Vec::new(), Vec::with_capacity(gids.len()));
        for (gid, positioned) in gids.into_iter().zip(some) {
            let past = PastAccess {
                view: &view,
                event: positioned.event,
                at,
            };
            if past.shows(positioned, &mut gone) {
                shown.push(gid);
            }
        }
        for node in gone {
            view = view.with_node(node, Level::Viewer);
        }
        Ok(Self { view, gids: shown })
    }
}

/// Access that the viewer had to the nodes of a commit, as far as their remaining containers show it.
struct PastAccess<'v> {
    view: &'v ReadView,
    event: &'v JournalEntry,
    /// The watched object.
    at: Gid,
}

impl PastAccess<'_> {
    /// Returns true if the viewer gets an event. Adds the tombstones that its record needs.
    fn shows(&self, positioned: &PositionedEvent<'_>, gone: &mut Vec<Node>) -> bool {
        let (subject, said) = (positioned.change.gid, &positioned.summary);
        let value = said.change.and_then(|change| change.value);
        for mentioned in [said.parent, value].into_iter().flatten() {
            if self.is_deleted(mentioned) && self.was_visible(mentioned, 0) {
                gone.extend(self.tombstone(mentioned));
            }
        }
        if self.is_deleted(subject) {
            let was_visible = self.was_visible(subject, 0);
            if was_visible {
                gone.extend(self.tombstone(subject));
            }
            return was_visible;
        }
        if self.view.level(subject) > Level::None {
            return true;
        }
        // Deleting a task also deletes its stories; they have no separate entries in the trash.
        let is_orphan = positioned.change.ty == Type::Story
            && self.containers(subject).any(|gid| self.is_deleted(gid));
        // The viewer saw the removal of these objects, but may not see their later state.
        let is_removed_here = said.parent == Some(self.at) && said.action == "removed";
        let was_visible = is_orphan && self.was_visible(subject, 0)
            || is_removed_here && self.saw_parts(self.at, positioned.change.ty, 0);
        if was_visible {
            gone.extend(self.tombstone(subject));
        }
        was_visible
    }

    fn is_deleted(&self, gid: Gid) -> bool {
        self.view.node(gid).is_none() && self.view.resolve(&NodeRef::Gid(gid)).is_none()
    }

    fn tombstone(&self, gid: Gid) -> Option<Node> {
        let about = self.event.context_of(gid);
        about.map(|about| about.tombstone())
    }

    fn containers(&self, gid: Gid) -> impl Iterator<Item = Gid> {
        let about = self.event.context_of(gid).into_iter();
        about.flat_map(|about| about.containers.iter().copied())
    }

    /// Returns true if the viewer saw a deleted node: it is the watched object, or part of an object that shows it. Who saw an
    /// object with its own privacy is no longer known; full members of the workspace learn of it, and guests do not.
    fn was_visible(&self, gid: Gid, depth: u8) -> bool {
        let Some(about) = self.event.context_of(gid) else {
            return false;
        };
        gid == self.at
            || self.is_full_member()
                && (level_on_container(about.ty).is_none() || about.containers.is_empty())
            || about
                .containers
                .iter()
                .any(|container| self.saw_parts(*container, about.ty, depth))
    }

    /// Returns true if the viewer sees, or saw, the parts of a container that have this type.
    fn saw_parts(&self, container: Gid, ty: Type, depth: u8) -> bool {
        let viewer = &self.view.viewer;
        let Some(needed) = level_on_container(ty) else {
            return self.is_full_member();
        };
        if viewer.service_workspace == Some(container) {
            return true;
        }
        // A workspace shows nobody its parts.
        if viewer.membership(container).is_some() || depth > CONTAINERS_FOLLOWED {
            return false;
        }
        match self.is_deleted(container) {
            true => self.was_visible(container, depth + 1),
            false => self.view.level(container) >= needed,
        }
    }

    /// Returns true if the viewer is a full member of the workspace of the commit.
    fn is_full_member(&self) -> bool {
        let viewer = &self.view.viewer;
        let mut containers = (self.event.node_contexts.iter()).flat_map(|about| &about.containers);
        containers.any(|container| viewer.is_member(*container))
    }
}
