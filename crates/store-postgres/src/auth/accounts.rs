//! Writes of accounts and their logins, and of everything that ends with them.
use super::AuthStoreResult;
use super::audit_events::AuditEvent;
use super::auth_rows::{self, stored_number, stored_tier};
use super::auth_transaction::AuthTransaction;
use super::statements as sql;
use crate::columns::number;
use crate::database_error::DatabaseError;
use crate::stored_values::{Stored, get, maybe_text, millis, not_a, text, text_to_store};
use std::time::SystemTime;
use tokio_postgres::Row;
use workgraph_auth::{
    Account, AuthStoreError, Login, PasswordChange, SecretDigest, Tier, TokenKind,
};
use workgraph_core::audit::event_kinds;

/// Locks the account of a user, and returns it; see the order of locks in [`super`].
pub(super) async fn lock_account(
    tx: &mut AuthTransaction,
    user: u64,
) -> AuthStoreResult<Option<Account>> {
    let rows = tx.run(sql::LOCK_ACCOUNT, &[&stored_number(user)?]).await?;
    first_account(&rows, user)
}

/// Returns the account in the first row, if there is one.
pub(super) fn first_account(rows: &[Row], user: u64) -> AuthStoreResult<Option<Account>> {
    let account = rows.first().map(|row| auth_rows::account(row, user, 0));
    Ok(account.transpose()?)
}

/// Returns true if an account exists and is switched on.
pub(super) fn is_on(account: Option<&Account>) -> bool {
    account.is_some_and(|account| !account.disabled)
}

/// Creates an account, or sets the tier of the existing one; and creates a login, if one is given.
pub(super) async fn put_account(
    tx: &mut AuthTransaction,
    account: &Account,
    login: Option<&Login>,
) -> AuthStoreResult<()> {
    let user = stored_number(account.user)?;
    let put: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
        [&user, &stored_tier(account.tier), &account.disabled];
    let Some(login) = login else {
        tx.send_last([(sql::PUT_ACCOUNT, &put)]).await?;
        return Ok(());
    };
    // From here on the account exists, so that it can be locked.
    let [_, _, before] = tx
        .send([
            (sql::PUT_ACCOUNT, &put),
            (sql::LOCK_ACCOUNT, &[&user]),
            (sql::LOGIN_OF, &[&user]),
        ])
        .await?;
    let before = before.first().map(auth_rows::login).transpose()?;
    let (email, hash) = (
        text_to_store(login.email()),
        text_to_store(login.hash().expose()),
    );
    let stored = tx.run(sql::PUT_LOGIN, &[&user, &&*email, &&*hash]).await;
    stored.map_err(taken_login)?;
    let new_hash = |before: &Login| before.hash().expose() != login.hash().expose();
    let changed_hash = before.as_ref().is_none_or(new_hash);
    if changed_hash && before.is_some() {
        tx.record(AuditEvent::of_user(
            event_kinds::PASSWORD_CHANGED,
            account.user,
        ));
    }
    if changed_hash || before.is_some_and(|before| before.email() != login.email()) {
        end_sessions(tx, account.user, None).await?;
    }
    Ok(())
}

/// Converts the error of storing a login. If two accounts take each other's address at the same time, they wait for each other,
/// and the database refuses one of them.
fn taken_login(error: DatabaseError) -> AuthStoreError {
    match error {
        DatabaseError::Failed(text) if text.contains("40P01") => AuthStoreError::Conflict,
        other => other.into(),
    }
}

/// Changes the tier of an account, or creates one.
pub(super) async fn set_tier(
    tx: &mut AuthTransaction,
    user: u64,
    tier: Tier,
) -> AuthStoreResult<()> {
    put_account(tx, &Account::new(user, tier), None).await
}

/// Switches an account off or on; an account that is off has no session, no token and no app.
pub(super) async fn set_disabled(
    tx: &mut AuthTransaction,
    user: u64,
    disabled: bool,
    now: SystemTime,
) -> AuthStoreResult<()> {
    let before = lock_account(tx, user).await?;
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
        [&stored_number(user)?, &disabled];
    tx.run(sql::SWITCH_ACCOUNT, &params).await?;
    match (before.map(|before| before.disabled), disabled) {
        (Some(false), true) => tx.record(AuditEvent::of_user(event_kinds::DEPROVISIONED, user)),
        (Some(true), false) => tx.record(AuditEvent::of_user(event_kinds::REPROVISIONED, user)),
        _ => {}
    }
    if disabled {
        let sessions = drop_sessions(tx, user, None).await?;
        end_access(tx, user, now).await?;
        record_ended(tx, user, sessions);
    }
    Ok(())
}

/// Revokes the tokens of a user and withdraws their authorizations; returns the number of both together. Webhooks of the user end
/// with them. The account must already be locked.
async fn end_access(tx: &mut AuthTransaction, user: u64, now: SystemTime) -> AuthStoreResult<u64> {
    let (key, at) = (stored_number(user)?, millis(now));
    let [grants, tokens, _] = tx
        .send([
            (sql::REVOKE_GRANTS_OF, &[&key, &at]),
            (sql::REVOKE_TOKENS_OF, &[&key, &at]),
            (sql::DROP_HOOKS_OF_USER, &[&key]),
        ])
        .await?;
    let ended = tokens.len() + grants.len();
    let read = |row: &Row| -> Stored<_> { Ok((number(row, 0)?, kind(row, 1)?, text(row, 2)?)) };
    let mut tokens: Vec<_> = tokens.iter().map(read).collect::<Stored<_>>()?;
    tokens.sort_by_key(|(id, ..)| *id);
    for (_, kind, description) in tokens {
        let event = AuditEvent::of_token(event_kinds::TOKEN_REVOKED, kind, user, &description);
        event.into_iter().for_each(|event| tx.record(event));
    }
    let read = |row: &Row| -> Stored<_> { Ok((number(row, 0)?, maybe_text(row, 1)?)) };
    let mut grants: Vec<_> = grants.iter().map(read).collect::<Stored<_>>()?;
    grants.sort_by_key(|(id, _)| *id);
    for (_, app) in grants {
        tx.record(AuditEvent::OfUser(
            event_kinds::APP_REVOKED,
            user,
            app,
            None,
        ));
    }
    Ok(ended as u64)
}

/// Returns the kind of token in a column.
pub(super) fn kind(row: &Row, at: usize) -> Stored<TokenKind> {
    TokenKind::from_name(get(row, at)?).ok_or_else(|| not_a(at, "kind of token"))
}

/// Does the same as [`end_access`], after locking the account.
pub(super) async fn revoke_all(
    tx: &mut AuthTransaction,
    user: u64,
    now: SystemTime,
) -> AuthStoreResult<u64> {
    lock_account(tx, user).await?;
    end_access(tx, user, now).await
}

/// Deletes the browser sessions of a user except one; returns their number. The account must already be locked.
async fn drop_sessions(
    tx: &mut AuthTransaction,
    user: u64,
    but: Option<SecretDigest>,
) -> AuthStoreResult<u64> {
    let but = but.map(|digest| digest.0.to_vec());
    let ended = tx
        .run(sql::END_SESSIONS, &[&stored_number(user)?, &but])
        .await?;
    Ok(ended.len() as u64)
}

fn record_ended(tx: &mut AuthTransaction, user: u64, sessions: u64) {
    for _ in 0..sessions {
        tx.record(AuditEvent::of_user(event_kinds::LOGGED_OUT, user));
    }
}

/// Ends the browser sessions of a user except one; returns their number. The account is already locked, or needs no lock.
pub(super) async fn end_sessions(
    tx: &mut AuthTransaction,
    user: u64,
    but: Option<SecretDigest>,
) -> AuthStoreResult<u64> {
    let ended = drop_sessions(tx, user, but).await?;
    record_ended(tx, user, ended);
    Ok(ended)
}

/// Replaces the hash of a login if it has not changed since it was read.
pub(super) async fn change_password(
    tx: &mut AuthTransaction,
    change: &PasswordChange,
) -> AuthStoreResult<bool> {
    let user = stored_number(change.user)?;
    let (before, after) = (
        text_to_store(change.before.expose()),
        text_to_store(change.after.expose()),
    );
    let [_, changed] = tx
        .send([
            (sql::LOCK_ACCOUNT, &[&user]),
            (sql::PUT_HASH, &[&user, &&*before, &&*after]),
        ])
        .await?;
    if changed.is_empty() {
        return Ok(false);
    }
    tx.record(AuditEvent::of_user(
        event_kinds::PASSWORD_CHANGED,
        change.user,
    ));
    end_sessions(tx, change.user, change.keep_session).await?;
    if let Some(now) = change.revoke_tokens_at {
        end_access(tx, change.user, now).await?;
    }
    Ok(true)
}
