//! Reads of the records on which decisions about tokens, accounts, apps and sessions depend, in the transaction of the decision.
use crate::cache::StoreCaches;
use crate::statements::Sql;
use crate::tables::auth_rows::{self, number, refused};
use crate::transaction::SqliteTransaction;
use rusqlite::Row;
use std::sync::Arc;
use workgraph_auth::rules::{CodeContext, ConsentContext, RefreshTokenContext, UserAccess};
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, BrowserSession, Login, Secret, SecretDigest,
    TokenRecord,
};

type AuthStoreResult<T> = Result<T, AuthStoreError>;

/// Returns all rows of a statement.
fn all<T>(
    tx: &mut SqliteTransaction<'_>,
    sql: Sql,
    params: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> AuthStoreResult<Vec<T>> {
    let mut rows = Vec::new();
    let each = |row: &Row<'_>| read(row).map(|value| rows.push(value));
    tx.each(sql, params, each).map_err(refused)?;
    Ok(rows)
}

/// Returns the account of a user.
pub(crate) fn account(
    tx: &mut SqliteTransaction<'_>,
    user: u64,
) -> AuthStoreResult<Option<Account>> {
    let read = |row: &Row<'_>| auth_rows::account(row, user, 0);
    tx.one(Sql::Account, [number(user)?], read).map_err(refused)
}

/// Reads the login of a user from a row.
pub(crate) fn read_login(row: &Row<'_>) -> rusqlite::Result<Login> {
    let email: String = row.get(0)?;
    Ok(Login::new(&email, Secret::new(row.get(1)?)))
}

/// Returns the login of a user.
pub(crate) fn login_of(
    tx: &mut SqliteTransaction<'_>,
    user: u64,
) -> AuthStoreResult<Option<Login>> {
    tx.one(Sql::LoginOf, [number(user)?], read_login)
        .map_err(refused)
}

/// Returns the tokens and authorizations of a user that have not ended.
pub(crate) fn access_of(tx: &mut SqliteTransaction<'_>, user: u64) -> AuthStoreResult<UserAccess> {
    let user = number(user)?;
    Ok(UserAccess {
        tokens: all(tx, Sql::LiveTokensOf, [user], |row| {
            auth_rows::record(row, 0)
        })?,
        authorized_apps: all(tx, Sql::AuthorizedAppsOf, [user], |row| row.get(0))?,
    })
}

/// Returns the sessions of a user.
pub(crate) fn sessions_of(
    tx: &mut SqliteTransaction<'_>,
    user: u64,
) -> AuthStoreResult<Vec<BrowserSession>> {
    all(tx, Sql::SessionsOfUser, [number(user)?], auth_rows::session)
}

/// Returns a session.
pub(crate) fn session(
    tx: &mut SqliteTransaction<'_>,
    digest: &SecretDigest,
) -> AuthStoreResult<Option<BrowserSession>> {
    tx.one(Sql::BrowserSession, [digest.0], auth_rows::session)
        .map_err(refused)
}

/// Returns a token without its context.
pub(crate) fn stored_token(
    tx: &mut SqliteTransaction<'_>,
    id: u64,
) -> AuthStoreResult<Option<TokenRecord>> {
    let read = |row: &Row<'_>| auth_rows::record(row, 0);
    tx.one(Sql::StoredToken, [number(id)?], read)
        .map_err(refused)
}

/// Returns an app, even if it is disabled.
pub(crate) fn app(tx: &mut SqliteTransaction<'_>, id: u64) -> AuthStoreResult<Option<App>> {
    tx.one(Sql::App, [number(id)?], |row| auth_rows::app(row, 0))
        .map_err(refused)
}

/// Returns the records on which a consent of a user to an app depends.
pub(crate) fn consent_context(
    tx: &mut SqliteTransaction<'_>,
    user: u64,
    app_id: u64,
) -> AuthStoreResult<ConsentContext> {
    let pair = (number(user)?, number(app_id)?);
    let read = |row: &Row<'_>| auth_rows::authorization(row, 0);
    Ok(ConsentContext {
        account: account(tx, user)?,
        app: app(tx, app_id)?,
        authorization: tx
            .one(Sql::LiveAuthorization, pair, read)
            .map_err(refused)?,
    })
}

/// Returns an authorization, live or not, and the name of its app.
pub(crate) fn named_authorization(
    tx: &mut SqliteTransaction<'_>,
    id: u64,
) -> AuthStoreResult<Option<(Authorization, Option<String>)>> {
    let read = |row: &Row<'_>| Ok((auth_rows::authorization(row, 0)?, row.get(6)?));
    tx.one(Sql::AuthorizationById, [number(id)?], read)
        .map_err(refused)
}

/// Returns a code with the records on which its redemption depends.
pub(crate) fn code_context(
    tx: &mut SqliteTransaction<'_>,
    digest: &SecretDigest,
) -> AuthStoreResult<Option<CodeContext>> {
    tx.one(Sql::CodeContext, [digest.0], auth_rows::code_context)
        .map_err(refused)
}

/// Returns a refresh token with its context: from the cache, unless this commit changes the validity of tokens.
pub(crate) fn refresh_context(
    tx: &mut SqliteTransaction<'_>,
    caches: &StoreCaches,
    id: u64,
) -> AuthStoreResult<Option<Arc<RefreshTokenContext>>> {
    let key = number(id)?;
    let is_cached = !tx.invalidations.tokens;
    let mut read = || {
        let found = tx.one(Sql::TokenById, [key], auth_rows::refresh_context);
        Ok(found.map_err(refused)?.map(Arc::new))
    };
    if is_cached {
        let cache = &caches.refresh_tokens;
        cache.get_or_read(id, cache.epoch(), read)
    } else {
        read()
    }
}
