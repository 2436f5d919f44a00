//! What the changes of a commit are in the log.
//!
//! Looking whether a commit is in the log at all is one comparison for each of its facts and reads
//! nothing, so what is not costs nothing.
use super::write::{called, find, row};
use super::{Acting, Actor, Kind, Row, Told, kind};
use crate::gid::Gid;
use crate::graph::{Action, Changes, Fact, Put, StoreError};
use crate::node::Node;
use crate::registry::Type;
use crate::resources::{membership, project, story, team, user_task_list, workspace};
use crate::snapshot::{Depth, Transaction};
use std::borrow::Cow;

/// What a fact is in the log; nothing for most.
fn kind_of(fact: &Fact) -> Option<Kind> {
    Some(match (fact.ty, &fact.action) {
        (Type::Task, Action::Deleted) => kind::TASK_DELETED,
        (Type::Project, Action::Deleted) => kind::PROJECT_DELETED,
        (Type::Team, Action::Deleted) => kind::TEAM_DELETED,
        (Type::CustomField, Action::Deleted) => kind::CUSTOM_FIELD_DELETED,
        (Type::TaskTemplate, Action::Deleted) => kind::TASK_TEMPLATE_DELETED,
        (Type::ProjectTemplate, Action::Deleted) => kind::PROJECT_TEMPLATE_DELETED,
        (Type::Story, Action::Deleted) => kind::STORY_DELETED,
        (Type::Team, Action::Added { .. }) => kind::TEAM_CREATED,
        (Type::TeamMembership, Action::Added { .. }) => kind::TEAM_MEMBER_ADDED,
        (Type::TeamMembership, Action::Deleted) => kind::TEAM_MEMBER_REMOVED,
        (Type::ProjectMembership, Action::Added { .. }) => kind::PROJECT_MEMBER_ADDED,
        (Type::ProjectMembership, Action::Deleted) => kind::PROJECT_MEMBER_REMOVED,
        (Type::WorkspaceMembership, Action::Added { .. }) => kind::INVITED,
        (Type::WorkspaceMembership, Action::Deleted) => kind::DEPROVISIONED,
        (ty, Action::Changed { field, .. }) => match (ty, *field) {
            (Type::Team, "visibility") => kind::TEAM_PRIVACY_CHANGED,
            (Type::Project, "privacy_setting") => kind::PROJECT_PRIVACY_CHANGED,
            (Type::WorkspaceMembership, "is_admin") => kind::ADMIN_ROLE_CHANGED,
            (Type::Workspace, "name") => kind::WORKSPACE_NAME_CHANGED,
            (Type::Workspace, "plan") => kind::WORKSPACE_PLAN_CHANGED,
            _ => return None,
        },
        _ => return None,
    })
}

/// Whether a commit may have rows in the log, so that it is worth saying who acts.
#[must_use]
pub fn tells(changes: &Changes) -> bool {
    !changes.told.is_empty() || changes.facts.iter().any(|fact| kind_of(fact).is_some())
}

/// What the setting that a kind is about is in a node.
fn setting(kind: Kind, node: &Node) -> Option<String> {
    let value = match kind {
        kind::TEAM_PRIVACY_CHANGED => node.get(team::VISIBILITY),
        kind::PROJECT_PRIVACY_CHANGED => node.get(project::PRIVACY),
        kind::WORKSPACE_NAME_CHANGED => node.get(workspace::NAME),
        kind::WORKSPACE_PLAN_CHANGED => node.get(workspace::PLAN),
        kind::ADMIN_ROLE_CHANGED if node.get(membership::IS_ADMIN) => Some("admin".into()),
        kind::ADMIN_ROLE_CHANGED => Some("member".into()),
        _ => None,
    };
    value.map(Cow::into_owned)
}

/// Collects the rows of a commit, before anything of it is applied: what is deleted has a name yet.
pub(crate) struct Auditor<'c> {
    changes: &'c Changes,
    rows: Vec<Row>,
}

impl<'c> Auditor<'c> {
    /// The rows that the changes themselves are.
    pub(crate) fn new(txn: &mut dyn Transaction, changes: &'c Changes) -> Result<Self, StoreError> {
        let rows = Vec::new();
        let mut all = Self { changes, rows };
        for fact in &changes.facts {
            all.fact(txn, fact)?;
        }
        for told in &changes.told {
            all.add(txn, told)?;
        }
        Ok(all)
    }

    /// The row of one more fact, if it is in the log.
    pub(crate) fn fact(
        &mut self,
        txn: &mut dyn Transaction,
        fact: &Fact,
    ) -> Result<(), StoreError> {
        let Some(kind) = kind_of(fact) else {
            return Ok(());
        };
        match self.told(txn, kind, fact)? {
            Some(told) => self.add(txn, &told),
            None => Ok(()),
        }
    }

    /// Writes them.
    pub(crate) fn finish(self, txn: &mut dyn Transaction) -> Result<(), StoreError> {
        self.rows.into_iter().try_for_each(|row| txn.record(row))
    }

    fn add(&mut self, txn: &mut dyn Transaction, told: &Told) -> Result<(), StoreError> {
        let Changes {
            puts, acting, at, ..
        } = self.changes;
        let row = match acting {
            Some(acting) => row(txn, puts, acting, *at, told),
            None => {
                let actor = self.changes.actor.map_or(Actor::Service, Actor::User);
                row(txn, puts, &Acting::inside(actor), *at, told)
            }
        }?;
        self.rows.push(row);
        Ok(())
    }

    /// What a fact of a kind is, with all that has to be looked up for it.
    fn told(
        &self,
        txn: &mut dyn Transaction,
        kind: Kind,
        fact: &Fact,
    ) -> Result<Option<Told>, StoreError> {
        let puts = &self.changes.puts;
        let Some(node) = find(txn, puts, fact.gid)? else {
            return Ok(None);
        };
        let home = if node.ty == Type::Workspace {
            Some(node.gid)
        } else {
            node.home
        };
        let Some(home) = home else { return Ok(None) };
        let added = matches!(fact.action, Action::Added { .. });
        let user = node.get(membership::USER);
        Ok(match kind {
            kind::STORY_DELETED if story::is_comment(&node) => {
                Some(Told::new(kind::COMMENT_DELETED, home, node.gid))
            }
            kind::TEAM_MEMBER_ADDED | kind::TEAM_MEMBER_REMOVED => {
                self.sharing(txn, kind, home, (node.get(membership::TEAM), user), added)?
            }
            kind::PROJECT_MEMBER_ADDED | kind::PROJECT_MEMBER_REMOVED => {
                let parties = (node.get(membership::PARENT), node.get(membership::MEMBER));
                self.sharing(txn, kind, home, parties, added)?
            }
            kind::INVITED => user.map(|who| {
                // Who was here before has a task list.
                let mut lists = puts.iter().filter(|p| p.node.ty == Type::UserTaskList);
                let new = lists.any(|p| p.node.get(user_task_list::OWNER) == Some(who));
                let kind = if new { kind } else { kind::REPROVISIONED };
                Told::new(kind, home, who)
            }),
            kind::DEPROVISIONED => user.map(|who| Told::new(kind, home, who)),
            _ => {
                let told = Told::new(kind, home, user.unwrap_or(node.gid));
                let was = txn.node(fact.gid, Depth::Full)?;
                let old = was.and_then(|was| setting(kind, &was));
                Some(told.details(old, setting(kind, &node)))
            }
        })
    }

    /// That somebody is in something, or not any more.
    fn sharing(
        &self,
        txn: &mut dyn Transaction,
        kind: Kind,
        home: Gid,
        (place, member): (Option<Gid>, Option<Gid>),
        added: bool,
    ) -> Result<Option<Told>, StoreError> {
        let (Some(place), Some(member)) = (place, member) else {
            return Ok(None);
        };
        let puts = &self.changes.puts;
        let new = |put: &Put| put.node.gid == place && put.node.version == 1;
        if added && self.changes.actor == Some(member) && puts.iter().any(new) {
            // Who makes something is in it; that is no sharing.
            return Ok(None);
        }
        let name = find(txn, puts, member)?.map(|member| called(&member));
        let (old, new) = if added { (None, name) } else { (name, None) };
        Ok(Some(Told::new(kind, home, place).details(old, new)))
    }
}
