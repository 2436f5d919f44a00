//! Writes of apps, authorizations, codes, sessions and login attempts.
//!
//! Acts that may happen only once are decided by the rows that a conditional write returns, or by a unique key.
use super::accounts::{first_account, is_on};
use super::audit_events::AuditEvent;
use super::auth_rows::{
    self, RefreshTokenContext, maybe_stored, numbers_text, redirects_text, stored_number,
};
use super::auth_transaction::AuthTransaction;
use super::statements as sql;
use super::token_store::TokenColumns;
use super::{AuthStoreResult, params};
use crate::columns::number;
use crate::params::{OwnedParams, Params};
use crate::statement_pipeline::Statement;
use crate::stored_values::{get, maybe_text, millis, text, text_to_store, time};
use std::time::{Duration, SystemTime};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use workgraph_auth::authorization::browser_session::LoginAttempts;
use workgraph_auth::{
    App, AuthStoreError, Authorization, AuthorizationCode, BrowserSession, ConsentRecord,
    IssuedTokens, RedemptionOutcome, Secret, SecretDigest, TokenKind, TokenRecord,
};
use workgraph_core::audit::event_kinds;

/// Returns the column values of an app.
fn app_values(app: &App) -> AuthStoreResult<OwnedParams> {
    Ok(params![
        stored_number(app.id)?,
        text_to_store(&app.name).into_owned(),
        app.secret.map(|digest| digest.0.to_vec()),
        redirects_text(&app.redirects),
        app.scopes.set().to_string(),
        numbers_text(&app.distribution),
        numbers_text(&app.disabled_in),
        stored_number(app.owner)?,
        millis(app.created_at),
        app.disabled_at.map(millis),
    ])
}

/// Creates an app, or replaces it if it has not changed since it was read.
pub(super) async fn put_app(
    tx: &mut AuthTransaction,
    app: &App,
    was: Option<&App>,
) -> AuthStoreResult<()> {
    let mut values = app_values(app)?;
    values.extend(was.map(app_values).transpose()?.into_iter().flatten());
    let params: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value as _).collect();
    for event in AuditEvent::of_app(app, was) {
        tx.record(event);
    }
    match was {
        None => tx.send_last([(sql::INSERT_APP, &params)]).await?,
        // An app cannot become another one.
        Some(was) if was.id != app.id => return Err(AuthStoreError::Conflict),
        Some(_) => {
            if tx.run(sql::REPLACE_APP, &params).await?.is_empty() {
                return Err(AuthStoreError::Conflict);
            }
        }
    }
    Ok(())
}

/// User and app of a consent or a code, both switched on.
struct Parties {
    user: i64,
    app: i64,
    app_name: String,
    /// The live authorization of the app by the user.
    standing: Option<Authorization>,
}

/// Locks the account of a user and returns it with the app, if both are switched on.
async fn parties(tx: &mut AuthTransaction, user: u64, app: u64) -> AuthStoreResult<Parties> {
    let keys = (stored_number(user)?, stored_number(app)?);
    let [account, live, standing] = tx
        .send([
            (sql::LOCK_ACCOUNT, &[&keys.0]),
            (sql::LIVE_APP, &[&keys.1]),
            (sql::STANDING, &[&keys.0, &keys.1]),
        ])
        .await?;
    if !is_on(first_account(&account, user)?.as_ref()) {
        return Err(AuthStoreError::NoAccount);
    }
    let live = live.first().ok_or(AuthStoreError::Conflict)?;
    Ok(Parties {
        user: keys.0,
        app: keys.1,
        app_name: text(live, 0)?,
        standing: first_authorization(&standing)?,
    })
}

fn first_authorization(rows: &[Row]) -> AuthStoreResult<Option<Authorization>> {
    let found = rows.first().map(|row| auth_rows::authorization(row, 0));
    Ok(found.transpose()?)
}

/// Stores an authorization code under the live authorization, if that covers it.
pub(super) async fn keep_code(
    tx: &mut AuthTransaction,
    code: &AuthorizationCode,
) -> AuthStoreResult<Authorization> {
    let parties = parties(tx, code.user, code.app).await?;
    let stands = parties
        .standing
        .filter(|stands| stands.scopes.covers(code.scopes))
        .ok_or(AuthStoreError::Conflict)?;
    let code = CodeColumns::of(code, stands.id)?;
    tx.send_last([(sql::INSERT_CODE, &code.params())]).await?;
    Ok(stands)
}

/// Stores the consent of a user.
pub(super) async fn keep_consent(
    tx: &mut AuthTransaction,
    consent: &ConsentRecord,
) -> AuthStoreResult<Authorization> {
    let new = &consent.authorization;
    let parties = parties(tx, new.user, new.app).await?;
    let changed = parties
        .standing
        .as_ref()
        .is_none_or(|before| before.scopes != new.scopes);
    if changed {
        let name = Some(parties.app_name);
        tx.record(AuditEvent::OfUser(
            event_kinds::APP_AUTHORIZED,
            new.user,
            None,
            name,
        ));
    }
    let (digest, time) = (consent.ticket.0.to_vec(), millis(consent.time));
    let ticket: Params<'_> = &[&digest, &time];
    let scopes = new.scopes.to_string();
    // The account is locked, so no other transaction creates or ends an authorization of the user now.
    let id = stored_number(parties.standing.as_ref().map_or(new.id, |stands| stands.id))?;
    let created = millis(new.created_at);
    let regrant: Params<'_> = &[&id, &scopes];
    let insert: Params<'_> = &[&id, &parties.user, &parties.app, &scopes, &created];
    let grant = match parties.standing {
        Some(_) => (sql::REGRANT, regrant),
        None => (sql::INSERT_GRANT, insert),
    };
    let take = (sql::TAKE_TICKET, ticket);
    let granted: Statement<'_> = (sql::STANDING, &[&parties.user, &parties.app]);
    let stored = match &consent.code {
        Some(code) => {
            let code = CodeColumns::of(code, parties.standing.as_ref().map_or(new.id, |s| s.id))?;
            let code = (sql::INSERT_CODE, &code.params()[..]);
            tx.send_last_and_read([take, grant, code], granted).await?
        }
        None => tx.send_last_and_read([take, grant], granted).await?,
    };
    first_authorization(&stored)?.ok_or_else(|| lost("an authorization"))
}

/// Column values of an authorization code.
struct CodeColumns<'c> {
    keys: [i64; 3],
    texts: (
        std::borrow::Cow<'c, str>,
        Option<String>,
        String,
        Option<String>,
    ),
    digest: &'c [u8],
    times: [i64; 3],
    used_at: Option<i64>,
    refresh: Option<i64>,
}

impl<'c> CodeColumns<'c> {
    fn of(code: &'c AuthorizationCode, grant: u64) -> AuthStoreResult<Self> {
        Ok(Self {
            keys: [
                stored_number(code.app)?,
                stored_number(code.user)?,
                stored_number(grant)?,
            ],
            texts: (
                text_to_store(&code.redirect),
                code.challenge.map(|challenge| challenge.to_string()),
                code.scopes.to_string(),
                code.nonce
                    .as_deref()
                    .map(|nonce| text_to_store(nonce).into_owned()),
            ),
            digest: &code.digest.0,
            times: [code.auth_time, code.created_at, code.expires_at].map(millis),
            used_at: code.used_at.map(millis),
            refresh: maybe_stored(code.refresh)?,
        })
    }

    fn params(&self) -> [&(dyn ToSql + Sync); 13] {
        let [app, user, grant] = &self.keys;
        let (redirect, challenge, scopes, nonce) = &self.texts;
        let [auth_time, created_at, expires_at] = &self.times;
        [
            &self.digest,
            app,
            user,
            grant,
            redirect,
            challenge,
            scopes,
            nonce,
            auth_time,
            created_at,
            expires_at,
            &self.used_at,
            &self.refresh,
        ]
    }
}

fn lost(what: &str) -> AuthStoreError {
    AuthStoreError::Unavailable(format!("{what} that was just written is not there"))
}

/// Withdraws an authorization.
pub(super) async fn deauthorize(
    tx: &mut AuthTransaction,
    id: u64,
    user: u64,
    now: SystemTime,
) -> AuthStoreResult<bool> {
    let (id, key, at) = (stored_number(id)?, stored_number(user)?, millis(now));
    let [_, revoked, _] = tx
        .send([
            (sql::LOCK_ACCOUNT, &[&key]),
            (sql::REVOKE_GRANT, &[&id, &key, &at]),
            (sql::DROP_ORPHANED_HOOKS, &[&key]),
        ])
        .await?;
    let Some(row) = revoked.first() else {
        return Ok(false);
    };
    let name = maybe_text(row, 0)?;
    tx.record(AuditEvent::OfUser(
        event_kinds::APP_REVOKED,
        user,
        name,
        None,
    ));
    Ok(true)
}

/// Redeems an authorization code: spends it, and issues the tokens, if any are given and everything that they depend on is live.
///
/// Concurrent withdrawals need no lock: a token under a withdrawn authorization is dead in any case.
pub(super) async fn redeem(
    tx: &mut AuthTransaction,
    digest: &SecretDigest,
    tokens: Option<&IssuedTokens>,
    now: SystemTime,
) -> AuthStoreResult<RedemptionOutcome> {
    let key = &digest.0[..];
    // The first statement waits for another redemption of the same code; the others see its effects.
    let [spent, code, holds] = tx
        .send([
            (sql::SPEND_CODE, &[&key, &millis(now)]),
            (sql::CODE, &[&key]),
            (sql::CODE_HOLDS, &[&key]),
        ])
        .await?;
    let Some(code) = code.first().map(auth_rows::code).transpose()? else {
        return Ok(RedemptionOutcome::Unknown);
    };
    if spent.is_empty() {
        // Tokens are only given with a checked request, which has shown the verifier: the request came twice.
        let again = tokens.is_some() && code.may_be_repeated(now);
        if let Some(refresh) = code.refresh.filter(|_| !again) {
            let (user, refresh) = (stored_number(code.user)?, stored_number(refresh)?);
            tx.send_last([
                (sql::LOCK_ACCOUNT, &[&user]),
                (sql::REVOKE_TOKEN, &[&refresh, &millis(now)]),
                (sql::DROP_ORPHANED_HOOKS, &[&user]),
            ])
            .await?;
        }
        return Ok(RedemptionOutcome::Replayed);
    }
    let Some(IssuedTokens { access, refresh }) = tokens.filter(|_| !holds.is_empty()) else {
        return Ok(RedemptionOutcome::Spent);
    };
    let (refresh, access) = (
        TokenColumns::of(refresh, Some(refresh.id))?,
        TokenColumns::of(access, Some(refresh.id))?,
    );
    let issue: [Statement<'_>; 3] = [
        (sql::CODE_GAVE, &[&key, &refresh.id]),
        (sql::INSERT_TOKEN, &refresh.params()),
        (sql::INSERT_TOKEN, &access.params()),
    ];
    let stored = tx
        .send_last_and_read(issue, (sql::TOKEN_BY_ID, &[&access.id]))
        .await?;
    let stored = stored.first().ok_or_else(|| lost("a token"))?;
    let stored = auth_rows::effective_token(stored)?;
    Ok(RedemptionOutcome::Issued(Box::new(stored)))
}

/// Returns the effective record of an access token that is issued for a refresh token, or `None` if that token is not live.
pub(super) fn issue(
    root: &RefreshTokenContext,
    access: &TokenRecord,
    now: SystemTime,
) -> Option<TokenRecord> {
    let token = &root.effective;
    let good = token.kind == TokenKind::Refresh
        && (token.user, token.app, token.grant) == (access.user, access.app, access.grant)
        && token.is_consistent()
        && token.revoked_at.is_none()
        && token.expires_at.is_none_or(|end| now < end)
        && !root.account.disabled;
    good.then(|| root.effective_access(access))
}

/// Stores a new browser session, if the login of its user has this hash.
pub(super) async fn start_session(
    tx: &mut AuthTransaction,
    new: &BrowserSession,
    hash: Option<&Secret>,
) -> AuthStoreResult<()> {
    let user = stored_number(new.user)?;
    let [account, login] = tx
        .send([(sql::LOCK_ACCOUNT, &[&user]), (sql::LOGIN_OF, &[&user])])
        .await?;
    if !is_on(first_account(&account, new.user)?.as_ref()) {
        return Err(AuthStoreError::NoAccount);
    }
    if let Some(hash) = hash {
        let login = login.first().map(auth_rows::login).transpose()?;
        if login.is_none_or(|login| login.hash().expose() != hash.expose()) {
            return Err(AuthStoreError::NoAccount);
        }
    }
    let values: [&(dyn ToSql + Sync); 6] = [
        &&new.digest.0[..],
        &user,
        &millis(new.created_at),
        &millis(new.expires_at),
        &millis(new.last_used_at),
        &new.address.map(|address| address.to_string()),
    ];
    tx.run(sql::INSERT_SESSION, &values).await?;
    tx.record(AuditEvent::of_user(event_kinds::LOGIN_SUCCEEDED, new.user));
    Ok(())
}

/// Ends a browser session, if there is one.
pub(super) async fn end_session(
    tx: &mut AuthTransaction,
    digest: &SecretDigest,
) -> AuthStoreResult<()> {
    let ended = tx.run(sql::END_SESSION, &[&&digest.0[..]]).await?;
    if let Some(row) = ended.first() {
        tx.record(AuditEvent::of_user(
            event_kinds::LOGGED_OUT,
            number(row, 0)?,
        ));
    }
    Ok(())
}

/// Counts a sign-in attempt, or returns how long it must wait.
pub(super) async fn attempt_login(
    tx: &mut AuthTransaction,
    key: &SecretDigest,
    now: SystemTime,
) -> AuthStoreResult<Option<Duration>> {
    let key = &key.0[..];
    let locked = tx.run(sql::LOCK_STRIKES, &[&key]).await?;
    let row = locked.first().ok_or_else(|| lost("a count of attempts"))?;
    let count = u32::try_from(get::<i64>(row, 0)?).unwrap_or(u32::MAX);
    let last_at = time(row, 1)?;
    let before = (count > 0).then_some(LoginAttempts { count, last_at });
    match LoginAttempts::attempt(before, now) {
        Ok(LoginAttempts { count, last_at }) => {
            let values: Params<'_> = &[&key, &i64::from(count), &millis(last_at)];
            tx.send_last([(sql::PUT_STRIKES, values)]).await?;
            Ok(None)
        }
        Err(wait) => Ok(Some(wait)),
    }
}
