//! The audit log: who did what that those who answer for a workspace should know of.
//!
//! Rows follow from what a commit changes ([`derive`]), so an act and its row are one commit and no
//! act can be without. Acts outside the graph (signing in, tokens, apps) are told by whoever keeps
//! them, by [`row`], in their transaction. What a row says is fixed when it is written: names are
//! those of then.
mod acting;
mod derive;
pub mod kind;
mod write;

pub use acting::{Acting, Actor, ActorType, Channel, Method};
pub(crate) use derive::Auditor;
pub use derive::tells;
pub use kind::Kind;
pub use write::row;

use crate::gid::{Gid, LAST_NODE};
use crate::node::quoted;
use crate::time::Time;

/// Something to be recorded: what happened to what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// What happened.
    pub kind: Kind,
    /// The workspace in whose log it stands.
    pub home: Gid,
    /// The node it happened to.
    pub resource: Gid,
    /// What was before, for events that have such a thing.
    pub old: Option<String>,
    /// What is after.
    pub new: Option<String>,
}

impl Told {
    /// Something that happened to a node of a workspace.
    #[must_use]
    pub const fn new(kind: Kind, home: Gid, resource: Gid) -> Self {
        Self {
            kind,
            home,
            resource,
            old: None,
            new: None,
        }
    }

    /// With what was before and what is after.
    #[must_use]
    pub fn details(mut self, old: Option<String>, new: Option<String>) -> Self {
        (self.old, self.new) = (old, new);
        self
    }
}

/// A row of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its gid, greater than that of the row before.
    pub gid: Gid,
    /// When it was written: never before the row before it, so that the log is in order of time.
    pub at: Time,
    /// The workspace.
    pub home: Gid,
    /// What happened.
    pub kind: Kind,
    /// What kind of actor did it.
    pub actor_type: ActorType,
    /// Who did it, if that is anybody.
    pub actor: Option<Gid>,
    /// The node it happened to.
    pub resource: Gid,
    /// Actor, resource, details and context, as members of the record.
    pub body: Box<str>,
}

/// The first gid of the rows of a millisecond: those of the last node, so that no mint gives them.
fn first_gid(at: Time) -> Gid {
    let first = Gid::first_of(u64::try_from(at.millis()).unwrap_or(0));
    Gid::new(first.get() | LAST_NODE << 8).unwrap_or(first)
}

impl Row {
    /// Puts the row after the last one of the log, if that has any: its gid and time.
    #[must_use]
    pub fn after(mut self, last: Option<(Gid, Time)>) -> Self {
        if let Some((gid, at)) = last {
            self.at = self.at.max(at);
            self.gid = first_gid(self.at).max(Gid::new(gid.get() + 1).unwrap_or(gid));
        }
        self
    }

    /// The bytes that the row's digest covers: see [`content`].
    #[must_use]
    pub fn content(&self) -> Vec<u8> {
        let numbers = [
            self.gid.as_i64(),
            self.at.millis(),
            self.home.as_i64(),
            i64::from(self.kind.code),
            i64::from(self.actor_type as u8),
            self.resource.as_i64(),
        ];
        content(numbers, self.actor.map(Gid::as_i64), &self.body)
    }

    /// The row as clients get it.
    #[must_use]
    pub fn record(&self) -> String {
        format!(
            "{{\"gid\":\"{}\",\"created_at\":\"{}\",\"event_type\":{},\"event_category\":{},{}}}",
            self.gid,
            self.at,
            quoted(self.kind.name),
            quoted(self.kind.category.name()),
            self.body
        )
    }
}

/// The bytes that a row's digest covers: every part of it, each of a fixed length but the last. The
/// numbers are gid, time, workspace, kind, type of actor and resource, whatever they are: who looks
/// for tampering has to take them as they stand there.
#[must_use]
pub fn content(numbers: [i64; 6], actor: Option<i64>, body: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + body.len());
    let actor = [i64::from(actor.is_some()), actor.unwrap_or(0)];
    for number in numbers.into_iter().chain(actor) {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(body.as_bytes());
    out
}

/// Asks for rows of a workspace, in their order. Conditions that are none hold for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask {
    /// The workspace.
    pub home: Gid,
    /// Not before this.
    pub start: Option<Time>,
    /// Before this.
    pub end: Option<Time>,
    /// Of this kind.
    pub kind: Option<Kind>,
    /// By actors of this type.
    pub actor_type: Option<ActorType>,
    /// By this actor.
    pub actor: Option<Gid>,
    /// About this node.
    pub resource: Option<Gid>,
    /// Only rows with a greater gid.
    pub after: Option<Gid>,
    /// How many at most.
    pub limit: usize,
}

impl Ask {
    /// Everything of a workspace, so many rows at most.
    #[must_use]
    pub const fn all(home: Gid, limit: usize) -> Self {
        Self {
            home,
            start: None,
            end: None,
            kind: None,
            actor_type: None,
            actor: None,
            resource: None,
            after: None,
            limit,
        }
    }

    /// Whether a row is asked for, the limit aside.
    #[must_use]
    pub fn fits(&self, row: &Row) -> bool {
        row.home == self.home
            && self.start.is_none_or(|start| row.at >= start)
            && self.end.is_none_or(|end| row.at < end)
            && self.kind.is_none_or(|kind| row.kind == kind)
            && self.actor_type.is_none_or(|ty| row.actor_type == ty)
            && self.actor.is_none_or(|actor| row.actor == Some(actor))
            && self
                .resource
                .is_none_or(|resource| row.resource == resource)
            && self.after.is_none_or(|after| row.gid > after)
    }
}

#[cfg(test)]
mod tests;
