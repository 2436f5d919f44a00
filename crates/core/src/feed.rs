//! Feeds: who hears of what happened, and in which words.
//!
//! Everything here is a pure function of a journal row. A story is heard in its task, a task in its
//! parents and in their projects, all of a workspace in the workspace; taking something out is heard
//! where it was taken out of.
use crate::gid::Gid;
use crate::graph::{About, Action, Event, Fact};
use crate::node::Node;
use crate::registry::{Shape, Source, Type};
use crate::resources::resource;

/// What happened, in the contract's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Said {
    /// `added`, `removed`, `changed` or `deleted`.
    pub action: &'static str,
    /// For `added` and `removed`: the other node.
    pub parent: Option<Gid>,
    /// For `changed`: what changed.
    pub change: Option<Change>,
}

/// What changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The field.
    pub field: &'static str,
    /// `changed`, or `added` and `removed` for lists.
    pub action: &'static str,
    /// The node that is the new value, or that was added or removed.
    pub value: Option<Gid>,
}

/// What a fact says; none if it is not told.
#[must_use]
pub fn said(fact: &Fact) -> Option<Said> {
    let plain = |action, parent| Said {
        action,
        parent,
        change: None,
    };
    Some(match fact.action {
        // Jobs are their owner's alone, who asks for them by gid.
        _ if fact.ty == Type::Job => return None,
        Action::Added { parent } => plain("added", parent),
        Action::Removed { parent } => plain("removed", Some(parent)),
        // The end of a comment is told as its removal from the task.
        Action::Deleted if fact.ty == Type::Story => return None,
        Action::Deleted => plain("deleted", None),
        Action::Changed {
            field,
            added,
            removed,
        } => {
            let one = resource(fact.ty)
                .field(field)
                // A custom field that is named has another value.
                .is_some_and(|d| {
                    matches!(d.shape, Shape::One(_)) || matches!(d.source, Source::Values(_))
                });
            let (action, value) = match (added, removed) {
                (value, None) if one => ("changed", value),
                (Some(value), _) => ("added", Some(value)),
                (None, Some(value)) => ("removed", Some(value)),
                (None, None) => ("changed", None),
            };
            Said {
                action: "changed",
                parent: None,
                change: Some(Change {
                    field,
                    action,
                    value,
                }),
            }
        }
    })
}

impl Event {
    /// What is known of a node.
    #[must_use]
    pub fn about(&self, gid: Gid) -> Option<&About> {
        self.nodes.iter().find(|n| n.gid == gid)
    }

    /// Whether a fact of this commit is heard at a node.
    #[must_use]
    pub fn reaches(&self, fact: &Fact, at: Gid) -> bool {
        if fact.gid == at {
            return true;
        }
        let parent = match fact.action {
            Action::Added { parent } => parent,
            Action::Removed { parent } => Some(parent),
            _ => None,
        };
        self.leads(fact.gid, at, 0) || parent.is_some_and(|gid| gid == at || self.leads(gid, at, 0))
    }

    /// Whether a node is in another, directly or not.
    fn leads(&self, from: Gid, to: Gid, depth: u8) -> bool {
        // Parents go a few levels deep; a loop would have none of its own to end it.
        let Some(about) = self.about(from).filter(|_| depth < 16) else {
            return false;
        };
        about
            .within
            .iter()
            .any(|at| *at == to || self.leads(*at, to, depth + 1))
    }

    /// A fact as a node of type [`Type::Event`] with this gid, for the fields of
    /// [`crate::resources::event`].
    #[must_use]
    pub fn record(&self, gid: Gid, fact: &Fact, said: &Said) -> Node {
        use std::fmt::Write;
        let link = |gid: Option<Gid>| gid.map_or_else(|| "null".to_owned(), |g| format!("\"{g}\""));
        let mut body = format!(
            "{{\"user\":{},\"resource\":\"{}\",\"type\":\"{}\",\"action\":\"{}\",\"parent\":{},\"created_at\":\"{}\"",
            link(self.actor),
            fact.gid,
            resource(fact.ty).name,
            said.action,
            link(said.parent),
            self.at
        );
        if let Some(change) = &said.change {
            let field = crate::node::quoted(change.field);
            // Writing to a String cannot fail.
            let _ = write!(
                body,
                ",\"change\":{{\"field\":{field},\"action\":\"{}\"",
                change.action
            );
            if let Some(value) = change.value {
                let name = match change.action {
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
            home: None,
            version: 1,
            head: Box::default(),
            body: body.into(),
        }
    }
}

impl About {
    /// What is left to show of a node that is gone: gid and types.
    #[must_use]
    pub fn remains(&self) -> Node {
        let mut head = format!(
            "{{\"gid\":\"{}\",\"resource_type\":\"{}\"",
            self.gid,
            resource(self.ty).name
        );
        if let Some(subtype) = &self.subtype {
            head.push_str(",\"resource_subtype\":");
            head.push_str(&crate::node::quoted(subtype));
        }
        head.push('}');
        Node {
            gid: self.gid,
            ty: self.ty,
            home: None,
            version: 1,
            head: head.into(),
            body: "{}".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn gid(n: u64) -> Gid {
        Gid::new(n).unwrap()
    }

    fn about(n: u64, ty: Type, within: &[u64]) -> About {
        About {
            gid: gid(n),
            ty,
            subtype: None,
            within: within.iter().map(|n| gid(*n)).collect(),
        }
    }

    fn event(fact: Fact, nodes: Vec<About>) -> Event {
        Event {
            seq: 1,
            at: Time::from_millis(1_768_469_400_000),
            actor: Some(gid(2)),
            facts: vec![fact],
            nodes,
        }
    }

    #[test]
    fn a_comment_is_heard_in_its_task_the_parents_and_their_projects() {
        let fact = Fact {
            gid: gid(50),
            ty: Type::Story,
            action: Action::Added {
                parent: Some(gid(40)),
            },
        };
        let nodes = vec![
            about(50, Type::Story, &[40]),
            about(40, Type::Task, &[1, 30]),
            about(30, Type::Task, &[1, 20]),
            about(20, Type::Project, &[]),
        ];
        let event = event(fact.clone(), nodes);
        for at in [50, 40, 30, 20, 1] {
            assert!(event.reaches(&fact, gid(at)), "{at}");
        }
        assert!(!event.reaches(&fact, gid(21)));
    }

    #[test]
    fn a_removal_is_heard_where_the_node_was() {
        let fact = Fact {
            gid: gid(40),
            ty: Type::Task,
            action: Action::Removed { parent: gid(20) },
        };
        let event = event(fact.clone(), vec![about(40, Type::Task, &[1])]);
        assert!(event.reaches(&fact, gid(20)));
    }

    #[test]
    fn a_link_field_is_changed_and_a_list_gains_and_loses() {
        let say = |field, added, removed| {
            let action = Action::Changed {
                field,
                added,
                removed,
            };
            let fact = Fact {
                gid: gid(40),
                ty: Type::Task,
                action,
            };
            said(&fact).unwrap().change.unwrap()
        };
        let (to, none) = (Some(gid(2)), None);
        let change = |field, action, value| Change {
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
        let fact = Fact {
            gid: gid(40),
            ty: Type::Task,
            action: Action::Deleted,
        };
        let event = event(fact.clone(), vec![about(40, Type::Task, &[40, 40])]);
        assert!(!event.reaches(&fact, gid(9)));
    }
}
