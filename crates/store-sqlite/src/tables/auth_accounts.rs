//! Writes of accounts and their logins, and of everything that ends with them.
use crate::statements::Sql;
use crate::tables::audit_log_table::HandleActor;
use crate::tables::auth_rows;
use crate::tables::auth_rows::{account, millis, number, refused};
use crate::tables::oauth_tables::oauth_writes;
use crate::transaction::SqliteTransaction;
use std::time::SystemTime;
use workgraph_auth::{
    Account, AuthStoreError, Login, PasswordChange, Secret, SecretDigest, Tier, TokenKind,
};
use workgraph_core::audit::event_kinds;

type AuthStoreResult<T> = Result<T, AuthStoreError>;

/// Returns the account of a user.
fn find_account(
    session: &mut SqliteTransaction<'_>,
    user: u64,
) -> AuthStoreResult<Option<Account>> {
    session
        .one(Sql::Account, [number(user)?], |row| account(row, user, 0))
        .map_err(refused)
}

/// Returns true if a user has an account that is switched on.
pub(crate) fn is_on(session: &mut SqliteTransaction<'_>, user: u64) -> AuthStoreResult<bool> {
    Ok(find_account(session, user)?.is_some_and(|account| !account.disabled))
}

fn put(session: &mut SqliteTransaction<'_>, account: &Account) -> AuthStoreResult<()> {
    let tier = account.tier.number();
    session
        .run(
            Sql::PutAccount,
            (number(account.user)?, tier, account.disabled),
        )
        .map(drop)
        .map_err(refused)
}

/// Reads the login of a user from a row.
pub(crate) fn read_login(row: &rusqlite::Row<'_>) -> rusqlite::Result<Login> {
    let email: String = row.get(0)?;
    Ok(Login::new(&email, Secret::new(row.get(1)?)))
}

/// Returns the login of a user, as the transaction shows it.
pub(crate) fn login_of(
    session: &mut SqliteTransaction<'_>,
    user: u64,
) -> AuthStoreResult<Option<Login>> {
    session
        .one(Sql::LoginOf, [number(user)?], read_login)
        .map_err(refused)
}

/// Creates an account, or sets the tier of the existing one; and creates a login, if one is given.
pub(crate) fn put_account(
    session: &mut SqliteTransaction<'_>,
    account: &Account,
    login: Option<&Login>,
    by: &HandleActor,
) -> AuthStoreResult<bool> {
    let disabled =
        find_account(session, account.user)?.map_or(account.disabled, |account| account.disabled);
    let before = login_of(session, account.user)?;
    put(
        session,
        &Account {
            disabled,
            ..*account
        },
    )?;
    let Some(login) = login else {
        return Ok(true);
    };
    let user = number(account.user)?;
    // An address of another account violates a constraint: a conflict.
    session
        .run(Sql::PutLogin, (user, login.email(), login.hash().expose()))
        .map_err(refused)?;
    let hash = |login: &Login| login.hash().expose().to_owned();
    let is_new = before.as_ref().map(hash) != Some(hash(login));
    if is_new && before.is_some() {
        by.of_user(
            session,
            event_kinds::PASSWORD_CHANGED,
            account.user,
            (None, None),
        )?;
    }
    if is_new || before.is_some_and(|before| before.email() != login.email()) {
        end_sessions(session, account.user, None, by)?;
    }
    Ok(true)
}

/// Changes the tier of an account, or creates one; returns true if anything changed.
pub(crate) fn set_tier(
    session: &mut SqliteTransaction<'_>,
    user: u64,
    tier: Tier,
    by: &HandleActor,
) -> AuthStoreResult<bool> {
    if find_account(session, user)?.is_some_and(|account| account.tier == tier) {
        return Ok(false);
    }
    put_account(session, &Account::new(user, tier), None, by)
}

/// Switches an account off or on; an account that is off has no session, no token and no app.
pub(crate) fn set_disabled(
    session: &mut SqliteTransaction<'_>,
    user: u64,
    disabled: bool,
    now: SystemTime,
    by: &HandleActor,
) -> AuthStoreResult<()> {
    let before = find_account(session, user)?;
    let account = before.unwrap_or_else(|| Account::new(user, Tier::DEFAULT));
    put(
        session,
        &Account {
            disabled,
            ..account
        },
    )?;
    match (before.map(|before| before.disabled), disabled) {
        (Some(false), true) => {
            by.of_user(session, event_kinds::DEPROVISIONED, user, (None, None))?
        }
        (Some(true), false) => {
            by.of_user(session, event_kinds::REPROVISIONED, user, (None, None))?
        }
        _ => {}
    }
    session.invalidations.tokens = true;
    if disabled {
        revoke_all(session, user, now, by)?;
        end_sessions(session, user, None, by)?;
    }
    Ok(())
}

/// Revokes the tokens of a user and withdraws their authorizations; returns the number of both together. Webhooks of the user end
/// with them.
pub(crate) fn revoke_all(
    session: &mut SqliteTransaction<'_>,
    user: u64,
    now: SystemTime,
    by: &HandleActor,
) -> AuthStoreResult<u64> {
    let mut own = Vec::new();
    let each = |row: &rusqlite::Row<'_>| {
        let record = auth_rows::effective_token(row)?;
        let counts = matches!(record.kind, TokenKind::Personal | TokenKind::Service);
        own.extend(Some(record).filter(|record| counts && record.revoked_at.is_none()));
        Ok(())
    };
    let key = number(user)?;
    session
        .each(Sql::TokensOfUser, [key], each)
        .map_err(refused)?;
    let mut grants = Vec::new();
    let each = |row: &rusqlite::Row<'_>| {
        auth_rows::authorization(row, 0).map(|grant| grants.push(grant.id))
    };
    session
        .each(Sql::GrantsOfUser, [key], each)
        .map_err(refused)?;
    let revoked = session
        .run(Sql::RevokeTokensOf, (key, millis(now)))
        .map_err(refused)?;
    session.invalidations.tokens |= revoked > 0;
    for record in &own {
        by.of_token(session, event_kinds::TOKEN_REVOKED, record)?;
    }
    for grant in &grants {
        oauth_writes::deauthorize(session, *grant, user, now, by)?;
    }
    session.run(Sql::DropHooksOfUser, [key]).map_err(refused)?;
    Ok((revoked + grants.len()) as u64)
}

/// Deletes the browser sessions of a user except one; returns their number.
pub(crate) fn end_sessions(
    session: &mut SqliteTransaction<'_>,
    user: u64,
    but: Option<SecretDigest>,
    by: &HandleActor,
) -> AuthStoreResult<u64> {
    let params = (number(user)?, but.map(|digest| digest.0));
    let ended = session.run(Sql::EndSessions, params).map_err(refused)?;
    for _ in 0..ended {
        by.of_user(session, event_kinds::LOGGED_OUT, user, (None, None))?;
    }
    Ok(ended as u64)
}

/// Replaces the hash of a login if it has not changed since it was read.
pub(crate) fn change_password(
    session: &mut SqliteTransaction<'_>,
    change: &PasswordChange,
    by: &HandleActor,
) -> AuthStoreResult<bool> {
    let params = (
        number(change.user)?,
        change.before.expose(),
        change.after.expose(),
    );
    if session.run(Sql::PutHash, params).map_err(refused)? == 0 {
        return Ok(false);
    }
    by.of_user(
        session,
        event_kinds::PASSWORD_CHANGED,
        change.user,
        (None, None),
    )?;
    end_sessions(session, change.user, change.keep_session, by)?;
    if let Some(now) = change.revoke_tokens_at {
        revoke_all(session, change.user, now, by)?;
    }
    Ok(true)
}
