//! Conversion between rows and the values of tokens, accounts, apps, authorizations, codes and sessions.
use crate::columns::{number, whole};
use crate::stored_values::{
    Stored, digest, get, maybe_number, maybe_text, maybe_time, not_a, text, time,
};
use tokio_postgres::Row;
use workgraph_auth::authorization::pkce::CodeChallenge;
use workgraph_auth::rules::{CodeContext, RefreshTokenContext, TokenAncestors};
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, AuthorizationCode, BrowserSession, Login,
    RedirectUri, RegisteredScopes, ScopeRegistry, ScopeSet, Secret, SecretDigest, Tier, TokenKind,
    TokenRecord,
};

/// Scopes whose names are in the tables.
const SCOPES: ScopeRegistry = ScopeRegistry::of(&workgraph_core::scopes::SCOPES);

/// First columns of a token's context, and of its account, in the statements that read a token.
const REFRESH_ID: usize = 13;
const AUTHORIZATION: usize = 14;
const APP: usize = 20;
const REFRESH: usize = 30;
const ACCOUNT: usize = 43;

/// First columns of the records that follow a code.
const AUTHORIZATION_OF_CODE: usize = 13;
const APP_OF_CODE: usize = 19;
const ACCOUNT_OF_CODE: usize = 29;

/// Converts a number to its stored form.
///
/// # Errors
/// Fails if it is too large to be stored.
pub(crate) fn stored_number(n: u64) -> Result<i64, AuthStoreError> {
    Ok(whole(n)?)
}

/// Converts a number that may be missing to its stored form.
///
/// # Errors
/// Fails if it is too large to be stored.
pub(crate) fn maybe_stored(n: Option<u64>) -> Result<Option<i64>, AuthStoreError> {
    n.map(stored_number).transpose()
}

fn scopes(row: &Row, at: usize) -> Stored<ScopeSet> {
    SCOPES
        .parse(get(row, at)?)
        .map_err(|_| not_a(at, "set of scopes"))
}

/// Returns the stored text of a list of numbers.
pub(crate) fn numbers_text(list: &[u64]) -> String {
    let texts: Vec<String> = list.iter().map(u64::to_string).collect();
    texts.join(" ")
}

fn numbers(row: &Row, at: usize) -> Stored<Vec<u64>> {
    let text: &str = get(row, at)?;
    let all: Result<_, _> = text.split_ascii_whitespace().map(str::parse).collect();
    all.map_err(|_| not_a(at, "list of numbers"))
}

/// Returns the stored text of redirect URLs; none of them contains a line break.
pub(crate) fn redirects_text(list: &[RedirectUri]) -> String {
    let texts: Vec<&str> = list.iter().map(RedirectUri::as_str).collect();
    texts.join("\n")
}

fn redirects(row: &Row, at: usize) -> Stored<Vec<RedirectUri>> {
    let text: &str = get(row, at)?;
    let all: Result<_, _> = text.lines().map(RedirectUri::stored).collect();
    all.map_err(|_| not_a(at, "list of redirect URLs"))
}

/// Returns the joined value that begins at a column with a number; `None` if the column is null, because no row was joined.
fn joined<T>(
    row: &Row,
    from: usize,
    read: impl FnOnce(&Row, usize) -> Stored<T>,
) -> Stored<Option<T>> {
    match get::<Option<i64>>(row, from)? {
        None => Ok(None),
        Some(_) => read(row, from).map(Some),
    }
}

/// Returns the stored token, without its token context.
pub(crate) fn record(row: &Row, from: usize) -> Stored<TokenRecord> {
    let kind = TokenKind::from_name(get(row, from + 2)?)
        .ok_or_else(|| not_a(from + 2, "kind of token"))?;
    Ok(TokenRecord {
        id: number(row, from)?,
        digest: digest(row, from + 1)?,
        kind,
        user: number(row, from + 3)?,
        app: maybe_number(row, from + 4)?,
        grant: maybe_number(row, from + 5)?,
        workspace: maybe_number(row, from + 6)?,
        scopes: scopes(row, from + 7)?,
        description: text(row, from + 8)?,
        created_at: time(row, from + 9)?,
        expires_at: maybe_time(row, from + 10)?,
        revoked_at: maybe_time(row, from + 11)?,
        last_used_at: maybe_time(row, from + 12)?,
        allowed_workspaces: None,
    })
}

/// Returns the records on which a token depends, in the columns of its context.
fn ancestors(row: &Row) -> Stored<TokenAncestors> {
    Ok(TokenAncestors {
        authorization: joined(row, AUTHORIZATION, authorization)?,
        app: joined(row, APP, app)?,
        refresh: joined(row, REFRESH, record)?,
    })
}

/// Returns a refresh token with its account and its context.
pub(crate) fn refresh_context(row: &Row) -> Stored<RefreshTokenContext> {
    let stored = record(row, 0)?;
    let account = account(row, stored.user, ACCOUNT)?;
    Ok(RefreshTokenContext::new(&stored, account, ancestors(row)?))
}

/// Returns a code with its authorization, its app and the account of its user.
pub(crate) fn code_context(row: &Row) -> Stored<CodeContext> {
    let account = |row: &Row, at| account(row, number(row, at)?, at + 1);
    Ok(CodeContext {
        code: code(row)?,
        authorization: joined(row, AUTHORIZATION_OF_CODE, authorization)?,
        app: joined(row, APP_OF_CODE, app)?,
        account: joined(row, ACCOUNT_OF_CODE, account)?,
    })
}

/// Returns the effective record of a token, with the context in the same row.
pub(crate) fn effective_token(row: &Row) -> Stored<TokenRecord> {
    let stored = record(row, 0)?;
    if get::<Option<i64>>(row, REFRESH_ID)?.is_none() {
        return Ok(stored);
    }
    Ok(ancestors(row)?.effective(&stored))
}

/// Returns the effective record of a token, and its account.
pub(crate) fn token_and_account(row: &Row) -> Stored<(TokenRecord, Account)> {
    let token = effective_token(row)?;
    let account = account(row, token.user, ACCOUNT)?;
    Ok((token, account))
}

/// Returns the stored form of a tier.
pub(crate) fn stored_tier(tier: Tier) -> i16 {
    i16::from(tier.number())
}

/// Returns the account of a user, with the tier in column `at` and the disabled flag in the next column.
pub(crate) fn account(row: &Row, user: u64, at: usize) -> Stored<Account> {
    let tier = u8::try_from(get::<i16>(row, at)?).map_err(|_| not_a(at, "tier"))?;
    Ok(Account {
        user,
        tier: Tier::new(tier),
        disabled: get(row, at + 1)?,
    })
}

/// Returns the login in the columns `email, hash`.
pub(crate) fn login(row: &Row) -> Stored<Login> {
    Ok(Login::new(&text(row, 0)?, Secret::new(text(row, 1)?)))
}

/// Returns the authorization that begins at a column.
pub(crate) fn authorization(row: &Row, from: usize) -> Stored<Authorization> {
    Ok(Authorization {
        id: number(row, from)?,
        user: number(row, from + 1)?,
        app: number(row, from + 2)?,
        scopes: scopes(row, from + 3)?,
        created_at: time(row, from + 4)?,
        revoked_at: maybe_time(row, from + 5)?,
    })
}

/// Returns the app that begins at a column.
pub(crate) fn app(row: &Row, from: usize) -> Stored<App> {
    let secret: Option<&[u8]> = get(row, from + 2)?;
    let secret = secret
        .map(<[u8; 32]>::try_from)
        .transpose()
        .map_err(|_| not_a(from + 2, "digest"))?;
    Ok(App {
        id: number(row, from)?,
        name: text(row, from + 1)?,
        secret: secret.map(SecretDigest),
        redirects: redirects(row, from + 3)?,
        scopes: RegisteredScopes::from_set(scopes(row, from + 4)?),
        distribution: numbers(row, from + 5)?,
        disabled_in: numbers(row, from + 6)?,
        owner: number(row, from + 7)?,
        created_at: time(row, from + 8)?,
        disabled_at: maybe_time(row, from + 9)?,
    })
}

/// Returns the joined authorization that begins at a column and the joined app after it; `None` for one that is missing.
pub(crate) fn joined_authorization(
    row: &Row,
    from: usize,
) -> Stored<(Option<Authorization>, Option<App>)> {
    let app_column = from + (APP - AUTHORIZATION);
    Ok((
        joined(row, from, authorization)?,
        joined(row, app_column, app)?,
    ))
}

/// Returns the browser session in the first columns of a row.
pub(crate) fn session(row: &Row) -> Stored<BrowserSession> {
    let created_at = time(row, 2)?;
    let address: Option<&str> = get(row, 5)?;
    Ok(BrowserSession {
        digest: digest(row, 0)?,
        user: number(row, 1)?,
        created_at,
        expires_at: time(row, 3)?,
        last_used_at: maybe_time(row, 4)?.unwrap_or(created_at),
        address: address.and_then(|text| text.parse().ok()),
    })
}

pub(crate) fn code(row: &Row) -> Stored<AuthorizationCode> {
    let challenge: Option<&str> = get(row, 5)?;
    let challenge = challenge
        .map(|text| CodeChallenge::parse(text).ok_or_else(|| not_a(5, "challenge")))
        .transpose()?;
    Ok(AuthorizationCode {
        digest: digest(row, 0)?,
        app: number(row, 1)?,
        user: number(row, 2)?,
        grant: number(row, 3)?,
        redirect: text(row, 4)?,
        challenge,
        scopes: scopes(row, 6)?,
        nonce: maybe_text(row, 7)?,
        auth_time: time(row, 8)?,
        created_at: time(row, 9)?,
        expires_at: time(row, 10)?,
        used_at: maybe_time(row, 11)?,
        refresh: maybe_number(row, 12)?,
    })
}
