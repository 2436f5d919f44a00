//! Tables of webhooks and of the log of their deliveries, in the same file and through the same writer.
use crate::statements::Sql;
use crate::tables::auth_rows::{maybe_number, maybe_time, millis, time, whole};
use crate::transaction::SqliteTransaction;
use rusqlite::Row;
use workgraph_auth::AuthStoreError;
use workgraph_webhooks::{
    DeliveryLogEntry, DeliveryState, DeliveryStateChange, EventFilter, JournalPosition, Webhook,
};

pub(crate) fn filters_text(filters: &[EventFilter]) -> String {
    let all: serde_json::Value = filters.iter().map(EventFilter::json).collect();
    all.to_string()
}

fn filters(row: &Row<'_>, at: usize) -> rusqlite::Result<Vec<EventFilter>> {
    let text = row.get_ref(at)?.as_str()?;
    // Filters that cannot be read must not become an empty list, which accepts all events.
    let unreadable =
        |error| rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, error);
    let value = serde_json::from_str(text).map_err(|e| unreadable(e.into()))?;
    EventFilter::read_all(&value).map_err(|e| unreadable(e.into()))
}

/// Converts a number to SQLite's integer: gids and sequence numbers are far below its limit.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn hook(row: &Row<'_>) -> rusqlite::Result<Webhook> {
    Ok(Webhook {
        id: whole(row, 0)?,
        user: whole(row, 1)?,
        app: maybe_number(row, 2)?,
        service: maybe_number(row, 3)?,
        workspace: whole(row, 4)?,
        resource: whole(row, 5)?,
        kind: row.get(6)?,
        target: row.get(7)?,
        secret: row.get(8)?,
        filters: filters(row, 9)?,
        created_at: time(row, 10)?,
        state: DeliveryState {
            position: JournalPosition {
                seq: whole(row, 11)?,
                facts: row.get(12)?,
            },
            last_success_at: maybe_time(row, 13)?,
            last_failure_at: maybe_time(row, 14)?,
            last_failure_content: row.get(15)?,
            retries: row.get(16)?,
            next_attempt_at: maybe_time(row, 17)?,
            failing_since: maybe_time(row, 18)?,
        },
    })
}

pub(crate) fn delivery(row: &Row<'_>) -> rusqlite::Result<DeliveryLogEntry> {
    Ok(DeliveryLogEntry {
        id: whole(row, 0)?,
        webhook: whole(row, 1)?,
        sent_at: time(row, 2)?,
        from: JournalPosition {
            seq: whole(row, 3)?,
            facts: row.get(4)?,
        },
        to: JournalPosition {
            seq: whole(row, 5)?,
            facts: row.get(6)?,
        },
        events: row.get(7)?,
        attempt: row.get(8)?,
        status: row.get(9)?,
        error: row.get(10)?,
    })
}

pub(crate) fn refused(error: rusqlite::Error) -> AuthStoreError {
    AuthStoreError::Unavailable(error.to_string())
}

/// Returns true if an app still has access to a user, which means that it has a live refresh token.
pub(crate) fn has_authorization(
    tx: &mut SqliteTransaction<'_>,
    user: u64,
    app: u64,
) -> rusqlite::Result<bool> {
    let found = tx.one(Sql::LiveRefreshToken, (signed(user), signed(app)), |_| {
        Ok(())
    })?;
    Ok(found.is_some())
}

/// Deletes the webhooks of a user and app, unless the app still has access; returns their number. It must be called after a
/// refresh token or an authorization has ended. The log of their deliveries is no longer shown from then on, and is dropped
/// when it is old enough.
pub(crate) fn delete_orphaned_webhooks(
    tx: &mut SqliteTransaction<'_>,
    user: u64,
    app: u64,
) -> Result<usize, AuthStoreError> {
    if has_authorization(tx, user, app).map_err(refused)? {
        return Ok(0);
    }
    let owner = (signed(user), signed(app));
    tx.run(Sql::DropHooksOf, owner).map_err(refused)
}

/// Deletes all webhooks of a user; returns their number.
pub(crate) fn delete_webhooks_of(
    tx: &mut SqliteTransaction<'_>,
    user: u64,
) -> Result<usize, AuthStoreError> {
    tx.run(Sql::DropHooksOfUser, [signed(user)])
        .map_err(refused)
}

pub(crate) fn count(
    tx: &mut SqliteTransaction<'_>,
    sql: Sql,
    params: impl rusqlite::Params,
) -> rusqlite::Result<u64> {
    let found = tx.one(sql, params, |row| whole(row, 0))?;
    Ok(found.unwrap_or(0))
}

/// Writes the state after an attempt, or deletes the webhook, if the change still applies to the stored state. Returns the number
/// of changed rows.
pub(crate) fn change_state(
    tx: &mut SqliteTransaction<'_>,
    id: u64,
    change: &DeliveryStateChange,
) -> rusqlite::Result<usize> {
    let Some(state) = &change.to else {
        let end = change.end_position();
        let params = (signed(id), change.from.retries, signed(end.seq), end.facts);
        return tx.run(Sql::DropFailingHook, params);
    };
    let params = rusqlite::params![
        signed(id),
        signed(state.position.seq),
        state.position.facts,
        state.last_success_at.map(millis),
        state.last_failure_at.map(millis),
        state.last_failure_content,
        state.retries,
        state.next_attempt_at.map(millis),
        state.failing_since.map(millis),
        change.from.retries,
    ];
    tx.run(Sql::SettleHook, params)
}
