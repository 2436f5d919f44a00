//! Decisions: each reads the records it depends on in one trip, and writes the changes from its rule in another.
use super::AuthStoreResult;
use super::auth_rows::{self, stored_number, stored_tier};
use super::auth_transaction::AuthTransaction;
use super::statements as sql;
use crate::params::Params;
use crate::statement_pipeline::Statement;
use crate::stored_values::{Stored, get, maybe_text, millis, time};
use std::time::{Duration, SystemTime};
use tokio_postgres::Row;
use workgraph_auth::authorization::browser_session::LoginAttempts;
use workgraph_auth::rules::{self, ConsentContext, UserAccess};
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, AuthorizationCode, BrowserSession, ConsentRecord,
    IssuedTokens, Login, PasswordChange, RedemptionOutcome, Secret, SecretDigest, Tier,
    TokenRecord,
};

/// Returns the first row, if there is one.
fn first<T>(rows: &[Row], read: impl FnOnce(&Row) -> Stored<T>) -> AuthStoreResult<Option<T>> {
    Ok(rows.first().map(read).transpose()?)
}

fn all<T>(rows: &[Row], read: impl Fn(&Row) -> Stored<T>) -> AuthStoreResult<Vec<T>> {
    Ok(rows.iter().map(read).collect::<Stored<_>>()?)
}

/// Returns the account in the first row, if there is one.
pub(super) fn first_account(rows: &[Row], user: u64) -> AuthStoreResult<Option<Account>> {
    first(rows, |row| auth_rows::account(row, user, 0))
}

fn access(tokens: &[Row], apps: &[Row]) -> AuthStoreResult<UserAccess> {
    Ok(UserAccess {
        tokens: all(tokens, |row| auth_rows::record(row, 0))?,
        authorized_apps: all(apps, |row| maybe_text(row, 0))?,
    })
}

/// Creates an app, or replaces it if it has not changed since it was read.
pub(super) async fn put_app(
    tx: &mut AuthTransaction,
    app: App,
    was: Option<&App>,
) -> AuthStoreResult<()> {
    let stored = tx.run(sql::LOCK_APP, &[&stored_number(app.id)?]).await?;
    let stored = first(&stored, |row| auth_rows::app(row, 0))?;
    tx.apply(rules::put_app(stored.as_ref(), app, was)?).await
}

/// Locks the account of a user, and returns the records on which a consent to an app depends.
async fn consent_context(
    tx: &mut AuthTransaction,
    user: u64,
    app: u64,
) -> AuthStoreResult<ConsentContext> {
    let keys = (stored_number(user)?, stored_number(app)?);
    let [account, app, authorization] = tx
        .send([
            (sql::LOCK_ACCOUNT, &[&keys.0]),
            (sql::APP, &[&keys.1]),
            (sql::LIVE_AUTHORIZATION, &[&keys.0, &keys.1]),
        ])
        .await?;
    Ok(ConsentContext {
        account: first_account(&account, user)?,
        app: first(&app, |row| auth_rows::app(row, 0))?,
        authorization: first(&authorization, |row| auth_rows::authorization(row, 0))?,
    })
}

/// Stores an authorization code under the live authorization, if that covers it.
pub(super) async fn keep_code(
    tx: &mut AuthTransaction,
    code: AuthorizationCode,
) -> AuthStoreResult<Authorization> {
    let context = consent_context(tx, code.user, code.app).await?;
    tx.apply(rules::keep_code(context, code)?).await
}

/// Stores the consent of a user. The user's account is locked, so no other transaction creates or ends an authorization of
/// the user.
pub(super) async fn keep_consent(
    tx: &mut AuthTransaction,
    consent: ConsentRecord,
) -> AuthStoreResult<Authorization> {
    let new = &consent.authorization;
    let context = consent_context(tx, new.user, new.app).await?;
    tx.apply(rules::keep_consent(context, consent)?).await
}

/// Withdraws an authorization.
pub(super) async fn deauthorize(
    tx: &mut AuthTransaction,
    id: u64,
    user: u64,
    now: SystemTime,
) -> AuthStoreResult<bool> {
    let [_, found] = tx
        .send([
            (sql::LOCK_ACCOUNT, &[&stored_number(user)?]),
            (sql::AUTHORIZATION_BY_ID, &[&stored_number(id)?]),
        ])
        .await?;
    let read = |row: &Row| Ok((auth_rows::authorization(row, 0)?, maybe_text(row, 6)?));
    let (authorization, app) = first(&found, read)?.unzip();
    let app = app.flatten();
    tx.apply(rules::deauthorize(authorization.as_ref(), app, user, now))
        .await
}

/// Redeems an authorization code. Concurrent withdrawals need no lock: a token under a withdrawn authorization is dead in any
/// case.
pub(super) async fn redeem(
    tx: &mut AuthTransaction,
    digest: &SecretDigest,
    tokens: Option<IssuedTokens>,
    now: SystemTime,
) -> AuthStoreResult<RedemptionOutcome> {
    let key = &digest.0[..];
    // The first statement waits for another redemption of the same code; the second sees its effects.
    let [_, context] = tx
        .send([(sql::LOCK_CODE, &[&key]), (sql::CODE_CONTEXT, &[&key])])
        .await?;
    let context = first(&context, auth_rows::code_context)?;
    tx.apply(rules::redeem(context.as_ref(), tokens, now)).await
}

/// Stores a new browser session, if the login of its user has this hash.
pub(super) async fn start_session(
    tx: &mut AuthTransaction,
    session: BrowserSession,
    hash: Option<&Secret>,
) -> AuthStoreResult<()> {
    let user = stored_number(session.user)?;
    let [account, login] = tx
        .send([(sql::LOCK_ACCOUNT, &[&user]), (sql::LOGIN_OF, &[&user])])
        .await?;
    let account = first_account(&account, session.user)?;
    let login = first(&login, auth_rows::login)?;
    let decision = rules::start_session(account.as_ref(), login.as_ref(), session, hash)?;
    tx.apply(decision).await
}

/// Ends a browser session, if it exists.
pub(super) async fn end_session(
    tx: &mut AuthTransaction,
    digest: &SecretDigest,
) -> AuthStoreResult<()> {
    let found = tx.run(sql::LOCK_SESSION, &[&&digest.0[..]]).await?;
    let session = first(&found, auth_rows::session)?;
    tx.apply(rules::end_session(session.as_ref())).await
}

/// Ends the browser sessions of a user except one; returns their number.
pub(super) async fn end_sessions(
    tx: &mut AuthTransaction,
    user: u64,
    but: Option<SecretDigest>,
) -> AuthStoreResult<u64> {
    let sessions = tx
        .run(sql::LOCK_SESSIONS_OF, &[&stored_number(user)?])
        .await?;
    let sessions = all(&sessions, auth_rows::session)?;
    tx.apply(rules::end_sessions(user, &sessions, but)).await
}

/// Counts a sign-in attempt, or returns how long it must wait.
pub(super) async fn attempt_login(
    tx: &mut AuthTransaction,
    key: &SecretDigest,
    now: SystemTime,
) -> AuthStoreResult<Option<Duration>> {
    let key = &key.0[..];
    let locked = tx.run(sql::LOCK_LOGIN_ATTEMPTS, &[&key]).await?;
    let none = || AuthStoreError::Unavailable("a count of attempts has no row".to_owned());
    let row = locked.first().ok_or_else(none)?;
    let count = u32::try_from(get::<i64>(row, 0)?).unwrap_or(u32::MAX);
    let last_at = time(row, 1)?;
    let before = (count > 0).then_some(LoginAttempts { count, last_at });
    match LoginAttempts::attempt(before, now) {
        Ok(LoginAttempts { count, last_at }) => {
            let values: Params<'_> = &[&key, &i64::from(count), &millis(last_at)];
            tx.send_last([(sql::PUT_LOGIN_ATTEMPTS, values)]).await?;
            Ok(None)
        }
        Err(wait) => Ok(Some(wait)),
    }
}

/// Stores a new independent token.
pub(super) async fn insert_token(
    tx: &mut AuthTransaction,
    token: TokenRecord,
) -> AuthStoreResult<()> {
    let user = stored_number(token.user)?;
    let account = tx.run(sql::LOCK_ACCOUNT, &[&user]).await?;
    let account = first_account(&account, token.user)?;
    tx.apply(rules::insert_token(account.as_ref(), token)?)
        .await
}

pub(super) async fn revoke_token(
    tx: &mut AuthTransaction,
    id: u64,
    now: SystemTime,
) -> AuthStoreResult<bool> {
    let id = stored_number(id)?;
    let [_, token] = tx
        .send([
            (sql::LOCK_ACCOUNT_OF_TOKEN, &[&id]),
            (sql::STORED_TOKEN, &[&id]),
        ])
        .await?;
    let token = first(&token, |row| auth_rows::record(row, 0))?;
    tx.apply(rules::revoke_token(token.as_ref(), now)).await
}

/// Revokes the tokens of a user and withdraws their authorizations; returns the number of both together.
pub(super) async fn revoke_all(
    tx: &mut AuthTransaction,
    user: u64,
    now: SystemTime,
) -> AuthStoreResult<u64> {
    let key = stored_number(user)?;
    let [_, tokens, apps] = tx
        .send([
            (sql::LOCK_ACCOUNT, &[&key]),
            (sql::LIVE_TOKENS_OF, &[&key]),
            (sql::AUTHORIZED_APPS_OF, &[&key]),
        ])
        .await?;
    let access = access(&tokens, &apps)?;
    tx.apply(rules::revoke_all(user, &access, now)).await
}

/// Creates an account, or sets the tier of the existing one; and stores a login, if one is given.
pub(super) async fn put_account(
    tx: &mut AuthTransaction,
    account: Account,
    login: Option<Login>,
) -> AuthStoreResult<()> {
    let user = stored_number(account.user)?;
    let tier = stored_tier(account.tier);
    let create: Statement<'_> = (sql::CREATE_ACCOUNT, &[&user, &tier, &account.disabled]);
    let [created, stored, stored_login, sessions] = tx
        .send([
            create,
            (sql::LOCK_ACCOUNT, &[&user]),
            (sql::LOGIN_OF, &[&user]),
            (sql::LOCK_SESSIONS_OF, &[&user]),
        ])
        .await?;
    let stored = first_account(&stored, account.user)?.filter(|_| created.is_empty());
    let stored_login = first(&stored_login, auth_rows::login)?;
    let sessions = all(&sessions, auth_rows::session)?;
    let before = (stored.as_ref(), stored_login.as_ref());
    tx.apply(rules::put_account(before, &sessions, account, login))
        .await
}

/// Disables or enables an account, or creates one.
pub(super) async fn set_disabled(
    tx: &mut AuthTransaction,
    user: u64,
    disabled: bool,
    now: SystemTime,
) -> AuthStoreResult<()> {
    let key = stored_number(user)?;
    let tier = stored_tier(Tier::DEFAULT);
    let create: Statement<'_> = (sql::CREATE_ACCOUNT, &[&key, &tier, &disabled]);
    let [created, stored, tokens, apps, sessions] = tx
        .send([
            create,
            (sql::LOCK_ACCOUNT, &[&key]),
            (sql::LIVE_TOKENS_OF, &[&key]),
            (sql::AUTHORIZED_APPS_OF, &[&key]),
            (sql::LOCK_SESSIONS_OF, &[&key]),
        ])
        .await?;
    let stored = first_account(&stored, user)?.filter(|_| created.is_empty());
    let access = access(&tokens, &apps)?;
    let sessions = all(&sessions, auth_rows::session)?;
    let (ends, switch) = ((&access, &*sessions), (user, disabled));
    tx.apply(rules::set_disabled(stored.as_ref(), ends, switch, now))
        .await
}

/// Replaces the hash of a login if it has not changed since it was read.
pub(super) async fn change_password(
    tx: &mut AuthTransaction,
    change: &PasswordChange,
) -> AuthStoreResult<bool> {
    let user = stored_number(change.user)?;
    let [_, login, tokens, apps, sessions] = tx
        .send([
            (sql::LOCK_ACCOUNT, &[&user]),
            (sql::LOGIN_OF, &[&user]),
            (sql::LIVE_TOKENS_OF, &[&user]),
            (sql::AUTHORIZED_APPS_OF, &[&user]),
            (sql::LOCK_SESSIONS_OF, &[&user]),
        ])
        .await?;
    let login = first(&login, auth_rows::login)?;
    let access = access(&tokens, &apps)?;
    let sessions = all(&sessions, auth_rows::session)?;
    let ends = (&access, &*sessions);
    tx.apply(rules::change_password(login.as_ref(), ends, change))
        .await
}
