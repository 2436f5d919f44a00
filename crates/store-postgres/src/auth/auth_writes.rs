//! Statements that make the writes of decisions about tokens, accounts, apps and sessions.
use super::auth_rows::{maybe_stored, numbers_text, redirects_text, stored_number, stored_tier};
use super::statements as sql;
use crate::params::{OwnedParams, owned_params};
use crate::statement_list::OwnedStatement;
use crate::stored_values::{millis, text_to_store};
use workgraph_auth::rules::AuthWrite;
use workgraph_auth::{App, AuthStoreError, AuthorizationCode, BrowserSession, TokenRecord};

/// Returns the statements that make these writes, in their order.
pub(super) fn statements_of(writes: &[AuthWrite]) -> Result<Vec<OwnedStatement>, AuthStoreError> {
    let mut statements = Vec::with_capacity(writes.len());
    for write in writes {
        // A token may only be revoked by a transaction that has locked the account.
        if let AuthWrite::RevokeToken { user, .. } = write {
            statements.push((sql::LOCK_ACCOUNT, owned_params![stored_number(*user)?]));
        }
        statements.push(statement_of(write)?);
    }
    Ok(statements)
}

fn statement_of(write: &AuthWrite) -> Result<OwnedStatement, AuthStoreError> {
    let owned = |text: &str| text_to_store(text).into_owned();
    Ok(match write {
        AuthWrite::InsertApp(app) => (sql::INSERT_APP, app_params(app)?),
        AuthWrite::ReplaceApp(app) => (sql::REPLACE_APP, app_params(app)?),
        AuthWrite::InsertCode(code) => (sql::INSERT_CODE, code_params(code)?),
        AuthWrite::InsertToken { token, refresh } => {
            (sql::INSERT_TOKEN, token_params(token, *refresh)?)
        }
        AuthWrite::InsertSession(session) => (sql::INSERT_SESSION, session_params(session)?),
        AuthWrite::PutAccount(account) => {
            let (user, tier) = (stored_number(account.user)?, stored_tier(account.tier));
            (
                sql::PUT_ACCOUNT,
                owned_params![user, tier, account.disabled],
            )
        }
        AuthWrite::SetTier(user, tier) => {
            let params = owned_params![stored_number(*user)?, stored_tier(*tier)];
            (sql::SET_TIER, params)
        }
        AuthWrite::PutLogin(user, login) => {
            let (email, hash) = (owned(login.email()), owned(login.hash().expose()));
            (
                sql::PUT_LOGIN,
                owned_params![stored_number(*user)?, email, hash],
            )
        }
        AuthWrite::PutPasswordHash(user, hash) => {
            let params = owned_params![stored_number(*user)?, owned(hash.expose())];
            (sql::PUT_PASSWORD_HASH, params)
        }
        AuthWrite::InsertTicket(ticket, at) => (
            sql::INSERT_TICKET,
            owned_params![ticket.0.to_vec(), millis(*at)],
        ),
        AuthWrite::InsertAuthorization(new) => {
            let params = owned_params![
                stored_number(new.id)?,
                stored_number(new.user)?,
                stored_number(new.app)?,
                new.scopes.to_string(),
                millis(new.created_at),
            ];
            (sql::INSERT_AUTHORIZATION, params)
        }
        AuthWrite::SetScopes(id, scopes) => {
            let params = owned_params![stored_number(*id)?, scopes.to_string()];
            (sql::SET_SCOPES, params)
        }
        AuthWrite::WithdrawAuthorization { id, at, .. } => {
            let params = owned_params![stored_number(*id)?, millis(*at)];
            (sql::WITHDRAW_AUTHORIZATION, params)
        }
        AuthWrite::WithdrawAuthorizationsOf(user, at) => {
            let params = owned_params![stored_number(*user)?, millis(*at)];
            (sql::WITHDRAW_AUTHORIZATIONS_OF, params)
        }
        AuthWrite::SpendCode { code, at, refresh } => {
            let params = owned_params![code.0.to_vec(), millis(*at), maybe_stored(*refresh)?];
            (sql::SPEND_CODE, params)
        }
        AuthWrite::RevokeToken { id, at, .. } => (
            sql::REVOKE_TOKEN,
            owned_params![stored_number(*id)?, millis(*at)],
        ),
        AuthWrite::RevokeTokensOf(user, at) => {
            let params = owned_params![stored_number(*user)?, millis(*at)];
            (sql::REVOKE_TOKENS_OF, params)
        }
        AuthWrite::DeleteSession(digest) => (sql::DELETE_SESSION, owned_params![digest.0.to_vec()]),
        AuthWrite::DeleteSessionsOf(user, but) => {
            let but = but.map(|digest| digest.0.to_vec());
            (
                sql::DELETE_SESSIONS_OF,
                owned_params![stored_number(*user)?, but],
            )
        }
        AuthWrite::DeleteOrphanedWebhooks { user, .. } => (
            sql::DROP_ORPHANED_HOOKS,
            owned_params![stored_number(*user)?],
        ),
        AuthWrite::DeleteWebhooksOf(user) => (
            sql::DROP_HOOKS_OF_USER,
            owned_params![stored_number(*user)?],
        ),
    })
}

fn app_params(app: &App) -> Result<OwnedParams, AuthStoreError> {
    Ok(owned_params![
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

fn code_params(code: &AuthorizationCode) -> Result<OwnedParams, AuthStoreError> {
    let nonce = code.nonce.as_deref();
    Ok(owned_params![
        code.digest.0.to_vec(),
        stored_number(code.app)?,
        stored_number(code.user)?,
        stored_number(code.grant)?,
        text_to_store(&code.redirect).into_owned(),
        code.challenge.map(|challenge| challenge.to_string()),
        code.scopes.to_string(),
        nonce.map(|nonce| text_to_store(nonce).into_owned()),
        millis(code.auth_time),
        millis(code.created_at),
        millis(code.expires_at),
        code.used_at.map(millis),
        maybe_stored(code.refresh)?,
    ])
}

fn token_params(token: &TokenRecord, refresh: Option<u64>) -> Result<OwnedParams, AuthStoreError> {
    Ok(owned_params![
        stored_number(token.id)?,
        token.digest.0.to_vec(),
        token.kind.name(),
        stored_number(token.user)?,
        maybe_stored(token.app)?,
        maybe_stored(token.grant)?,
        maybe_stored(token.workspace)?,
        token.scopes.to_string(),
        text_to_store(&token.description).into_owned(),
        millis(token.created_at),
        token.expires_at.map(millis),
        token.revoked_at.map(millis),
        token.last_used_at.map(millis),
        maybe_stored(refresh)?,
    ])
}

fn session_params(session: &BrowserSession) -> Result<OwnedParams, AuthStoreError> {
    Ok(owned_params![
        session.digest.0.to_vec(),
        stored_number(session.user)?,
        millis(session.created_at),
        millis(session.expires_at),
        millis(session.last_used_at),
        session.address.map(|address| address.to_string()),
    ])
}
