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
use workgraph_auth::{App, AuthStoreError, TokenKind};
use workgraph_core::audit::{
    ActorContext, AuditActor, AuditEntry, AuditEventKind, AuditRow, event_kinds,
};
use workgraph_core::engine::{RowNames, encode_row};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::time::Time;

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

/// Act for which the audit log gets a row.
#[derive(Clone, Debug)]
pub(crate) enum AuditEvent {
    /// Act of or on a user, in each workspace of the user, with the value before and after.
    OfUser(AuditEventKind, u64, Option<String>, Option<String>),
    /// Act on one workspace.
    OfWorkspace(AuditEntry),
}

impl AuditEvent {
    /// Returns an event of a user without values.
    pub(crate) const fn of_user(kind: AuditEventKind, user: u64) -> Self {
        Self::OfUser(kind, user, None, None)
    }

    /// Returns the event that a token of a user or of a service account was created or revoked. For the token of an app only its
    /// user's authorization is recorded.
    pub(crate) fn of_token(
        kind: AuditEventKind,
        token: TokenKind,
        user: u64,
        description: &str,
    ) -> Option<Self> {
        if !matches!(token, TokenKind::Personal | TokenKind::Service) {
            return None;
        }
        let name = Some(description.to_owned()).filter(|name| !name.is_empty());
        Some(if kind == event_kinds::TOKEN_AUTHORIZED {
            Self::OfUser(kind, user, None, name)
        } else {
            Self::OfUser(kind, user, name, None)
        })
    }

    /// Returns the events of the workspaces in which an app may now be used, and of those in which it no longer may.
    pub(crate) fn of_app(app: &App, was: Option<&App>) -> Vec<Self> {
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
        let event = |workspace| {
            let old = was.map_or("removed", |was| word(was, workspace));
            let new = word(app, workspace);
            let workspace = Gid::new(workspace).filter(|_| old != new)?;
            let say = |word| Some(format!("{}: {word}", app.name));
            let entry = AuditEntry::new(event_kinds::APP_APPROVAL_CHANGED, workspace, workspace);
            Some(Self::OfWorkspace(entry.details(say(old), say(new))))
        };
        workspaces.into_iter().filter_map(event).collect()
    }

    const fn user(&self) -> Option<u64> {
        match self {
            Self::OfUser(_, user, ..) => Some(*user),
            Self::OfWorkspace(_) => None,
        }
    }
}

impl HandleActor {
    /// Returns the rows of acts, with current names, in their order. They get their place in the log when they are appended.
    pub(crate) async fn rows(
        &self,
        connection: &Connection,
        events: &[AuditEvent],
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
        let users = events.iter().filter_map(AuditEvent::user);
        let users: Vec<i64> = users.map(stored_number).collect::<Result<_, _>>()?;
        let mut gids = users.clone();
        gids.extend(acting.actor.gid().map(Gid::as_i64));
        gids.extend(events.iter().filter_map(|event| match event {
            AuditEvent::OfWorkspace(entry) => Some(entry.resource.as_i64()),
            AuditEvent::OfUser(..) => None,
        }));
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
        let mut rows = Vec::with_capacity(events.len());
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
        for event in events {
            match event {
                AuditEvent::OfWorkspace(entry) => add(entry)?,
                AuditEvent::OfUser(kind, user, old, new) => {
                    let Some(resource) = Gid::new(*user) else {
                        continue;
                    };
                    let mut belongs = of_user(&workspaces, *user)?;
                    if belongs.is_empty() {
                        belongs = of_user(&by_token, *user)?;
                    }
                    for workspace in belongs {
                        let entry = AuditEntry::new(*kind, workspace, resource);
                        add(&entry.details(old.clone(), new.clone()))?;
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
    /// Returns a handle on the same store that records all acts through it as this actor's, at this time.
    #[must_use]
    pub fn as_actor(&self, acting: ActorContext, at: SystemTime) -> Self {
        let mut handle = self.clone();
        handle.actor = HandleActor(Some(Arc::new((acting, Time::from_system(at)))));
        handle
    }

    /// Records a failed sign-in as a user.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn record_failed_sign_in(&self, user: u64) -> Result<(), AuthStoreError> {
        self.decide(move |tx| {
            Box::pin(async move {
                tx.record(AuditEvent::of_user(event_kinds::LOGIN_FAILED, user));
                tx.send::<0>([]).await?;
                Ok(())
            })
        })
        .await
    }
}
