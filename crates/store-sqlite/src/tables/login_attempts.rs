//! Failed sign-ins under a key, and the waits that follow from them.
use crate::statements::Sql;
use crate::tables::auth_rows::{self, millis, refused};
use crate::transaction::SqliteTransaction;
use std::time::{Duration, SystemTime};
use workgraph_auth::authorization::browser_session::LoginAttempts;
use workgraph_auth::{AuthStoreError, SecretDigest};

/// Counts a sign-in attempt, or returns how long it must wait.
pub(crate) fn attempt_login(
    tx: &mut SqliteTransaction<'_>,
    key: &SecretDigest,
    now: SystemTime,
) -> Result<Option<Duration>, AuthStoreError> {
    let before = tx
        .one(Sql::LoginAttemptsOf, [key.0], |row| {
            Ok(LoginAttempts {
                count: row.get(0)?,
                last_at: auth_rows::time(row, 1)?,
            })
        })
        .map_err(refused)?;
    match LoginAttempts::attempt(before, now) {
        Ok(LoginAttempts { count, last_at }) => tx
            .run(Sql::PutLoginAttempts, (key.0, count, millis(last_at)))
            .map(|_| None)
            .map_err(refused),
        Err(wait) => Ok(Some(wait)),
    }
}
