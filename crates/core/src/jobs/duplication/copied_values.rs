//! Followers and custom field values of a copy. People who have left the workspace, and objects that the requester does not
//! see, stay behind.
use super::copier::Copier;
use crate::access::Level;
use crate::model::custom_field_values::{gid_list, linked, stored_values};
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{CustomFieldType, rel};
use crate::model::resources::{custom_field, task};
use crate::storage::custom_field_view::field_containers;

impl Copier<'_> {
    /// Returns the followers of an original who are still in its workspace, with the ranks of their edges.
    pub(super) fn followers(&self, old: &Node) -> Vec<(Gid, i64)> {
        let mut followers: Vec<(Gid, i64)> = Vec::new();
        for edge in self.view.links(old.gid, rel::FOLLOWERS) {
            let user = self.view.heir(edge.dst);
            let is_new = !followers.iter().any(|(follower, _)| *follower == user);
            if is_new && self.is_member(old, user) {
                followers.push((user, edge.rank));
            }
        }
        followers
    }

    /// Returns the custom field values that a copy takes over: values of the fields of its own `projects`, which are named
    /// by their originals, and of the requester's task list if the copy is assigned to the requester.
    pub(super) fn values(
        &self,
        old: &Node,
        projects: &[Gid],
        is_own: bool,
    ) -> Vec<(Gid, Option<String>)> {
        let view = self.view;
        let mut containers: Vec<Gid> = projects.to_vec();
        if is_own {
            let lists = view.viewer.memberships.iter().filter_map(|m| m.task_list);
            let lists: Vec<Gid> = lists.collect();
            let all = field_containers(view, old.gid, old.ty);
            containers.extend(all.filter(|container| lists.contains(container)));
        }
        let applies = |field: Gid| {
            let on = |container: &Gid| {
                let settings = view.sources(*container, rel::FIELD_ON);
                settings.iter().any(|edge| edge.src == field)
            };
            view.level(field) > Level::None && containers.iter().any(on)
        };
        let values = old.raw(task::CUSTOM_FIELDS.def.name).map(stored_values);
        let values = values.into_iter().flatten();
        let values = values.filter(|(field, _)| applies(*field));
        let copied = values.filter_map(|(field, value)| {
            let kind = custom_field::kind(view.head(field)?);
            Some((field, Some(self.value(old, kind, value)?)))
        });
        copied.collect()
    }

    /// Returns the copy of a stored value; `None` if nothing of it is copied.
    fn value(&self, old: &Node, kind: CustomFieldType, value: &str) -> Option<String> {
        let is_copied = |gid: Gid| match kind {
            CustomFieldType::People => self.is_member(old, gid),
            _ => self.view.level(gid) > Level::None,
        };
        match kind {
            CustomFieldType::People | CustomFieldType::Reference => {
                let mut gids: Vec<Gid> = Vec::new();
                for gid in linked(kind, value).map(|gid| self.view.heir(gid)) {
                    if is_copied(gid) && !gids.contains(&gid) {
                        gids.push(gid);
                    }
                }
                (!gids.is_empty()).then(|| gid_list(gids.into_iter()))
            }
            _ => Some(value.to_owned()),
        }
    }

    /// Returns true if a user is in the workspace of an original.
    pub(super) fn is_member(&self, old: &Node, user: Gid) -> bool {
        let workspace = old.workspace.unwrap_or(old.gid);
        self.view.link(user, rel::WORKSPACES, workspace).is_some()
    }
}
