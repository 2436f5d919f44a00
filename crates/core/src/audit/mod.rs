//! Audit log: acts in a workspace that its administrators should know about, with their actors.
//!
//! Rows follow from the changes of a commit ([`crate::engine::has_audit_rows`]), so an act and its row are one commit, and every
//! such act has a row. Acts outside the graph (sign-in, tokens, apps) are recorded by the stores that keep them, with
//! [`crate::engine::build_row`], in their own transaction. A row never changes: it keeps the names from when it was written.
mod actor_context;
pub mod event_kinds;

pub use actor_context::{ActorContext, ActorType, AuditActor, AuditChannel, AuthMethod};
pub use event_kinds::AuditEventKind;

use crate::model::gid::{Gid, RESERVED_NODE};
use crate::model::node::json_string;
use crate::model::time::Time;

/// Act to be recorded: an event kind and the node it happened to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditEntry {
    /// Kind of the event.
    pub kind: AuditEventKind,
    /// Workspace to whose log the row belongs.
    pub workspace: Gid,
    /// Node that the event is about.
    pub resource: Gid,
    /// Value before the event, for kinds that change one.
    pub old: Option<String>,
    /// Value after the event.
    pub new: Option<String>,
}

impl AuditEntry {
    /// Creates an entry without old and new value, about a node of a workspace.
    #[must_use]
    pub const fn new(kind: AuditEventKind, workspace: Gid, resource: Gid) -> Self {
        Self {
            kind,
            workspace,
            resource,
            old: None,
            new: None,
        }
    }

    /// Sets the values before and after the event.
    #[must_use]
    pub fn details(mut self, old: Option<String>, new: Option<String>) -> Self {
        (self.old, self.new) = (old, new);
        self
    }
}

/// Row of the audit log: an act, its actor and its object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditRow {
    /// Gid of the row, greater than the gid of the row before.
    pub gid: Gid,
    /// Time of writing, never earlier than the time of the row before, so the log is in order of time.
    pub time: Time,
    /// Workspace to whose log the row belongs.
    pub workspace: Gid,
    /// Kind of the event.
    pub kind: AuditEventKind,
    /// Type of the actor.
    pub actor_type: ActorType,
    /// User or service account that acted, if it was one.
    pub actor: Option<Gid>,
    /// Node that the act is about.
    pub resource: Gid,
    /// Actor, resource, details and context, as JSON members of the record.
    pub body: Box<str>,
}

/// Returns the first gid for rows of a millisecond. It has the reserved node number, so that no gid
/// generator makes the same one.
pub(crate) fn first_gid(at: Time) -> Gid {
    let first = Gid::first_of(u64::try_from(at.millis()).unwrap_or(0));
    Gid::new(first.get() | RESERVED_NODE << 8).unwrap_or(first)
}

impl AuditRow {
    /// Returns the row with the gid and time that follow `last`, the gid and time of the log's last row.
    #[must_use]
    pub fn appended_after(mut self, last: Option<(Gid, Time)>) -> Self {
        if let Some((gid, at)) = last {
            self.time = self.time.max(at);
            self.gid = first_gid(self.time).max(Gid::new(gid.get() + 1).unwrap_or(gid));
        }
        self
    }

    /// Returns the bytes that the row's digest covers: see [`digest_input`].
    #[must_use]
    pub fn digest_input(&self) -> Vec<u8> {
        let numbers = [
            self.gid.as_i64(),
            self.time.millis(),
            self.workspace.as_i64(),
            i64::from(self.kind.code),
            i64::from(self.actor_type as u8),
            self.resource.as_i64(),
        ];
        digest_input(numbers, self.actor.map(Gid::as_i64), &self.body)
    }

    /// Returns the row as JSON, in the form that clients get.
    #[must_use]
    pub fn to_json(&self) -> String {
        format!(
            "{{\"gid\":\"{}\",\"created_at\":\"{}\",\"event_type\":{},\"event_category\":{},{}}}",
            self.gid,
            self.time,
            json_string(self.kind.name),
            json_string(self.kind.category.name()),
            self.body
        )
    }
}

/// Returns the bytes that a row's digest covers: all parts of the row, each of a fixed length except the last. The numbers are
/// gid, time, workspace, kind, type of actor and resource. They are stored values that are not checked, so a search for tampering
/// can pass them unchanged.
#[must_use]
pub fn digest_input(numbers: [i64; 6], actor: Option<i64>, body: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + body.len());
    let actor = [i64::from(actor.is_some()), actor.unwrap_or(0)];
    for number in numbers.into_iter().chain(actor) {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(body.as_bytes());
    out
}

/// Query for the audit rows of a workspace, in their order. A condition that is `None` excludes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuditQuery {
    /// Workspace whose log is read.
    pub workspace: Gid,
    /// Start of the times of the rows, inclusive.
    pub start: Option<Time>,
    /// End of the times of the rows, exclusive.
    pub end: Option<Time>,
    /// Kind of the rows.
    pub kind: Option<AuditEventKind>,
    /// Type of the actors of the rows.
    pub actor_type: Option<ActorType>,
    /// Actor of the rows.
    pub actor: Option<Gid>,
    /// Node that the rows are about.
    pub resource: Option<Gid>,
    /// Gid of the row before the first one to return.
    pub after: Option<Gid>,
    /// Maximum number of rows to return.
    pub limit: usize,
}

impl AuditQuery {
    /// Creates a query for all rows of a workspace, up to `limit`.
    #[must_use]
    pub const fn all(workspace: Gid, limit: usize) -> Self {
        Self {
            workspace,
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

    /// Returns true if a row fits the conditions of the query. The limit is not considered.
    #[must_use]
    pub fn matches(&self, row: &AuditRow) -> bool {
        row.workspace == self.workspace
            && self.start.is_none_or(|start| row.time >= start)
            && self.end.is_none_or(|end| row.time < end)
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
