//! Rendering of events: the nodes that have a change as an event, and the event in the words of the contract.
//!
//! Everything here is a pure function of a journal row. A story's event belongs to its task, a task's to its parents and their
//! projects, and every event of a workspace to the workspace. A removal is an event of the node that lost the other one.
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{FieldSource, Type, ValueType};
use crate::model::resources::resource;
use crate::storage::{ChangeAction, ChangeRecord, JournalEntry, NodeContext};

/// Event in the words of the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RenderedEvent {
    /// `added`, `removed`, `changed` or `deleted`.
    pub action: &'static str,
    /// Other node, for `added` and `removed`.
    pub parent: Option<Gid>,
    /// Changed field, for `changed`.
    pub change: Option<FieldChange>,
}

/// Change of one field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldChange {
    /// Name of the field.
    pub field: &'static str,
    /// `changed`, or `added` and `removed` for lists.
    pub action: &'static str,
    /// Node that is the new value, or that was added or removed.
    pub value: Option<Gid>,
}

/// Returns true if nodes of this type cease to exist when they are removed from their parents: the event is then `removed`
/// instead of `deleted`.
#[must_use]
pub fn ends_by_removal(ty: Type) -> bool {
    ty == Type::Story || is_membership(ty)
}

fn is_membership(ty: Type) -> bool {
    matches!(
        ty,
        Type::WorkspaceMembership
            | Type::TeamMembership
            | Type::ProjectMembership
            | Type::CustomFieldMembership
            | Type::PortfolioMembership
            | Type::GoalMembership
    )
}

impl JournalEntry {
    /// Returns the event of a change record; `None` if the record is not an event.
    #[must_use]
    pub fn render(&self, change: &ChangeRecord) -> Option<RenderedEvent> {
        let plain = |action, parent| RenderedEvent {
            action,
            parent,
            change: None,
        };
        Some(match change.action {
            // Only their creator sees jobs, and reads them by gid.
            _ if change.ty == Type::Job => return None,
            ChangeAction::Added { parent } => plain("added", parent),
            ChangeAction::Removed { parent } => plain("removed", Some(parent)),
            // The deletion of a comment is reported as its removal from the task.
            ChangeAction::Deleted if change.ty == Type::Story => return None,
            // The end of a membership is reported as its removal from the shared object.
            ChangeAction::Deleted if is_membership(change.ty) => {
                let about = self.context_of(change.gid);
                let shared = about.and_then(|about| about.containers.last());
                plain("removed", shared.copied())
            }
            ChangeAction::Deleted => plain("deleted", None),
            ChangeAction::Changed {
                field,
                added,
                removed,
            } => {
                let one = resource(change.ty)
                    .field(field)
                    // A changed custom field is named by its definition; the value is a different node.
                    .is_some_and(|d| {
                        matches!(d.value_type, ValueType::One(_))
                            || matches!(d.source, FieldSource::Values(_))
                    });
                let (action, value) = match (added, removed) {
                    (value, None) if one => ("changed", value),
                    (Some(value), _) => ("added", Some(value)),
                    (None, Some(value)) => ("removed", Some(value)),
                    (None, None) => ("changed", None),
                };
                RenderedEvent {
                    action: "changed",
                    parent: None,
                    change: Some(FieldChange {
                        field,
                        action,
                        value,
                    }),
                }
            }
        })
    }

    /// Returns the context of a node, if the commit has it.
    #[must_use]
    pub fn context_of(&self, gid: Gid) -> Option<&NodeContext> {
        self.node_contexts.iter().find(|n| n.gid == gid)
    }

    /// Returns true if a change record of this commit is an event of the node `at`.
    #[must_use]
    pub fn is_heard_at(&self, change: &ChangeRecord, at: Gid) -> bool {
        if change.gid == at {
            return true;
        }
        let parent = match change.action {
            ChangeAction::Added { parent } => parent,
            ChangeAction::Removed { parent } => Some(parent),
            _ => None,
        };
        self.leads(change.gid, at, 0)
            || parent.is_some_and(|gid| gid == at || self.leads(gid, at, 0))
    }

    /// Returns true if a node is in another, directly or not.
    fn leads(&self, from: Gid, to: Gid, depth: u8) -> bool {
        // Chains of parents are short; the depth limit ends a loop.
        let Some(about) = self.context_of(from).filter(|_| depth < 16) else {
            return false;
        };
        about
            .containers
            .iter()
            .any(|at| *at == to || self.leads(*at, to, depth + 1))
    }

    /// Returns a change record as a node of type [`Type::Event`] that has this gid and the fields of
    /// [`crate::model::resources::event`].
    #[must_use]
    pub fn event_node(&self, gid: Gid, change: &ChangeRecord, said: &RenderedEvent) -> Node {
        use std::fmt::Write;
        let link = |gid: Option<Gid>| gid.map_or_else(|| "null".to_owned(), |g| format!("\"{g}\""));
        let mut body = format!(
            "{{\"user\":{},\"resource\":\"{}\",\"type\":\"{}\",\"action\":\"{}\",\"parent\":{},\"created_at\":\"{}\"",
            link(self.actor),
            change.gid,
            resource(change.ty).name,
            said.action,
            link(said.parent),
            self.time
        );
        if let Some(field_change) = &said.change {
            let field = crate::model::node::json_string(field_change.field);
            // Writing to a String cannot fail.
            let _ = write!(
                body,
                ",\"change\":{{\"field\":{field},\"action\":\"{}\"",
                field_change.action
            );
            if let Some(value) = field_change.value {
                let name = match field_change.action {
                    "added" => "added_value",
                    "removed" => "removed_value",
                    _ => "new_value",
                };
                let _ = write!(body, ",\"{name}\":\"{value}\"");
            }
            body.push('}');
        }
        body.push('}');
        Node {
            gid,
            ty: Type::Event,
            workspace: None,
            version: 1,
            head: Box::default(),
            body: body.into(),
        }
    }
}

impl NodeContext {
    /// Returns the record of a deleted node, with only its gid and types.
    #[must_use]
    pub fn tombstone(&self) -> Node {
        let mut head = format!(
            "{{\"gid\":\"{}\",\"resource_type\":\"{}\"",
            self.gid,
            resource(self.ty).name
        );
        if let Some(subtype) = &self.subtype {
            head.push_str(",\"resource_subtype\":");
            head.push_str(&crate::model::node::json_string(subtype));
        }
        head.push('}');
        Node {
            gid: self.gid,
            ty: self.ty,
            workspace: None,
            version: Node::TOMBSTONE,
            head: head.into(),
            body: "{}".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::Time;

    fn gid(n: u64) -> Gid {
        Gid::new(n).unwrap()
    }

    fn about(n: u64, ty: Type, within: &[u64]) -> NodeContext {
        NodeContext {
            gid: gid(n),
            ty,
            subtype: None,
            containers: within.iter().map(|n| gid(*n)).collect(),
        }
    }

    fn event(change: ChangeRecord, nodes: Vec<NodeContext>) -> JournalEntry {
        JournalEntry {
            seq: 1,
            time: Time::from_millis(1_768_469_400_000),
            actor: Some(gid(2)),
            change_records: vec![change],
            node_contexts: nodes,
        }
    }

    #[test]
    fn a_comment_is_heard_in_its_task_the_parents_and_their_projects() {
        let change = ChangeRecord {
            gid: gid(50),
            ty: Type::Story,
            action: ChangeAction::Added {
                parent: Some(gid(40)),
            },
        };
        let nodes = vec![
            about(50, Type::Story, &[40]),
            about(40, Type::Task, &[1, 30]),
            about(30, Type::Task, &[1, 20]),
            about(20, Type::Project, &[]),
        ];
        let event = event(change.clone(), nodes);
        for at in [50, 40, 30, 20, 1] {
            assert!(event.is_heard_at(&change, gid(at)), "{at}");
        }
        assert!(!event.is_heard_at(&change, gid(21)));
    }

    #[test]
    fn a_removal_is_heard_where_the_node_was() {
        let change = ChangeRecord {
            gid: gid(40),
            ty: Type::Task,
            action: ChangeAction::Removed { parent: gid(20) },
        };
        let event = event(change.clone(), vec![about(40, Type::Task, &[1])]);
        assert!(event.is_heard_at(&change, gid(20)));
    }

    #[test]
    fn the_end_of_a_membership_is_its_removal_from_what_was_shared() {
        let ended = ChangeRecord {
            gid: gid(50),
            ty: Type::TeamMembership,
            action: ChangeAction::Deleted,
        };
        let event = event(
            ended.clone(),
            vec![about(50, Type::TeamMembership, &[1, 7])],
        );
        let said = event.render(&ended).unwrap();
        assert_eq!((said.action, said.parent), ("removed", Some(gid(7))));
    }

    #[test]
    fn a_link_field_is_changed_and_a_list_gains_and_loses() {
        let say = |field, added, removed| {
            let action = ChangeAction::Changed {
                field,
                added,
                removed,
            };
            let change = ChangeRecord {
                gid: gid(40),
                ty: Type::Task,
                action,
            };
            let event = event(change.clone(), Vec::new());
            event.render(&change).unwrap().change.unwrap()
        };
        let (to, none) = (Some(gid(2)), None);
        let change = |field, action, value| FieldChange {
            field,
            action,
            value,
        };
        assert_eq!(say("assignee", to, none), change("assignee", "changed", to));
        assert_eq!(
            say("assignee", none, none),
            change("assignee", "changed", none)
        );
        assert_eq!(say("followers", to, none), change("followers", "added", to));
        assert_eq!(
            say("followers", none, to),
            change("followers", "removed", to)
        );
        assert_eq!(say("name", none, none), change("name", "changed", none));
    }

    #[test]
    fn a_row_with_a_loop_ends() {
        let change = ChangeRecord {
            gid: gid(40),
            ty: Type::Task,
            action: ChangeAction::Deleted,
        };
        let event = event(change.clone(), vec![about(40, Type::Task, &[40, 40])]);
        assert!(!event.is_heard_at(&change, gid(9)));
    }
}
