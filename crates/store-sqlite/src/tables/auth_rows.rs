//! Conversion between rows and the values of tokens, accounts, apps, authorizations and codes.
use crate::transaction::gid;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{ErrorCode, Row};
use std::time::SystemTime;
use workgraph_auth::authorization::pkce::CodeChallenge;
use workgraph_auth::rules::{CodeContext, RefreshTokenContext, TokenAncestors};
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, AuthorizationCode, BrowserSession, RedirectUri,
    RegisteredScopes, ScopeRegistry, ScopeSet, SecretDigest, Tier, TokenKind, TokenRecord,
};
use workgraph_core::model::time::Time;
use workgraph_core::storage;

/// Scopes whose names are in the tables.
const SCOPES: ScopeRegistry = ScopeRegistry::of(&workgraph_core::scopes::SCOPES);

/// First columns of a token's context, and of its account.
const REFRESH_ID: usize = 13;
const AUTHORIZATION: usize = 14;
const APP: usize = 20;
const REFRESH: usize = 30;
const ACCOUNT: usize = 43;

/// First columns of the records that follow a code.
const AUTHORIZATION_OF_CODE: usize = 13;
const APP_OF_CODE: usize = 19;
const ACCOUNT_OF_CODE: usize = 29;

/// Converts the error of a write: a violated constraint means that a unique value is taken.
pub(crate) fn refused(error: rusqlite::Error) -> AuthStoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => AuthStoreError::Conflict,
        _ => AuthStoreError::Unavailable(error.to_string()),
    }
}

/// Converts the error of a read.
pub(crate) fn unavailable(error: storage::GraphStoreError) -> AuthStoreError {
    AuthStoreError::Unavailable(error.to_string())
}

/// Converts a number to its stored form.
pub(crate) fn number(n: u64) -> Result<i64, AuthStoreError> {
    i64::try_from(n)
        .map_err(|_| AuthStoreError::Unavailable(format!("{n} is too large to be kept")))
}

/// Converts a time to its stored form, in milliseconds.
pub(crate) fn millis(at: SystemTime) -> i64 {
    Time::from_system(at).millis()
}

/// Returns the time in a column.
pub(crate) fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<SystemTime> {
    row.get(at).map(|ms| Time::from_millis(ms).to_system())
}

/// Returns the time in a column that may be null.
pub(crate) fn maybe_time(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<SystemTime>> {
    let ms: Option<i64> = row.get(at)?;
    Ok(ms.map(|ms| Time::from_millis(ms).to_system()))
}

/// Returns the number in a column.
pub(crate) fn whole(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let n: i64 = row.get(at)?;
    u64::try_from(n).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, n))
}

/// Returns the number in a column that may be null.
pub(crate) fn maybe_number(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<u64>> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        _ => whole(row, at).map(Some),
    }
}

fn unreadable(at: usize, what: &str) -> rusqlite::Error {
    let reason = format!("not a {what} this program knows");
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, reason.into())
}

fn scopes(row: &Row<'_>, at: usize) -> rusqlite::Result<ScopeSet> {
    SCOPES
        .parse(row.get_ref(at)?.as_str()?)
        .map_err(|_| unreadable(at, "set of scopes"))
}

/// Returns the stored text of a list of numbers.
pub(crate) fn numbers_text(list: &[u64]) -> String {
    let texts: Vec<String> = list.iter().map(u64::to_string).collect();
    texts.join(" ")
}

fn numbers(row: &Row<'_>, at: usize) -> rusqlite::Result<Vec<u64>> {
    let texts = row.get_ref(at)?.as_str()?.split_ascii_whitespace();
    let all: Result<_, _> = texts.map(str::parse).collect();
    all.map_err(|_| unreadable(at, "list of numbers"))
}

/// Returns the stored text of redirect URLs; none of them contains a line break.
pub(crate) fn redirects_text(list: &[RedirectUri]) -> String {
    let texts: Vec<&str> = list.iter().map(RedirectUri::as_str).collect();
    texts.join("\n")
}

fn redirects(row: &Row<'_>, at: usize) -> rusqlite::Result<Vec<RedirectUri>> {
    let texts = row.get_ref(at)?.as_str()?.lines();
    let all: Result<_, _> = texts.map(RedirectUri::stored).collect();
    all.map_err(|_| unreadable(at, "list of redirect URLs"))
}

/// Returns the joined value that begins at a column; `None` if the column is null, because no row was joined.
fn joined<T>(
    row: &Row<'_>,
    from: usize,
    read: impl FnOnce(&Row<'_>, usize) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(from)? {
        ValueRef::Null => Ok(None),
        _ => read(row, from).map(Some),
    }
}

/// Returns the stored token, without its token context.
pub(crate) fn record(row: &Row<'_>, from: usize) -> rusqlite::Result<TokenRecord> {
    let kind = TokenKind::from_name(row.get_ref(from + 2)?.as_str()?)
        .ok_or_else(|| unreadable(from + 2, "kind of token"))?;
    Ok(TokenRecord {
        id: gid(row, from)?.get(),
        digest: SecretDigest(row.get(from + 1)?),
        kind,
        user: gid(row, from + 3)?.get(),
        app: maybe_number(row, from + 4)?,
        grant: maybe_number(row, from + 5)?,
        workspace: maybe_number(row, from + 6)?,
        scopes: scopes(row, from + 7)?,
        description: row.get(from + 8)?,
        created_at: time(row, from + 9)?,
        expires_at: maybe_time(row, from + 10)?,
        revoked_at: maybe_time(row, from + 11)?,
        last_used_at: maybe_time(row, from + 12)?,
        allowed_workspaces: None,
    })
}

/// Returns the records on which a token depends, in the columns of its context.
fn ancestors(row: &Row<'_>) -> rusqlite::Result<TokenAncestors> {
    Ok(TokenAncestors {
        authorization: joined(row, AUTHORIZATION, authorization)?,
        app: joined(row, APP, app)?,
        refresh: joined(row, REFRESH, record)?,
    })
}

/// Returns a refresh token with its account and its context.
pub(crate) fn refresh_context(row: &Row<'_>) -> rusqlite::Result<RefreshTokenContext> {
    let stored = record(row, 0)?;
    let account = account(row, stored.user, ACCOUNT)?;
    Ok(RefreshTokenContext::new(&stored, account, ancestors(row)?))
}

/// Returns a code with its authorization, its app and the account of its user.
pub(crate) fn code_context(row: &Row<'_>) -> rusqlite::Result<CodeContext> {
    let code = code(row)?;
    let account = |row: &Row<'_>, at| account(row, code.user, at);
    Ok(CodeContext {
        authorization: joined(row, AUTHORIZATION_OF_CODE, authorization)?,
        app: joined(row, APP_OF_CODE, app)?,
        account: joined(row, ACCOUNT_OF_CODE, account)?,
        code,
    })
}

/// Returns the effective record of a token, with the context in the same row.
pub(crate) fn effective_token(row: &Row<'_>) -> rusqlite::Result<TokenRecord> {
    let kept = record(row, 0)?;
    if row.get_ref(REFRESH_ID)? == ValueRef::Null {
        return Ok(kept);
    }
    Ok(ancestors(row)?.effective(&kept))
}

/// Returns the effective record of a token, and its account.
pub(crate) fn found(row: &Row<'_>) -> rusqlite::Result<(TokenRecord, Account)> {
    let left = effective_token(row)?;
    let account = account(row, left.user, ACCOUNT)?;
    Ok((left, account))
}

/// Returns the account of a user, with the tier in column `at` and the disabled flag in the next column.
pub(crate) fn account(row: &Row<'_>, user: u64, at: usize) -> rusqlite::Result<Account> {
    Ok(Account {
        user,
        tier: Tier::new(row.get(at)?),
        disabled: row.get(at + 1)?,
    })
}

/// Returns the authorization that begins at a column.
pub(crate) fn authorization(row: &Row<'_>, from: usize) -> rusqlite::Result<Authorization> {
    Ok(Authorization {
        id: whole(row, from)?,
        user: whole(row, from + 1)?,
        app: whole(row, from + 2)?,
        scopes: scopes(row, from + 3)?,
        created_at: time(row, from + 4)?,
        revoked_at: maybe_time(row, from + 5)?,
    })
}

/// Returns the app that begins at a column.
pub(crate) fn app(row: &Row<'_>, from: usize) -> rusqlite::Result<App> {
    let secret: Option<[u8; 32]> = row.get(from + 2)?;
    Ok(App {
        id: whole(row, from)?,
        name: row.get(from + 1)?,
        secret: secret.map(SecretDigest),
        redirects: redirects(row, from + 3)?,
        scopes: RegisteredScopes::from_set(scopes(row, from + 4)?),
        distribution: numbers(row, from + 5)?,
        disabled_in: numbers(row, from + 6)?,
        owner: whole(row, from + 7)?,
        created_at: time(row, from + 8)?,
        disabled_at: maybe_time(row, from + 9)?,
    })
}

/// Returns the browser session in a row of the columns [`session_cols`](crate::statements).
pub(crate) fn session(row: &Row<'_>) -> rusqlite::Result<BrowserSession> {
    let created_at = time(row, 2)?;
    let address: Option<String> = row.get(5)?;
    Ok(BrowserSession {
        digest: SecretDigest(row.get(0)?),
        user: whole(row, 1)?,
        created_at,
        expires_at: time(row, 3)?,
        last_used_at: maybe_time(row, 4)?.unwrap_or(created_at),
        address: address.and_then(|text| text.parse().ok()),
    })
}

pub(crate) fn code(row: &Row<'_>) -> rusqlite::Result<AuthorizationCode> {
    let challenge = joined(row, 5, |row, at| {
        CodeChallenge::parse(row.get_ref(at)?.as_str()?).ok_or_else(|| unreadable(at, "challenge"))
    })?;
    Ok(AuthorizationCode {
        digest: SecretDigest(row.get(0)?),
        app: whole(row, 1)?,
        user: whole(row, 2)?,
        grant: whole(row, 3)?,
        redirect: row.get(4)?,
        challenge,
        scopes: scopes(row, 6)?,
        nonce: row.get(7)?,
        auth_time: time(row, 8)?,
        created_at: time(row, 9)?,
        expires_at: time(row, 10)?,
        used_at: maybe_time(row, 11)?,
        refresh: maybe_number(row, 12)?,
    })
}
