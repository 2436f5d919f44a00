//! Writes of decisions about tokens, accounts, apps and sessions, with the audit rows of their acts.
use crate::statements::Sql;
use crate::tables::audit_log_table::HandleActor;
use crate::tables::auth_rows::{millis, number, numbers_text, redirects_text, refused};
use crate::tables::webhook_table::{delete_orphaned_webhooks, delete_webhooks_of};
use crate::transaction::SqliteTransaction;
use rusqlite::params;
use std::time::SystemTime;
use workgraph_auth::rules::{AuthDecision, AuthWrite};
use workgraph_auth::{App, AuthStoreError, AuthorizationCode, BrowserSession, TokenRecord};

type AuthStoreResult<T> = Result<T, AuthStoreError>;

/// Makes the writes of a decision, with the audit rows of its acts; returns its outcome. An error undoes the writes.
pub(crate) fn apply<T>(
    tx: &mut SqliteTransaction<'_>,
    by: &HandleActor,
    decision: AuthDecision<T>,
) -> AuthStoreResult<T> {
    for write in &decision.writes {
        let is_changed = make(tx, write)? > 0;
        tx.invalidations.tokens |= is_changed && write.changes_found_tokens();
    }
    for act in &decision.acts {
        by.record_act(tx, act)?;
    }
    Ok(decision.outcome)
}

/// Makes a write; returns the number of rows that it changed.
fn make(tx: &mut SqliteTransaction<'_>, write: &AuthWrite) -> AuthStoreResult<usize> {
    let done = match write {
        AuthWrite::InsertApp(app) => return put_app(tx, Sql::InsertApp, app),
        AuthWrite::ReplaceApp(app) => return put_app(tx, Sql::ReplaceApp, app),
        AuthWrite::InsertCode(code) => return insert_code(tx, code),
        AuthWrite::InsertToken { token, refresh } => return insert_token(tx, token, *refresh),
        AuthWrite::InsertSession(session) => return insert_session(tx, session),
        AuthWrite::DeleteOrphanedWebhooks { user, app } => {
            return delete_orphaned_webhooks(tx, *user, *app);
        }
        AuthWrite::DeleteWebhooksOf(user) => return delete_webhooks_of(tx, *user),
        AuthWrite::PutAccount(account) => {
            let tier = account.tier.number();
            let params = (number(account.user)?, tier, account.disabled);
            tx.run(Sql::PutAccount, params)
        }
        AuthWrite::SetTier(user, tier) => tx.run(Sql::SetTier, (number(*user)?, tier.number())),
        AuthWrite::PutLogin(user, login) => {
            let params = (number(*user)?, login.email(), login.hash().expose());
            tx.run(Sql::PutLogin, params)
        }
        AuthWrite::PutPasswordHash(user, hash) => {
            tx.run(Sql::PutPasswordHash, (number(*user)?, hash.expose()))
        }
        AuthWrite::InsertTicket(ticket, at) => tx.run(Sql::InsertTicket, (ticket.0, millis(*at))),
        AuthWrite::InsertAuthorization(new) => {
            let (id, user, app) = (number(new.id)?, number(new.user)?, number(new.app)?);
            let (scopes, created_at) = (new.scopes.to_string(), millis(new.created_at));
            let params = (id, user, app, scopes, created_at);
            tx.run(Sql::InsertAuthorization, params)
        }
        AuthWrite::SetScopes(id, scopes) => {
            tx.run(Sql::SetScopes, (number(*id)?, scopes.to_string()))
        }
        AuthWrite::WithdrawAuthorization { id, at, .. } => {
            tx.run(Sql::WithdrawAuthorization, (number(*id)?, millis(*at)))
        }
        AuthWrite::WithdrawAuthorizationsOf(user, at) => {
            tx.run(Sql::WithdrawAuthorizationsOf, (number(*user)?, millis(*at)))
        }
        AuthWrite::SpendCode { code, at, refresh } => {
            let params = (code.0, millis(*at), refresh.map(number).transpose()?);
            tx.run(Sql::SpendCode, params)
        }
        AuthWrite::RevokeToken { id, at, .. } => {
            tx.run(Sql::RevokeToken, (number(*id)?, millis(*at)))
        }
        AuthWrite::RevokeTokensOf(user, at) => {
            tx.run(Sql::RevokeTokensOf, (number(*user)?, millis(*at)))
        }
        AuthWrite::DeleteSession(digest) => tx.run(Sql::DeleteSession, [digest.0]),
        AuthWrite::DeleteSessionsOf(user, but) => {
            let params = (number(*user)?, but.map(|digest| digest.0));
            tx.run(Sql::DeleteSessionsOf, params)
        }
    };
    done.map_err(refused)
}

fn put_app(tx: &mut SqliteTransaction<'_>, sql: Sql, app: &App) -> AuthStoreResult<usize> {
    let params = params![
        number(app.id)?,
        app.name,
        app.secret.map(|digest| digest.0),
        redirects_text(&app.redirects),
        app.scopes.set().to_string(),
        numbers_text(&app.distribution),
        numbers_text(&app.disabled_in),
        number(app.owner)?,
        millis(app.created_at),
        app.disabled_at.map(millis),
    ];
    tx.run(sql, params).map_err(refused)
}

fn insert_code(tx: &mut SqliteTransaction<'_>, code: &AuthorizationCode) -> AuthStoreResult<usize> {
    let params = params![
        code.digest.0,
        number(code.app)?,
        number(code.user)?,
        number(code.grant)?,
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
    tx.run(Sql::InsertCode, params).map_err(refused)
}

fn insert_token(
    tx: &mut SqliteTransaction<'_>,
    token: &TokenRecord,
    refresh: Option<u64>,
) -> AuthStoreResult<usize> {
    let maybe = |n: Option<u64>| n.map(number).transpose();
    let params = params![
        number(token.id)?,
        token.digest.0,
        token.kind.name(),
        number(token.user)?,
        maybe(token.app)?,
        maybe(token.grant)?,
        maybe(token.workspace)?,
        token.scopes.to_string(),
        token.description,
        millis(token.created_at),
        token.expires_at.map(millis),
        token.revoked_at.map(millis),
        token.last_used_at.map(millis),
        maybe(refresh)?,
    ];
    tx.run(Sql::InsertToken, params).map_err(refused)
}

fn insert_session(
    tx: &mut SqliteTransaction<'_>,
    session: &BrowserSession,
) -> AuthStoreResult<usize> {
    let params = (
        session.digest.0,
        number(session.user)?,
        millis(session.created_at),
        millis(session.expires_at),
        millis(session.last_used_at),
        session.address.map(|address| address.to_string()),
    );
    tx.run(Sql::InsertSession, params).map_err(refused)
}

/// Records the last uses of tokens.
pub(crate) fn record_token_uses(
    tx: &mut SqliteTransaction<'_>,
    used: &[(u64, SystemTime)],
) -> AuthStoreResult<()> {
    for (id, at) in used {
        let params = (number(*id)?, millis(*at));
        let is_changed = tx.run(Sql::TouchToken, params).map_err(refused)? > 0;
        tx.invalidations.tokens |= is_changed;
    }
    Ok(())
}
