//! Audit rows of acts outside the graph: acts on tokens, apps and sessions.
//!
//! Each row is written in the transaction of its act. The caller of the store names the actor
//! ([`SqliteStore::as_actor`](crate::SqliteStore::as_actor)), but cannot act without a row.
use crate::statements::Sql;
use crate::tables::auth_rows;
use crate::tables::auth_rows::{number, refused, unavailable};
use crate::transaction::SqliteTransaction;
use std::sync::Arc;
use workgraph_auth::AuthStoreError;
use workgraph_auth::rules::AuditedAct;
use workgraph_core::audit::{ActorContext, AuditActor, AuditEntry};
use workgraph_core::engine::build_row;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::rel;
use workgraph_core::model::time::Time;
use workgraph_core::storage::snapshot::{Depth, Snapshot, Transaction};
use workgraph_rows::ActEntry;

type AuthStoreResult<T> = Result<T, AuthStoreError>;

/// Actor of a handle and the time of its acts; `None` means the service itself, at the time of the last commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandleActor(pub(crate) Option<Arc<(ActorContext, Time)>>);

impl HandleActor {
    fn record(&self, tx: &mut SqliteTransaction<'_>, entry: &AuditEntry) -> AuthStoreResult<()> {
        let service;
        let (acting, at) = match self.0.as_deref() {
            Some(named) => named,
            None => {
                let last: Option<i64> = tx
                    .one(Sql::LastCommitAt, [], |row| row.get(0))
                    .map_err(refused)?;
                let at = Time::from_millis(last.unwrap_or(0));
                service = (ActorContext::internal(AuditActor::Service), at);
                &service
            }
        };
        build_row(tx, &[], acting, *at, entry)
            .and_then(|row| tx.append_audit_row(row))
            .map_err(unavailable)
    }

    /// Records an act.
    pub(crate) fn record_act(
        &self,
        tx: &mut SqliteTransaction<'_>,
        act: &AuditedAct,
    ) -> AuthStoreResult<()> {
        match ActEntry::new(act) {
            None => Ok(()),
            Some(ActEntry::OfWorkspace(entry)) => self.record(tx, &entry),
            Some(ActEntry::OfUser {
                user,
                kind,
                details: (before, after),
            }) => {
                for workspace in user_workspaces(tx, user)? {
                    let entry = AuditEntry::new(kind, workspace, user);
                    self.record(tx, &entry.details(before.clone(), after.clone()))?;
                }
                Ok(())
            }
        }
    }
}

/// Returns the workspaces that a user belongs to, or that a service account has tokens for.
fn user_workspaces(tx: &mut SqliteTransaction<'_>, user: Gid) -> AuthStoreResult<Vec<Gid>> {
    let mut workspaces = Vec::new();
    let at = rel::WORKSPACES;
    tx.edges_out(user, at, at, Depth::Edge, &mut |edge, _| {
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
        tx.each(Sql::TokensOfUser, [number(user.get())?], read)
            .map_err(refused)?;
    }
    Ok(workspaces)
}
