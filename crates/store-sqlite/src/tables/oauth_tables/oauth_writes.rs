//! Writes of apps, authorizations, codes, sessions and login attempts.
//!
//! Each function is one job of a batch, and an error undoes everything that it wrote, and nothing else. Acts that may happen only
//! once are decided by the number of rows that a conditional write changed, or by a unique key.
use crate::cache::StoreCaches;
use crate::statements::Sql;
use crate::tables::audit_log_table::HandleActor;
use crate::tables::auth_accounts::{is_on, login_of};
use crate::tables::auth_rows;
use crate::tables::auth_rows::{
    RefreshTokenContext, millis, number, numbers_text, redirects_text, refused,
};
use crate::tables::token_table::keep;
use crate::tables::webhook_table::delete_orphaned_webhooks;
use crate::transaction::{SqliteTransaction, maybe_gid};
use rusqlite::types::Value;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_auth::authorization::browser_session::{LOGIN_ATTEMPTS_LIFETIME, LoginAttempts};
use workgraph_auth::{
    App, AuthStoreError, Authorization, AuthorizationCode, ConsentRecord, IssuedTokens,
    RedemptionOutcome, Secret, SecretDigest, TokenKind, TokenRecord,
};
use workgraph_core::audit::event_kinds;

/// Most rows of one table that one round of a sweep deletes.
pub(super) const ROUND: u64 = 2_000;

type AuthStoreResult<T> = Result<T, AuthStoreError>;

/// Returns true if a statement finds a row.
fn finds(
    session: &mut SqliteTransaction<'_>,
    sql: Sql,
    params: impl rusqlite::Params,
) -> AuthStoreResult<bool> {
    let row = session.one(sql, params, |_| Ok(())).map_err(refused)?;
    Ok(row.is_some())
}

/// Returns the column values of an app.
fn app_values(app: &App) -> AuthStoreResult<[Value; 10]> {
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

/// Creates an app, or replaces it if it has not changed since it was read.
pub(super) fn put_app(
    session: &mut SqliteTransaction<'_>,
    app: &App,
    was: Option<&App>,
    by: &HandleActor,
) -> AuthStoreResult<()> {
    let (sql, values) = match was {
        None => (Sql::InsertApp, app_values(app)?.to_vec()),
        Some(was) => {
            let both = [app_values(app)?, app_values(was)?];
            (Sql::ReplaceApp, both.concat())
        }
    };
    let params = rusqlite::params_from_iter(values);
    if session.run(sql, params).map_err(refused)? == 0 {
        return Err(AuthStoreError::Conflict);
    }
    session.invalidations.tokens = true;
    by.of_app(session, app, was)
}

/// Returns the keys of a user and of an app, if both are switched on.
fn parties(
    session: &mut SqliteTransaction<'_>,
    user: u64,
    app: u64,
) -> AuthStoreResult<(i64, i64)> {
    let keys = (number(user)?, number(app)?);
    if !is_on(session, user)? {
        return Err(AuthStoreError::NoAccount);
    }
    if !finds(session, Sql::LiveApp, [keys.1])? {
        return Err(AuthStoreError::Conflict);
    }
    Ok(keys)
}

/// Returns the live authorization of an app by a user.
fn standing(
    session: &mut SqliteTransaction<'_>,
    user: i64,
    app: i64,
) -> AuthStoreResult<Option<Authorization>> {
    session
        .one(Sql::Standing, (user, app), |row| {
            auth_rows::authorization(row, 0)
        })
        .map_err(refused)
}

/// Stores an authorization code under the live authorization, if that covers it.
pub(super) fn keep_code(
    session: &mut SqliteTransaction<'_>,
    code: &AuthorizationCode,
) -> AuthStoreResult<Authorization> {
    let (user, app) = parties(session, code.user, code.app)?;
    let stands = standing(session, user, app)?
        .filter(|stands| stands.scopes.covers(code.scopes))
        .ok_or(AuthStoreError::Conflict)?;
    insert_code(session, code, stands.id)?;
    Ok(stands)
}

/// Stores the consent of a user.
pub(super) fn allow(
    session: &mut SqliteTransaction<'_>,
    allow: &ConsentRecord,
    by: &HandleActor,
) -> AuthStoreResult<Authorization> {
    let new = &allow.authorization;
    let (user, app) = parties(session, new.user, new.app)?;
    session
        .run(Sql::TakeTicket, (allow.ticket.0, millis(allow.time)))
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
        by.of_user(session, event_kinds::APP_AUTHORIZED, new.user, (None, name))?;
    }
    session.invalidations.tokens = true;
    Ok(stands)
}

/// Returns the app of an authorization, and its name.
fn app_of(
    session: &mut SqliteTransaction<'_>,
    grant: u64,
) -> AuthStoreResult<Option<(u64, String)>> {
    session
        .one(Sql::GrantOf, [number(grant)?], |row| {
            Ok((auth_rows::whole(row, 0)?, row.get(1)?))
        })
        .map_err(refused)
}

fn insert_code(
    session: &mut SqliteTransaction<'_>,
    code: &AuthorizationCode,
    grant: u64,
) -> AuthStoreResult<()> {
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

fn lost(what: &str) -> AuthStoreError {
    AuthStoreError::Unavailable(format!("{what} that was just written is not there"))
}

/// Withdraws an authorization.
pub(crate) fn deauthorize(
    session: &mut SqliteTransaction<'_>,
    id: u64,
    user: u64,
    now: SystemTime,
    by: &HandleActor,
) -> AuthStoreResult<bool> {
    let params = (number(id)?, number(user)?, millis(now));
    let done = session.run(Sql::RevokeGrant, params).map_err(refused)? > 0;
    if done {
        let (app, name) = app_of(session, id)?.unzip();
        if let Some(app) = app {
            delete_orphaned_webhooks(session, user, app)?;
        }
        by.of_user(session, event_kinds::APP_REVOKED, user, (name, None))?;
    }
    session.invalidations.tokens |= done;
    Ok(done)
}

/// Redeems an authorization code: spends it, and issues the tokens, if any are given and everything that they depend on is live.
pub(super) fn redeem(
    session: &mut SqliteTransaction<'_>,
    digest: &SecretDigest,
    tokens: Option<&IssuedTokens>,
    now: SystemTime,
) -> AuthStoreResult<RedemptionOutcome> {
    let first = session
        .run(Sql::SpendCode, (digest.0, millis(now)))
        .map_err(refused)?
        > 0;
    let code = session
        .one(Sql::Code, [digest.0], auth_rows::code)
        .map_err(refused)?;
    let Some(code) = code else {
        return Ok(RedemptionOutcome::Unknown);
    };
    if !first {
        // Tokens are only given with a checked request, which has shown the verifier: the request came twice.
        let again = tokens.is_some() && code.may_be_repeated(now);
        if let Some(refresh) = code.refresh.filter(|_| !again) {
            let params = (number(refresh)?, millis(now));
            let killed = session.run(Sql::RevokeToken, params).map_err(refused)?;
            if killed > 0 {
                delete_orphaned_webhooks(session, code.user, code.app)?;
            }
            session.invalidations.tokens |= killed > 0;
        }
        return Ok(RedemptionOutcome::Replayed);
    }
    let Some(IssuedTokens { access, refresh }) = tokens else {
        return Ok(RedemptionOutcome::Spent);
    };
    let grant = (number(code.grant)?, number(code.user)?, number(code.app)?);
    if !finds(session, Sql::GrantHolds, grant)? {
        return Ok(RedemptionOutcome::Spent);
    }
    session
        .run(Sql::CodeGave, (digest.0, number(refresh.id)?))
        .map_err(refused)?;
    keep(session, refresh, Some(refresh.id))?;
    // A new token never gets the number of one that was looked up before.
    keep(session, access, Some(refresh.id))?;
    kept(session, access.id).map(|record| RedemptionOutcome::Issued(Box::new(record)))
}

/// Returns the effective record of a token that was just stored.
fn kept(session: &mut SqliteTransaction<'_>, id: u64) -> AuthStoreResult<TokenRecord> {
    let found = session
        .one(Sql::TokenById, [number(id)?], auth_rows::effective_token)
        .map_err(refused)?;
    found.ok_or_else(|| lost("a token"))
}

/// Stores an access token that is issued for a refresh token, if that token is live.
pub(super) fn refresh(
    session: &mut SqliteTransaction<'_>,
    caches: &StoreCaches,
    refresh: u64,
    access: &TokenRecord,
    now: SystemTime,
) -> AuthStoreResult<Option<TokenRecord>> {
    let good = |root: &Arc<RefreshTokenContext>| {
        let left = &root.left;
        left.kind == TokenKind::Refresh
            && (left.user, left.app, left.grant) == (access.user, access.app, access.grant)
            && left.is_consistent()
            && left.revoked_at.is_none()
            && left.expires_at.is_none_or(|end| now < end)
            && !root.account.disabled
    };
    let Some(root) = root(session, caches, refresh)?.filter(good) else {
        return Ok(None);
    };
    keep(session, access, Some(refresh))?;
    Ok(Some(root.effective(access)))
}

/// Returns a refresh token with its token context: from the cache, unless this commit changes the validity of tokens.
fn root(
    session: &mut SqliteTransaction<'_>,
    caches: &StoreCaches,
    id: u64,
) -> AuthStoreResult<Option<Arc<RefreshTokenContext>>> {
    let key = number(id)?;
    let cached = !session.invalidations.tokens;
    let mut read = || {
        let found = session.one(Sql::TokenById, [key], RefreshTokenContext::read);
        Ok(found.map_err(refused)?.map(Arc::new))
    };
    if cached {
        let cache = &caches.refresh_tokens;
        cache.get_or_read(id, cache.epoch(), read)
    } else {
        read()
    }
}

/// Stores a new browser session, if the login of its user has this hash.
pub(super) fn start_session(
    session: &mut SqliteTransaction<'_>,
    new: &workgraph_auth::BrowserSession,
    hash: Option<&Secret>,
    by: &HandleActor,
) -> AuthStoreResult<()> {
    if !is_on(session, new.user)? {
        return Err(AuthStoreError::NoAccount);
    }
    if let Some(hash) = hash {
        let login = login_of(session, new.user)?;
        if login.is_none_or(|login| login.hash().expose() != hash.expose()) {
            return Err(AuthStoreError::NoAccount);
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
    by.of_user(
        session,
        event_kinds::LOGIN_SUCCEEDED,
        new.user,
        (None, None),
    )
}

/// Ends a browser session, if there is one.
pub(super) fn end_session(
    session: &mut SqliteTransaction<'_>,
    digest: &SecretDigest,
    by: &HandleActor,
) -> AuthStoreResult<()> {
    let user = session
        .one(Sql::EndSession, [digest.0], |row| auth_rows::whole(row, 0))
        .map_err(refused)?;
    user.map_or(Ok(()), |user| {
        by.of_user(session, event_kinds::LOGGED_OUT, user, (None, None))
    })
}

/// Counts a sign-in attempt, or returns how long it must wait.
pub(super) fn attempt_login(
    session: &mut SqliteTransaction<'_>,
    key: &SecretDigest,
    now: SystemTime,
) -> AuthStoreResult<Option<Duration>> {
    let before = session
        .one(Sql::Strikes, [key.0], |row| {
            Ok(LoginAttempts {
                count: row.get(0)?,
                last_at: auth_rows::time(row, 1)?,
            })
        })
        .map_err(refused)?;
    match LoginAttempts::attempt(before, now) {
        Ok(LoginAttempts { count, last_at }) => session
            .run(Sql::PutStrikes, (key.0, count, millis(last_at)))
            .map(|_| None)
            .map_err(refused),
        Err(wait) => Ok(Some(wait)),
    }
}

/// Runs one round of a sweep; returns the number of deleted rows. Fewer than [`ROUND`] means that none are left.
pub(super) fn sweep(
    session: &mut SqliteTransaction<'_>,
    before: SystemTime,
) -> AuthStoreResult<u64> {
    let most = number(ROUND)?;
    // The numbers of deleted tokens are never reused.
    let highest = session
        .one(Sql::MaxToken, [], |row| maybe_gid(row, 0))
        .map_err(refused)?;
    let end = millis(before);
    let tokens = session
        .run(Sql::SweepTokens, (end, most))
        .map_err(refused)?;
    if let Some(highest) = highest.flatten().filter(|_| tokens > 0) {
        session.raise_floor(highest).map_err(refused)?;
        session.invalidations.tokens = true;
    }
    let lifetime = i64::try_from(LOGIN_ATTEMPTS_LIFETIME.as_millis()).unwrap_or(i64::MAX);
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
