//! Derivation of audit rows from the changes of a commit.
//!
//! The check for audit rows compares each change record of a commit once and reads nothing, so a commit without audit rows costs
//! nothing.
use super::audit_row_encoding::{build_row, display_name, find};
use crate::audit::{ActorContext, AuditActor, AuditEntry, AuditEventKind, AuditRow, event_kinds};
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Type;
use crate::model::resources::{membership, project, story, team, user_task_list, workspace};
use crate::storage::snapshot::{Depth, Transaction};
use crate::storage::{ChangeAction, ChangeRecord, Changes, NodeWrite};
use std::borrow::Cow;

/// Returns the audit event kind of a change record; `None` for most records.
fn event_kind_of(change: &ChangeRecord) -> Option<AuditEventKind> {
    Some(match (change.ty, &change.action) {
        (Type::Task, ChangeAction::Deleted) => event_kinds::TASK_DELETED,
        (Type::Project, ChangeAction::Deleted) => event_kinds::PROJECT_DELETED,
        (Type::Team, ChangeAction::Deleted) => event_kinds::TEAM_DELETED,
        (Type::CustomField, ChangeAction::Deleted) => event_kinds::CUSTOM_FIELD_DELETED,
        (Type::TaskTemplate, ChangeAction::Deleted) => event_kinds::TASK_TEMPLATE_DELETED,
        (Type::ProjectTemplate, ChangeAction::Deleted) => event_kinds::PROJECT_TEMPLATE_DELETED,
        (Type::Story, ChangeAction::Deleted) => event_kinds::STORY_DELETED,
        (Type::Portfolio, ChangeAction::Deleted) => event_kinds::PORTFOLIO_DELETED,
        (Type::Goal, ChangeAction::Deleted) => event_kinds::GOAL_DELETED,
        (Type::PortfolioMembership, ChangeAction::Added { .. }) => {
            event_kinds::PORTFOLIO_MEMBER_ADDED
        }
        (Type::PortfolioMembership, ChangeAction::Deleted) => event_kinds::PORTFOLIO_MEMBER_REMOVED,
        (Type::StatusUpdate, ChangeAction::Deleted) => event_kinds::STATUS_UPDATE_DELETED,
        (Type::Attachment, ChangeAction::Deleted) => event_kinds::ATTACHMENT_DELETED,
        (Type::Attachment, ChangeAction::Added { .. }) => event_kinds::ATTACHMENT_UPLOADED,
        (Type::Team, ChangeAction::Added { .. }) => event_kinds::TEAM_CREATED,
        (Type::TeamMembership, ChangeAction::Added { .. }) => event_kinds::TEAM_MEMBER_ADDED,
        (Type::TeamMembership, ChangeAction::Deleted) => event_kinds::TEAM_MEMBER_REMOVED,
        (Type::ProjectMembership, ChangeAction::Added { .. }) => event_kinds::PROJECT_MEMBER_ADDED,
        (Type::ProjectMembership, ChangeAction::Deleted) => event_kinds::PROJECT_MEMBER_REMOVED,
        (Type::WorkspaceMembership, ChangeAction::Added { .. }) => event_kinds::INVITED,
        (Type::WorkspaceMembership, ChangeAction::Deleted) => event_kinds::DEPROVISIONED,
        (ty, ChangeAction::Changed { field, .. }) => match (ty, *field) {
            (Type::Team, "visibility") => event_kinds::TEAM_PRIVACY_CHANGED,
            (Type::Project, "privacy_setting") => event_kinds::PROJECT_PRIVACY_CHANGED,
            (Type::WorkspaceMembership, "is_admin") => event_kinds::ADMIN_ROLE_CHANGED,
            (Type::Workspace, "name") => event_kinds::WORKSPACE_NAME_CHANGED,
            (Type::Workspace, "plan") => event_kinds::WORKSPACE_PLAN_CHANGED,
            _ => return None,
        },
        _ => return None,
    })
}

/// Returns true if a commit may have audit rows. Only these commits need the actor.
#[must_use]
pub fn has_audit_rows(changes: &Changes) -> bool {
    !changes.audit_entries.is_empty()
        || changes
            .change_records
            .iter()
            .any(|change| event_kind_of(change).is_some())
}

/// Returns the value, in a node, of the setting that an event kind is about.
fn setting(kind: AuditEventKind, node: &Node) -> Option<String> {
    let value = match kind {
        event_kinds::TEAM_PRIVACY_CHANGED => node.get(team::VISIBILITY),
        event_kinds::PROJECT_PRIVACY_CHANGED => node.get(project::PRIVACY),
        event_kinds::WORKSPACE_NAME_CHANGED => node.get(workspace::NAME),
        event_kinds::WORKSPACE_PLAN_CHANGED => node.get(workspace::PLAN),
        event_kinds::ADMIN_ROLE_CHANGED if node.get(membership::IS_ADMIN) => Some("admin".into()),
        event_kinds::ADMIN_ROLE_CHANGED => Some("member".into()),
        _ => None,
    };
    value.map(Cow::into_owned)
}

/// Collects the audit rows of a commit, before it is applied, while nodes that it deletes can still be read for their names.
pub(crate) struct AuditCollector<'c> {
    changes: &'c Changes,
    rows: Vec<AuditRow>,
}

impl<'c> AuditCollector<'c> {
    /// Creates a collector with the rows that follow from the changes themselves.
    pub(crate) fn new(
        txn: &mut dyn Transaction,
        changes: &'c Changes,
    ) -> Result<Self, GraphStoreError> {
        let rows = Vec::new();
        let mut all = Self { changes, rows };
        for change in &changes.change_records {
            all.add_change_record(txn, change)?;
        }
        for entry in &changes.audit_entries {
            all.add(txn, entry)?;
        }
        Ok(all)
    }

    /// Adds the row of one more change record, if the log has rows for that kind of record.
    pub(crate) fn add_change_record(
        &mut self,
        txn: &mut dyn Transaction,
        change: &ChangeRecord,
    ) -> Result<(), GraphStoreError> {
        let Some(kind) = event_kind_of(change) else {
            return Ok(());
        };
        match self.audit_entry(txn, kind, change)? {
            Some(entry) => self.add(txn, &entry),
            None => Ok(()),
        }
    }

    /// Appends the collected rows to the log.
    pub(crate) fn finish(self, txn: &mut dyn Transaction) -> Result<(), GraphStoreError> {
        self.rows
            .into_iter()
            .try_for_each(|row| txn.append_audit_row(row))
    }

    fn add(
        &mut self,
        txn: &mut dyn Transaction,
        entry: &AuditEntry,
    ) -> Result<(), GraphStoreError> {
        let Changes {
            node_writes: puts,
            actor_context: acting,
            time: at,
            ..
        } = self.changes;
        let row = match acting {
            Some(acting) => build_row(txn, puts, acting, *at, entry),
            None => {
                let actor = self
                    .changes
                    .actor
                    .map_or(AuditActor::Service, AuditActor::User);
                build_row(txn, puts, &ActorContext::internal(actor), *at, entry)
            }
        }?;
        self.rows.push(row);
        Ok(())
    }

    /// Returns the audit entry of a change record, after looking up everything that it needs.
    fn audit_entry(
        &self,
        txn: &mut dyn Transaction,
        kind: AuditEventKind,
        change: &ChangeRecord,
    ) -> Result<Option<AuditEntry>, GraphStoreError> {
        let puts = &self.changes.node_writes;
        let Some(node) = find(txn, puts, change.gid)? else {
            return Ok(None);
        };
        let workspace = if node.ty == Type::Workspace {
            Some(node.gid)
        } else {
            node.workspace
        };
        let Some(workspace) = workspace else {
            return Ok(None);
        };
        let added = matches!(change.action, ChangeAction::Added { .. });
        let user = node.get(membership::USER);
        Ok(match kind {
            event_kinds::STORY_DELETED if story::is_comment(&node) => Some(AuditEntry::new(
                event_kinds::COMMENT_DELETED,
                workspace,
                node.gid,
            )),
            event_kinds::TEAM_MEMBER_ADDED | event_kinds::TEAM_MEMBER_REMOVED => self.sharing(
                txn,
                kind,
                workspace,
                (node.get(membership::TEAM), user),
                added,
            )?,
            event_kinds::PROJECT_MEMBER_ADDED
            | event_kinds::PROJECT_MEMBER_REMOVED
            | event_kinds::PORTFOLIO_MEMBER_ADDED
            | event_kinds::PORTFOLIO_MEMBER_REMOVED => {
                let parties = (node.get(membership::PARENT), node.get(membership::MEMBER));
                self.sharing(txn, kind, workspace, parties, added)?
            }
            event_kinds::INVITED => user.map(|user| {
                // A user without a task list is new; a user with one is returning.
                let mut lists = puts.iter().filter(|p| p.node.ty == Type::UserTaskList);
                let new = lists.any(|p| p.node.get(user_task_list::OWNER) == Some(user));
                let kind = if new {
                    kind
                } else {
                    event_kinds::REPROVISIONED
                };
                AuditEntry::new(kind, workspace, user)
            }),
            event_kinds::DEPROVISIONED => user.map(|user| AuditEntry::new(kind, workspace, user)),
            _ => {
                let entry = AuditEntry::new(kind, workspace, user.unwrap_or(node.gid));
                let was = txn.node(change.gid, Depth::Full)?;
                let old = was.and_then(|was| setting(kind, &was));
                Some(entry.details(old, setting(kind, &node)))
            }
        })
    }

    /// Returns the audit entry of a member that was added to, or removed from, a team or project.
    fn sharing(
        &self,
        txn: &mut dyn Transaction,
        kind: AuditEventKind,
        workspace: Gid,
        (parent, member): (Option<Gid>, Option<Gid>),
        added: bool,
    ) -> Result<Option<AuditEntry>, GraphStoreError> {
        let (Some(parent), Some(member)) = (parent, member) else {
            return Ok(None);
        };
        let puts = &self.changes.node_writes;
        let new = |put: &NodeWrite| put.node.gid == parent && put.node.version == 1;
        if added && self.changes.actor == Some(member) && puts.iter().any(new) {
            // The creator of a new node becomes its member; that does not count as sharing.
            return Ok(None);
        }
        let name = find(txn, puts, member)?.map(|member| display_name(&member));
        let (old, new) = if added { (None, name) } else { (name, None) };
        Ok(Some(
            AuditEntry::new(kind, workspace, parent).details(old, new),
        ))
    }
}
