//! Audit rows of acts outside the graph: acts on tokens, apps and sessions.
//!
//! An act is recorded when it is done, and its rows are written at the end of the same transaction. The caller of the store names
//! the actor ([`PostgresStore::as_actor`]), but cannot act without a row.
use super::auth_rows::stored_number;
use crate::columns::number;
use crate::database::Connection;
use crate::handle_actor::HandleActor;
use crate::postgres_store::PostgresStore;
use crate::statement_pipeline::pipeline;
use crate::stored_values::{Stored, get, maybe_number, not_a, text};
use std::sync::Arc;
use std::time::SystemTime;
use tokio_postgres::Row;
use workgraph_auth::AuthStoreError;
use workgraph_auth::rules::{AuditedAct, failed_sign_in};
use workgraph_core::audit::{ActorContext, AuditActor, AuditEntry, AuditRow};
use workgraph_core::engine::{RowNames, encode_row};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::time::Time;
use workgraph_rows::ActEntry;

/// Workspaces of users, in the order of users, then of workspaces.
const WORKSPACES: &str =
    "SELECT src, dst FROM edge WHERE src = ANY($1) AND rel = $2 ORDER BY src, dst";
/// Workspaces for which a service account has tokens, in the order of the tokens.
const TOKEN_WORKSPACES: &str = "SELECT t.user, t.workspace FROM token t \
    WHERE t.user = ANY($1) AND t.workspace IS NOT NULL GROUP BY t.user, t.workspace ORDER BY t.user, min(t.id)";
const NODES: &str =
    "SELECT gid, kind, home, version, head, body FROM node WHERE gid = ANY($1) AND gone IS NULL";
const APP_NAME: &str = "SELECT name FROM app WHERE id = $1";
const LAST_COMMIT: &str = "SELECT at FROM journal ORDER BY seq DESC LIMIT 1";

impl HandleActor {
    /// Returns the rows of acts, with current names, in their order. They get their place in the log when they are appended.
    pub(crate) async fn rows(
        &self,
        connection: &Connection,
        acts: &[AuditedAct],
    ) -> Result<Vec<AuditRow>, AuthStoreError> {
        let service;
        let named = self.0.as_deref();
        let acting = match named {
            Some((acting, _)) => acting,
            None => {
                service = ActorContext::internal(AuditActor::Service);
                &service
            }
        };
        let entries: Vec<ActEntry> = acts.iter().filter_map(ActEntry::new).collect();
        let (mut users, mut gids) = (Vec::new(), Vec::new());
        gids.extend(acting.actor.gid().map(Gid::as_i64));
        for entry in &entries {
            match entry {
                ActEntry::OfWorkspace(entry) => gids.push(entry.resource.as_i64()),
                ActEntry::OfUser { user, .. } => users.push(user.as_i64()),
            }
        }
        gids.extend(&users);
        let relation = i16::from(rel::WORKSPACES.0);
        let app = acting.app.map(stored_number).transpose()?.unwrap_or(-1);
        let [workspaces, by_token, nodes, app, last] = pipeline(
            connection,
            None,
            [
                (WORKSPACES, &[&users, &relation]),
                (TOKEN_WORKSPACES, &[&users]),
                (NODES, &[&gids]),
                (APP_NAME, &[&app]),
                (LAST_COMMIT, &[]),
            ],
            None,
        )
        .await?;
        let nodes: Vec<Node> = nodes.iter().map(node).collect::<Stored<_>>()?;
        let app = app.first().map(|row| text(row, 0)).transpose()?;
        let at = match (named, last.first()) {
            (Some((_, at)), _) => *at,
            (None, Some(row)) => Time::from_millis(get(row, 0)?),
            (None, None) => Time::from_millis(0),
        };
        let find = |gid: Gid| nodes.iter().find(|node| node.gid == gid);
        let mut rows = Vec::with_capacity(entries.len());
        let mut add = |entry: &AuditEntry| {
            let names = RowNames {
                actor: acting.actor.gid().and_then(find),
                resource: find(entry.resource),
                app: app.as_deref(),
            };
            let row = encode_row(names, acting, at, entry);
            row.map(|row| rows.push(row))
                .map_err(|error| AuthStoreError::Unavailable(error.to_string()))
        };
        for entry in entries {
            match entry {
                ActEntry::OfWorkspace(entry) => add(&entry)?,
                ActEntry::OfUser {
                    user,
                    kind,
                    details: (before, after),
                } => {
                    let mut belongs = of_user(&workspaces, user.get())?;
                    if belongs.is_empty() {
                        belongs = of_user(&by_token, user.get())?;
                    }
                    for workspace in belongs {
                        let entry = AuditEntry::new(kind, workspace, user);
                        add(&entry.details(before.clone(), after.clone()))?;
                    }
                }
            }
        }
        Ok(rows)
    }
}

/// Returns the workspaces of a user, from rows of users and workspaces.
fn of_user(rows: &[Row], user: u64) -> Stored<Vec<Gid>> {
    let mut own = Vec::new();
    for row in rows {
        if number(row, 0)? == user {
            own.extend(Gid::new(number(row, 1)?));
        }
    }
    Ok(own)
}

fn node(row: &Row) -> Stored<Node> {
    let kind: i16 = get(row, 1)?;
    let ty = u8::try_from(kind).ok().and_then(Type::from_code);
    Ok(Node {
        gid: Gid::new(number(row, 0)?).ok_or_else(|| not_a(0, "gid"))?,
        ty: ty.ok_or_else(|| not_a(1, "type"))?,
        workspace: maybe_number(row, 2)?.and_then(Gid::new),
        version: number(row, 3)?,
        head: get::<&str>(row, 4)?.into(),
        body: get::<&str>(row, 5)?.into(),
    })
}

impl PostgresStore {
    /// Returns a handle on the same store whose acts are recorded under this actor, at this time.
    #[must_use]
    pub fn as_actor(&self, acting: ActorContext, at: SystemTime) -> Self {
        let mut handle = self.clone();
        handle.actor = HandleActor(Some(Arc::new((acting, Time::from_system(at)))));
        handle
    }

    /// Records a failed attempt to sign in as a user.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn record_failed_sign_in(&self, user: u64) -> Result<(), AuthStoreError> {
        self.decide(move |tx| Box::pin(tx.apply(failed_sign_in(user))))
            .await
    }
}
