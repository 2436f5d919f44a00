//! Audit rows of acts outside the graph: acts on tokens, apps and sessions.
//!
//! Each row is written in the transaction of its act. The caller of the store names the actor ([`SqliteStore::as_actor`]), but
//! cannot act without a row.
use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::auth_rows;
use crate::tables::auth_rows::{number, refused, unavailable};
use crate::transaction::SqliteTransaction;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::{App, AuthStoreError};
use workgraph_core::audit::{ActorContext, AuditActor, AuditEntry, AuditEventKind, event_kinds};
use workgraph_core::engine::build_row;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::rel;
use workgraph_core::model::time::Time;
use workgraph_core::storage::snapshot::{Depth, Snapshot, Transaction};

type AuthStoreResult<T> = Result<T, AuthStoreError>;

/// Actor of a handle, and the time of the act; if no actor is set, the service itself, at the time of the last commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandleActor(Option<Arc<(ActorContext, Time)>>);

impl HandleActor {
    fn record(
        &self,
        session: &mut SqliteTransaction<'_>,
        entry: &AuditEntry,
    ) -> AuthStoreResult<()> {
        let service;
        let (acting, at) = match self.0.as_deref() {
            Some(named) => named,
            None => {
                let last: Option<i64> = session
                    .one(Sql::LastCommitAt, [], |row| row.get(0))
                    .map_err(refused)?;
                let at = Time::from_millis(last.unwrap_or(0));
                service = (ActorContext::internal(AuditActor::Service), at);
                &service
            }
        };
        build_row(session, &[], acting, *at, entry)
            .and_then(|row| session.append_audit_row(row))
            .map_err(unavailable)
    }

    /// Records an event of a user in each workspace they belong to.
    pub(crate) fn of_user(
        &self,
        session: &mut SqliteTransaction<'_>,
        kind: AuditEventKind,
        user: u64,
        (old, new): (Option<String>, Option<String>),
    ) -> AuthStoreResult<()> {
        let Some(user) = Gid::new(user) else {
            return Ok(());
        };
        for workspace in user_workspaces(session, user)? {
            let entry = AuditEntry::new(kind, workspace, user).details(old.clone(), new.clone());
            self.record(session, &entry)?;
        }
        Ok(())
    }

    /// Records that a token of a user or of a service account was created or revoked.
    pub(crate) fn of_token(
        &self,
        session: &mut SqliteTransaction<'_>,
        kind: AuditEventKind,
        record: &workgraph_auth::TokenRecord,
    ) -> AuthStoreResult<()> {
        use workgraph_auth::TokenKind::{Personal, Service};
        if !matches!(record.kind, Personal | Service) {
            // For an app's token only its user's authorization is recorded.
            return Ok(());
        }
        let name = Some(record.description.clone()).filter(|name| !name.is_empty());
        let details = if kind == event_kinds::TOKEN_AUTHORIZED {
            (None, name)
        } else {
            (name, None)
        };
        self.of_user(session, kind, record.user, details)
    }

    /// Records the workspaces in which an app may now be used, and those in which it no longer may.
    pub(crate) fn of_app(
        &self,
        session: &mut SqliteTransaction<'_>,
        app: &App,
        was: Option<&App>,
    ) -> AuthStoreResult<()> {
        let word = |app: &App, workspace: u64| {
            if !app.distribution.contains(&workspace) {
                "removed"
            } else if app.disabled_at.is_some() || app.disabled_in.contains(&workspace) {
                "disabled"
            } else {
                "enabled"
            }
        };
        let before = was.map_or(&[][..], |was| &was.distribution);
        let mut workspaces: Vec<u64> = app.distribution.iter().chain(before).copied().collect();
        workspaces.sort_unstable();
        workspaces.dedup();
        for workspace in workspaces {
            let old = was.map_or("removed", |was| word(was, workspace));
            let new = word(app, workspace);
            if let Some(workspace) = Gid::new(workspace).filter(|_| old != new) {
                let say = |word| Some(format!("{}: {word}", app.name));
                let entry =
                    AuditEntry::new(event_kinds::APP_APPROVAL_CHANGED, workspace, workspace);
                self.record(session, &entry.details(say(old), say(new)))?;
            }
        }
        Ok(())
    }
}

/// Returns the workspaces that a user belongs to, or that a service account has tokens for.
fn user_workspaces(session: &mut SqliteTransaction<'_>, user: Gid) -> AuthStoreResult<Vec<Gid>> {
    let mut workspaces = Vec::new();
    let at = rel::WORKSPACES;
    session
        .edges_out(user, at, at, Depth::Edge, &mut |edge, _| {
            workspaces.push(edge.dst)
        })
        .map_err(unavailable)?;
    if workspaces.is_empty() {
        let read = |row: &rusqlite::Row<'_>| {
            let workspace = auth_rows::effective_token(row)?
                .workspace
                .and_then(Gid::new);
            workspaces.extend(workspace.filter(|workspace| !workspaces.contains(workspace)));
            Ok(())
        };
        session
            .each(Sql::TokensOfUser, [number(user.get())?], read)
            .map_err(refused)?;
    }
    Ok(workspaces)
}

impl SqliteStore {
    /// Returns a handle on the same store that records all acts through it as this actor's, at this time.
    #[must_use]
    pub fn as_actor(&self, acting: ActorContext, at: SystemTime) -> Self {
        let mut hand = self.clone();
        hand.actor = HandleActor(Some(Arc::new((acting, Time::from_system(at)))));
        hand
    }

    /// Records a failed sign-in as a user.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn record_failed_sign_in(&self, user: u64) -> Result<(), AuthStoreError> {
        let by = self.actor.clone();
        let work = move |session: &mut SqliteTransaction<'_>| {
            by.of_user(session, event_kinds::LOGIN_FAILED, user, (None, None))
        };
        self.writer.work(work).await
    }
}
