//! What the writer does about apps, authorizations, codes, sessions and login attempts.
//!
//! Each function is one job of a batch, and an error undoes all that it wrote, and nothing else. What
//! happens once is decided by how many rows a conditional write changed, or by a key that is taken.
use crate::accounts::{is_on, login_of};
use crate::audit::By;
use crate::hooks::let_go;
use crate::rows::{self, Root, millis, number, numbers_text, redirects_text, refused};
use crate::session::{Session, maybe_gid};
use crate::sql::Sql;
use crate::tokens::keep;
use crate::writer::Caches;
use rusqlite::types::Value;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_auth::session::{STRIKES_LIFETIME, Strikes};
use workgraph_auth::{
    Allow, App, Authorization, Code, Digest, Redeemed, Secret, StoreError, TokenKind, TokenRecord,
    Tokens,
};
use workgraph_core::audit::kind;

/// The most rows of one table that one round of a sweep takes.
pub(super) const ROUND: u64 = 2_000;

type Done<T> = Result<T, StoreError>;

/// Whether a statement finds a row.
fn finds(session: &mut Session<'_>, sql: Sql, params: impl rusqlite::Params) -> Done<bool> {
    let row = session.one(sql, params, |_| Ok(())).map_err(refused)?;
    Ok(row.is_some())
}

/// The columns of an app.
fn app_values(app: &App) -> Done<[Value; 10]> {
    let maybe = |at: Option<SystemTime>| Value::from(at.map(millis));
    Ok([
        number(app.id)?.into(),
        app.name.clone().into(),
        app.secret.map(|digest| digest.0.to_vec()).into(),
        redirects_text(&app.redirects).into(),
        app.scopes.set().to_string().into(),
        numbers_text(&app.distribution).into(),
        numbers_text(&app.disabled_in).into(),
        number(app.owner)?.into(),
        millis(app.created_at).into(),
        maybe(app.disabled_at),
    ])
}

/// Creates an app, or replaces it if it is what it was.
pub(super) fn put_app(
    session: &mut Session<'_>,
    app: &App,
    was: Option<&App>,
    by: &By,
) -> Done<()> {
    let (sql, values) = match was {
        None => (Sql::InsertApp, app_values(app)?.to_vec()),
        Some(was) => {
            let both = [app_values(app)?, app_values(was)?];
            (Sql::ReplaceApp, both.concat())
        }
    };
    let params = rusqlite::params_from_iter(values);
    if session.run(sql, params).map_err(refused)? == 0 {
        return Err(StoreError::Conflict);
    }
    session.tokens = true;
    by.of_app(session, app, was)
}

/// The keys of a user whose account is on and of an app that is.
fn parties(session: &mut Session<'_>, user: u64, app: u64) -> Done<(i64, i64)> {
    let keys = (number(user)?, number(app)?);
    if !is_on(session, user)? {
        return Err(StoreError::NoAccount);
    }
    if !finds(session, Sql::LiveApp, [keys.1])? {
        return Err(StoreError::Conflict);
    }
    Ok(keys)
}

/// The live authorization of an app by a user.
fn standing(session: &mut Session<'_>, user: i64, app: i64) -> Done<Option<Authorization>> {
    session
        .one(Sql::Standing, (user, app), |row| {
            rows::authorization(row, 0)
        })
        .map_err(refused)
}

/// Keeps a code under what stands, if that covers it.
pub(super) fn keep_code(session: &mut Session<'_>, code: &Code) -> Done<Authorization> {
    let (user, app) = parties(session, code.user, code.app)?;
    let stands = standing(session, user, app)?
        .filter(|stands| stands.scopes.covers(code.scopes))
        .ok_or(StoreError::Conflict)?;
    insert_code(session, code, stands.id)?;
    Ok(stands)
}

/// Keeps a user's yes.
pub(super) fn allow(session: &mut Session<'_>, allow: &Allow, by: &By) -> Done<Authorization> {
    let new = &allow.authorization;
    let (user, app) = parties(session, new.user, new.app)?;
    session
        .run(Sql::TakeTicket, (allow.ticket.0, millis(allow.at)))
        .map_err(refused)?;
    let scopes = new.scopes.to_string();
    let before = standing(session, user, app)?;
    let again = session
        .run(Sql::Regrant, (user, app, &scopes))
        .map_err(refused)?;
    if again == 0 {
        let params = (number(new.id)?, user, app, &scopes, millis(new.created_at));
        session.run(Sql::InsertGrant, params).map_err(refused)?;
    }
    let stands = standing(session, user, app)?.ok_or_else(|| lost("an authorization"))?;
    if let Some(code) = &allow.code {
        insert_code(session, code, stands.id)?;
    }
    if before.is_none_or(|before| before.scopes != new.scopes) {
        let name = app_of(session, stands.id)?.map(|(_, name)| name);
        by.of_user(session, kind::APP_AUTHORIZED, new.user, (None, name))?;
    }
    session.tokens = true;
    Ok(stands)
}

/// The app of an authorization, and what it is called.
fn app_of(session: &mut Session<'_>, grant: u64) -> Done<Option<(u64, String)>> {
    session
        .one(Sql::GrantOf, [number(grant)?], |row| {
            Ok((rows::whole(row, 0)?, row.get(1)?))
        })
        .map_err(refused)
}

fn insert_code(session: &mut Session<'_>, code: &Code, grant: u64) -> Done<()> {
    let params = rusqlite::params![
        code.digest.0,
        number(code.app)?,
        number(code.user)?,
        number(grant)?,
        code.redirect,
        code.challenge.map(|challenge| challenge.to_string()),
        code.scopes.to_string(),
        code.nonce,
        millis(code.auth_time),
        millis(code.created_at),
        millis(code.expires_at),
        code.used_at.map(millis),
        code.refresh.map(number).transpose()?,
    ];
    session
        .run(Sql::InsertCode, params)
        .map(drop)
        .map_err(refused)
}

fn lost(what: &str) -> StoreError {
    StoreError::Unavailable(format!("{what} that was just written is not there"))
}

/// Withdraws an authorization.
pub(crate) fn deauthorize(
    session: &mut Session<'_>,
    id: u64,
    user: u64,
    now: SystemTime,
    by: &By,
) -> Done<bool> {
    let params = (number(id)?, number(user)?, millis(now));
    let done = session.run(Sql::RevokeGrant, params).map_err(refused)? > 0;
    if done {
        let (app, name) = app_of(session, id)?.unzip();
        if let Some(app) = app {
            let_go(session, user, app)?;
        }
        by.of_user(session, kind::APP_REVOKED, user, (name, None))?;
    }
    session.tokens |= done;
    Ok(done)
}

/// Spends a code, for tokens if there are any and everything stands.
pub(super) fn redeem(
    session: &mut Session<'_>,
    digest: &Digest,
    tokens: Option<&Tokens>,
    now: SystemTime,
) -> Done<Redeemed> {
    let first = session
        .run(Sql::SpendCode, (digest.0, millis(now)))
        .map_err(refused)?
        > 0;
    let code = session
        .one(Sql::Code, [digest.0], rows::code)
        .map_err(refused)?;
    let Some(code) = code else {
        return Ok(Redeemed::Unknown);
    };
    if !first {
        // Tokens are for a request that was judged, and so has shown the verifier: it came twice.
        let again = tokens.is_some() && code.may_be_repeated(now);
        if let Some(refresh) = code.refresh.filter(|_| !again) {
            let params = (number(refresh)?, millis(now));
            let killed = session.run(Sql::RevokeToken, params).map_err(refused)?;
            if killed > 0 {
                let_go(session, code.user, code.app)?;
            }
            session.tokens |= killed > 0;
        }
        return Ok(Redeemed::Replayed);
    }
    let Some(Tokens { access, refresh }) = tokens else {
        return Ok(Redeemed::Spent);
    };
    let grant = (number(code.grant)?, number(code.user)?, number(code.app)?);
    if !finds(session, Sql::GrantHolds, grant)? {
        return Ok(Redeemed::Spent);
    }
    session
        .run(Sql::CodeGave, (digest.0, number(refresh.id)?))
        .map_err(refused)?;
    keep(session, refresh, Some(refresh.id))?;
    // No token that was found before is another one now.
    keep(session, access, Some(refresh.id))?;
    kept(session, access.id).map(|record| Redeemed::Issued(Box::new(record)))
}

/// A token that was just kept, as its lineage leaves it.
fn kept(session: &mut Session<'_>, id: u64) -> Done<TokenRecord> {
    let found = session
        .one(Sql::TokenById, [number(id)?], rows::left)
        .map_err(refused)?;
    found.ok_or_else(|| lost("a token"))
}

/// Keeps an access token bought with a refresh token, if that is alive.
pub(super) fn refresh(
    session: &mut Session<'_>,
    caches: &Caches,
    refresh: u64,
    access: &TokenRecord,
    now: SystemTime,
) -> Done<Option<TokenRecord>> {
    let good = |root: &Arc<Root>| {
        let left = &root.left;
        left.kind == TokenKind::Refresh
            && (left.user, left.app, left.grant) == (access.user, access.app, access.grant)
            && left.is_sound()
            && left.revoked_at.is_none()
            && left.expires_at.is_none_or(|end| now < end)
            && !root.account.disabled
    };
    let Some(root) = root(session, caches, refresh)?.filter(good) else {
        return Ok(None);
    };
    keep(session, access, Some(refresh))?;
    Ok(Some(root.leaves(access)))
}

/// A refresh token with its lineage: as it is remembered, unless this commit changes what tokens are
/// worth.
fn root(session: &mut Session<'_>, caches: &Caches, id: u64) -> Done<Option<Arc<Root>>> {
    let epoch = (!session.tokens).then(|| caches.roots.epoch());
    if let Some(root) = epoch.and_then(|epoch| caches.roots.get(&id, epoch)) {
        return Ok(Some(root));
    }
    let found = session
        .one(Sql::TokenById, [number(id)?], Root::read)
        .map_err(refused)?;
    let root = found.map(Arc::new);
    if let (Some(epoch), Some(root)) = (epoch, &root) {
        caches.roots.put(id, Arc::clone(root), epoch);
    }
    Ok(root)
}

/// Keeps a new browser session, if the login of its user has this hash.
pub(super) fn start_session(
    session: &mut Session<'_>,
    new: &workgraph_auth::Session,
    hash: Option<&Secret>,
    by: &By,
) -> Done<()> {
    if !is_on(session, new.user)? {
        return Err(StoreError::NoAccount);
    }
    if let Some(hash) = hash {
        let login = login_of(session, new.user)?;
        if login.is_none_or(|login| login.hash().expose() != hash.expose()) {
            return Err(StoreError::NoAccount);
        }
    }
    let params = (
        new.digest.0,
        number(new.user)?,
        millis(new.created_at),
        millis(new.expires_at),
        millis(new.last_used_at),
        new.address.map(|address| address.to_string()),
    );
    session.run(Sql::InsertSession, params).map_err(refused)?;
    by.of_user(session, kind::LOGIN_SUCCEEDED, new.user, (None, None))
}

/// Ends a browser session, if it is one.
pub(super) fn end_session(session: &mut Session<'_>, digest: &Digest, by: &By) -> Done<()> {
    let user = session
        .one(Sql::EndSession, [digest.0], |row| rows::whole(row, 0))
        .map_err(refused)?;
    user.map_or(Ok(()), |user| {
        by.of_user(session, kind::LOGGED_OUT, user, (None, None))
    })
}

/// Counts an attempt at logging in, or says how long it must wait.
pub(super) fn attempt_login(
    session: &mut Session<'_>,
    key: &Digest,
    now: SystemTime,
) -> Done<Option<Duration>> {
    let before = session
        .one(Sql::Strikes, [key.0], |row| {
            Ok(Strikes {
                count: row.get(0)?,
                last_at: rows::time(row, 1)?,
            })
        })
        .map_err(refused)?;
    match Strikes::attempt(before, now) {
        Ok(Strikes { count, last_at }) => session
            .run(Sql::PutStrikes, (key.0, count, millis(last_at)))
            .map(|_| None)
            .map_err(refused),
        Err(wait) => Ok(Some(wait)),
    }
}

/// One round of a sweep; says how many rows went. Fewer than [`ROUND`] were the last ones.
pub(super) fn sweep(session: &mut Session<'_>, before: SystemTime) -> Done<u64> {
    let most = number(ROUND)?;
    // The numbers of tokens that go are not given out again.
    let highest = session
        .one(Sql::MaxToken, [], |row| maybe_gid(row, 0))
        .map_err(refused)?;
    let end = millis(before);
    let tokens = session
        .run(Sql::SweepTokens, (end, most))
        .map_err(refused)?;
    if let Some(highest) = highest.flatten().filter(|_| tokens > 0) {
        session.raise_floor(highest).map_err(refused)?;
        session.tokens = true;
    }
    let lifetime = i64::try_from(STRIKES_LIFETIME.as_millis()).unwrap_or(i64::MAX);
    let mut gone = tokens;
    for (sql, end) in [
        (Sql::SweepCodes, end),
        (Sql::SweepSessions, end),
        (Sql::SweepTickets, end),
        (Sql::SweepStrikes, end.saturating_sub(lifetime)),
    ] {
        gone += session.run(sql, (end, most)).map_err(refused)?;
    }
    Ok(gone as u64)
}
