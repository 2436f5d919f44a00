//! Deletion of expired tokens, codes, sessions, tickets and sign-in attempts.
use crate::statements::Sql;
use crate::tables::auth_rows::{millis, number, refused};
use crate::transaction::{SqliteTransaction, maybe_gid};
use std::time::SystemTime;
use workgraph_auth::AuthStoreError;
use workgraph_auth::authorization::browser_session::LOGIN_ATTEMPTS_LIFETIME;

/// Maximum number of rows of one table that one round of a sweep deletes.
pub(crate) const ROUND: u64 = 2_000;

/// Runs one round of a sweep; returns the number of deleted rows. Fewer than [`ROUND`] means that none are left.
pub(crate) fn sweep(
    tx: &mut SqliteTransaction<'_>,
    before: SystemTime,
) -> Result<u64, AuthStoreError> {
    let most = number(ROUND)?;
    // The numbers of deleted tokens are never reused.
    let highest = tx
        .one(Sql::MaxToken, [], |row| maybe_gid(row, 0))
        .map_err(refused)?;
    let end = millis(before);
    let tokens = tx.run(Sql::SweepTokens, (end, most)).map_err(refused)?;
    if let Some(highest) = highest.flatten().filter(|_| tokens > 0) {
        tx.raise_floor(highest).map_err(refused)?;
        tx.invalidations.tokens = true;
    }
    let lifetime = i64::try_from(LOGIN_ATTEMPTS_LIFETIME.as_millis()).unwrap_or(i64::MAX);
    let mut gone = tokens;
    for (sql, end) in [
        (Sql::SweepCodes, end),
        (Sql::SweepSessions, end),
        (Sql::SweepTickets, end),
        (Sql::SweepLoginAttempts, end.saturating_sub(lifetime)),
    ] {
        gone += tx.run(sql, (end, most)).map_err(refused)?;
    }
    Ok(gone as u64)
}
