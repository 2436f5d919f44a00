//! Acts outside the graph: what tokens, apps and sessions are in the audit log.
//!
//! Each row is written where its act is, in the transaction of the act: whoever calls the store says
//! who acts ([`SqliteStore::by`]), but cannot act without a row.
use crate::rows::{self, number, refused, unavailable};
use crate::session::Session;
use crate::sql::Sql;
use crate::store::SqliteStore;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::{App, StoreError};
use workgraph_core::audit::{Acting, Actor, Kind, Told, kind, row};
use workgraph_core::gid::Gid;
use workgraph_core::registry::rel;
use workgraph_core::snapshot::{Depth, Snapshot, Transaction};
use workgraph_core::time::Time;

type Done<T> = Result<T, StoreError>;

/// Who acts, and when; the service itself, at the time of the last commit, unless somebody is named.
#[derive(Clone, Debug, Default)]
pub(crate) struct By(Option<Arc<(Acting, Time)>>);

impl By {
    fn record(&self, session: &mut Session<'_>, told: &Told) -> Done<()> {
        let service;
        let (acting, at) = match self.0.as_deref() {
            Some(named) => named,
            None => {
                let last: Option<i64> = session
                    .one(Sql::LastCommitAt, [], |row| row.get(0))
                    .map_err(refused)?;
                let at = Time::from_millis(last.unwrap_or(0));
                service = (Acting::inside(Actor::Service), at);
                &service
            }
        };
        row(session, &[], acting, *at, told)
            .and_then(|row| session.record(row))
            .map_err(unavailable)
    }

    /// Records what happened to a user in each workspace they are in.
    pub(crate) fn of_user(
        &self,
        session: &mut Session<'_>,
        kind: Kind,
        user: u64,
        (old, new): (Option<String>, Option<String>),
    ) -> Done<()> {
        let Some(user) = Gid::new(user) else {
            return Ok(());
        };
        for home in homes(session, user)? {
            let told = Told::new(kind, home, user).details(old.clone(), new.clone());
            self.record(session, &told)?;
        }
        Ok(())
    }

    /// Records that a token was made or revoked: those of users and of service accounts.
    pub(crate) fn of_token(
        &self,
        session: &mut Session<'_>,
        kind: Kind,
        record: &workgraph_auth::TokenRecord,
    ) -> Done<()> {
        use workgraph_auth::TokenKind::{Personal, Service};
        if !matches!(record.kind, Personal | Service) {
            // An app's: what counts is that its user authorized it.
            return Ok(());
        }
        let name = Some(record.description.clone()).filter(|name| !name.is_empty());
        let details = if kind == kind::TOKEN_AUTHORIZED {
            (None, name)
        } else {
            (name, None)
        };
        self.of_user(session, kind, record.user, details)
    }

    /// Records in which workspaces an app may be used, and may not any more.
    pub(crate) fn of_app(
        &self,
        session: &mut Session<'_>,
        app: &App,
        was: Option<&App>,
    ) -> Done<()> {
        let word = |app: &App, place: u64| {
            if !app.distribution.contains(&place) {
                "removed"
            } else if app.disabled_at.is_some() || app.disabled_in.contains(&place) {
                "disabled"
            } else {
                "enabled"
            }
        };
        let before = was.map_or(&[][..], |was| &was.distribution);
        let mut places: Vec<u64> = app.distribution.iter().chain(before).copied().collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let old = was.map_or("removed", |was| word(was, place));
            let new = word(app, place);
            if let Some(home) = Gid::new(place).filter(|_| old != new) {
                let say = |word| Some(format!("{}: {word}", app.name));
                let told = Told::new(kind::APP_APPROVAL_CHANGED, home, home);
                self.record(session, &told.details(say(old), say(new)))?;
            }
        }
        Ok(())
    }
}

/// The workspaces that a user is in, or that a service account has tokens for.
fn homes(session: &mut Session<'_>, user: Gid) -> Done<Vec<Gid>> {
    let mut homes = Vec::new();
    let at = rel::WORKSPACES;
    session
        .out(user, at, at, Depth::Edge, &mut |edge, _| {
            homes.push(edge.dst)
        })
        .map_err(unavailable)?;
    if homes.is_empty() {
        let read = |row: &rusqlite::Row<'_>| {
            let home = rows::left(row)?.workspace.and_then(Gid::new);
            homes.extend(home.filter(|home| !homes.contains(home)));
            Ok(())
        };
        session
            .each(Sql::TokensOfUser, [number(user.get())?], read)
            .map_err(refused)?;
    }
    Ok(homes)
}

impl SqliteStore {
    /// The same store in somebody's hand: what is done through it is told as done by them, then.
    #[must_use]
    pub fn by(&self, acting: Acting, at: SystemTime) -> Self {
        let mut hand = self.clone();
        hand.by = By(Some(Arc::new((acting, Time::from_system(at)))));
        hand
    }

    /// Records that somebody could not sign in as a user.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sign_in_failed(&self, user: u64) -> Result<(), StoreError> {
        let by = self.by.clone();
        let work = move |session: &mut Session<'_>| {
            by.of_user(session, kind::LOGIN_FAILED, user, (None, None))
        };
        self.writer.work(work).await
    }
}
