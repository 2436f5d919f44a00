//! Webhooks and the log of their deliveries.
//!
//! The order of locks is that of [`crate::auth`]. An insertion locks the account of the user, so that no access ends during it,
//! and then the row of `store_state`, which makes it exact: the limits count every earlier webhook, and its position is the last
//! commit before it.
use crate::auth::{AuthTransaction, DELIVERY_PERMISSION, LOCK_ACCOUNT, joined_authorization};
use crate::columns::{bound, number};
use crate::database_error::DatabaseError;
use crate::params::{OwnedParams, owned_params};
use crate::postgres_store::PostgresStore;
use crate::stored_values::{
    Stored, get, maybe_number, maybe_time, millis, not_a, small, text, text_to_store, time,
};
use async_trait::async_trait;
use std::time::SystemTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use workgraph_auth::AuthStoreError;
use workgraph_webhooks::{
    AttemptRecord, DeliveryLogEntry, DeliveryPermission, DeliveryState, DeliveryStateChange,
    EventFilter, InsertOutcome, InsertionContext, JournalPosition, Webhook, WebhookLimits,
    WebhookListQuery, WebhookStore, WebhookStoreError,
};

macro_rules! hook_cols {
    () => {
        "SELECT id, \"user\", app, service, workspace, resource, kind, target, secret, filters, created_at, \
            seq, facts, last_success_at, last_failure_at, last_failure, retries, next_attempt_at, failing_since \
            FROM hook"
    };
}
// A statement on webhooks. If it changes any of them, it also raises their revision and returns a row.
macro_rules! revises {
    ($statement:literal) => {
        concat!(
            "WITH done AS (", $statement, " RETURNING 1) \
            UPDATE store_state SET hook_revision = hook_revision + 1 WHERE EXISTS (SELECT 1 FROM done) RETURNING 1"
        )
    };
}

const HOOKS: &str = concat!(hook_cols!(), " ORDER BY id");
const HOOK: &str = concat!(hook_cols!(), " WHERE id = $1");
const HOOKS_OF: &str = concat!(
    hook_cols!(),
    " WHERE \"user\" = $1 AND app IS NOT DISTINCT FROM $2 AND workspace = $3 AND id > $4 \
        AND ($5::bigint IS NULL OR resource = $5) ORDER BY id LIMIT $6"
);
/// Finds a row if a refresh token of this user and app is live.
const LIVE_REFRESH_TOKEN: &str = "SELECT 1 FROM token t JOIN \"authorization\" g ON g.id = t.authorization WHERE t.user = $1 \
    AND t.app = $2 AND t.kind = 'refresh' AND t.revoked_at IS NULL AND g.revoked_at IS NULL LIMIT 1";
const LOCK_POSITION: &str =
    "UPDATE store_state SET hook_revision = hook_revision + 1 RETURNING seq";
const COUNT_ON: &str = "SELECT count(*) FROM hook WHERE resource = $1";
const COUNT_OF: &str =
    "SELECT count(*) FROM hook WHERE \"user\" = $1 AND app IS NOT DISTINCT FROM $2";
const INSERT: &str = "INSERT INTO hook (id, \"user\", app, service, workspace, resource, kind, target, secret, filters, \
    created_at, seq, last_success_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
const SET_FILTERS: &str = revises!("UPDATE hook SET filters = $2 WHERE id = $1");
const REMOVE: &str = revises!("DELETE FROM hook WHERE id = $1");
/// Stores the result of an attempt and its line of the log, if the change applies to the stored state; returns whether the
/// webhook exists, and whether the change applied.
const RECORD: &str = "WITH done AS (UPDATE hook SET seq = $2, facts = $3, last_success_at = $4, last_failure_at = $5, \
        last_failure = $6, retries = $7, next_attempt_at = $8, failing_since = $9 \
        WHERE id = $1 AND retries = $10 AND (seq, facts) <= ($2, $3) RETURNING id), \
    logged AS (INSERT INTO delivery (hook, at, from_seq, from_facts, to_seq, to_facts, events, attempt, status, error) \
        SELECT id, $11, $12, $13, $14, $15, $16, $17, $18, $19 FROM done WHERE $11::bigint IS NOT NULL) \
    SELECT EXISTS (SELECT 1 FROM done), EXISTS (SELECT 1 FROM hook WHERE id = $1)";
/// Writes only a line of the log.
const RECORD_LINE: &str = "WITH logged AS \
    (INSERT INTO delivery (hook, at, from_seq, from_facts, to_seq, to_facts, events, attempt, status, error) \
        SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM hook WHERE id = $1 AND $2::bigint IS NOT NULL) \
    SELECT EXISTS (SELECT 1 FROM hook WHERE id = $1), EXISTS (SELECT 1 FROM hook WHERE id = $1)";
/// Deletes a webhook that failed for too long, if no other attempt changed its state.
const GIVE_UP: &str = "WITH done AS (DELETE FROM hook WHERE id = $1 AND retries = $2 AND (seq, facts) <= ($3, $4) \
        RETURNING id), \
    revised AS (UPDATE store_state SET hook_revision = hook_revision + 1 WHERE EXISTS (SELECT 1 FROM done)), \
    logged AS (INSERT INTO delivery (hook, at, from_seq, from_facts, to_seq, to_facts, events, attempt, status, error) \
        SELECT id, $5, $6, $7, $8, $9, $10, $11, $12, $13 FROM done WHERE $5::bigint IS NOT NULL) \
    SELECT EXISTS (SELECT 1 FROM done), EXISTS (SELECT 1 FROM hook WHERE id = $1)";
/// Skips webhooks that another transaction is changing.
const ADVANCE: &str = "UPDATE hook SET seq = $2, facts = 0 WHERE id IN \
    (SELECT id FROM hook WHERE id = ANY($1) AND seq < $2 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)";
const DELIVERIES: &str = "SELECT id, hook, at, from_seq, from_facts, to_seq, to_facts, events, attempt, status, error \
    FROM delivery WHERE hook = $1 AND EXISTS (SELECT 1 FROM hook h WHERE h.id = $1) ORDER BY id DESC LIMIT $2";
const PRUNE: &str = "WITH gone AS (DELETE FROM delivery WHERE id IN (SELECT id FROM delivery WHERE at < $1 LIMIT $2 \
    FOR UPDATE SKIP LOCKED) RETURNING 1) SELECT count(*) FROM gone";
const REVISION: &str = "SELECT hook_revision FROM store_state";
/// Maximum number of rows of the log that are dropped at once.
const ROUND: u64 = 1_000;

impl From<DatabaseError> for WebhookStoreError {
    fn from(error: DatabaseError) -> Self {
        Self(error.to_string())
    }
}

fn failed(error: AuthStoreError) -> WebhookStoreError {
    WebhookStoreError(error.to_string())
}

fn filters_text(filters: &[EventFilter]) -> String {
    let all: serde_json::Value = filters.iter().map(EventFilter::json).collect();
    all.to_string()
}

fn filters(row: &Row, at: usize) -> Stored<Vec<EventFilter>> {
    // Filters that cannot be read must not become an empty list, which accepts all events.
    let unreadable = || not_a(at, "list of filters");
    let value = serde_json::from_str(get(row, at)?).map_err(|_| unreadable())?;
    EventFilter::read_all(&value).map_err(|_| unreadable())
}

fn position(row: &Row, at: usize) -> Stored<JournalPosition> {
    Ok(JournalPosition {
        seq: number(row, at)?,
        facts: small(row, at + 1)?,
    })
}

fn hook(row: &Row) -> Stored<Webhook> {
    let kind: i16 = get(row, 6)?;
    Ok(Webhook {
        id: number(row, 0)?,
        user: number(row, 1)?,
        app: maybe_number(row, 2)?,
        service: maybe_number(row, 3)?,
        workspace: number(row, 4)?,
        resource: number(row, 5)?,
        kind: u8::try_from(kind).map_err(|_| not_a(6, "type"))?,
        target: text(row, 7)?,
        secret: text(row, 8)?,
        filters: filters(row, 9)?,
        created_at: time(row, 10)?,
        state: DeliveryState {
            position: position(row, 11)?,
            last_success_at: maybe_time(row, 13)?,
            last_failure_at: maybe_time(row, 14)?,
            last_failure_content: text(row, 15)?,
            retries: small(row, 16)?,
            next_attempt_at: maybe_time(row, 17)?,
            failing_since: maybe_time(row, 18)?,
        },
    })
}

fn delivery(row: &Row) -> Stored<DeliveryLogEntry> {
    let status: Option<i64> = get(row, 9)?;
    let status = status.map(u16::try_from).transpose();
    Ok(DeliveryLogEntry {
        id: number(row, 0)?,
        webhook: number(row, 1)?,
        sent_at: time(row, 2)?,
        from: position(row, 3)?,
        to: position(row, 5)?,
        events: small(row, 7)?,
        attempt: small(row, 8)?,
        status: status.map_err(|_| not_a(9, "status"))?,
        error: text(row, 10)?,
    })
}

/// Returns the column values of a line of the log; nulls if there is no line.
fn line_values(line: Option<&DeliveryLogEntry>) -> OwnedParams {
    let number = |read: &dyn Fn(&DeliveryLogEntry) -> i64| line.map(read);
    owned_params![
        number(&|l| millis(l.sent_at)),
        number(&|l| bound(l.from.seq)),
        number(&|l| i64::from(l.from.facts)),
        number(&|l| bound(l.to.seq)),
        number(&|l| i64::from(l.to.facts)),
        number(&|l| i64::from(l.events)),
        number(&|l| i64::from(l.attempt)),
        line.and_then(|l| l.status).map(i64::from),
        line.map(|l| text_to_store(&l.error).into_owned()),
    ]
}

/// Returns the column values for the result of an attempt, and the statement that stores it.
fn attempt_values(
    id: u64,
    change: Option<&DeliveryStateChange>,
    line: Option<&DeliveryLogEntry>,
) -> (&'static str, OwnedParams) {
    let mut values = owned_params![bound(id)];
    let sql = match change {
        None => RECORD_LINE,
        Some(change) => match &change.to {
            None => {
                let end = change.end_position();
                values.extend(owned_params![
                    i64::from(change.from.retries),
                    bound(end.seq),
                    i64::from(end.facts),
                ]);
                GIVE_UP
            }
            Some(state) => {
                values.extend(owned_params![
                    bound(state.position.seq),
                    i64::from(state.position.facts),
                    state.last_success_at.map(millis),
                    state.last_failure_at.map(millis),
                    text_to_store(&state.last_failure_content).into_owned(),
                    i64::from(state.retries),
                    state.next_attempt_at.map(millis),
                    state.failing_since.map(millis),
                    i64::from(change.from.retries),
                ]);
                RECORD
            }
        },
    };
    values.extend(line_values(line));
    (sql, values)
}

async fn insert(
    tx: &mut AuthTransaction,
    hook: Webhook,
    limits: WebhookLimits,
) -> Result<InsertOutcome, AuthStoreError> {
    let (user, app) = (bound(hook.user), hook.app.map(bound));
    let resource = bound(hook.resource);
    let [_, hold, state, on_resource, of_owner] = tx
        .send([
            (LOCK_ACCOUNT, &[&user]),
            (LIVE_REFRESH_TOKEN, &[&user, &app]),
            (LOCK_POSITION, &[]),
            (COUNT_ON, &[&resource]),
            (COUNT_OF, &[&user, &app]),
        ])
        .await?;
    let count = |rows: &[Row]| rows.first().map_or(Ok(0), |row| number(row, 0));
    let context = InsertionContext {
        has_access: !hold.is_empty(),
        on_resource: count(&on_resource)?,
        of_owner: count(&of_owner)?,
        last_commit: count(&state)?,
    };
    let outcome = limits.insert(hook, context);
    let InsertOutcome::Done(hook) = &outcome else {
        return Ok(outcome);
    };
    let values: [&(dyn ToSql + Sync); 13] = [
        &bound(hook.id),
        &user,
        &app,
        &hook.service.map(bound),
        &bound(hook.workspace),
        &resource,
        &i16::from(hook.kind),
        &text_to_store(&hook.target),
        &text_to_store(&hook.secret),
        &filters_text(&hook.filters),
        &millis(hook.created_at),
        &bound(hook.state.position.seq),
        &hook.state.last_success_at.map(millis),
    ];
    tx.send_last([(INSERT, &values)]).await?;
    Ok(outcome)
}

impl PostgresStore {
    async fn hooks(
        &self,
        sql: &'static str,
        params: OwnedParams,
    ) -> Result<Vec<Webhook>, WebhookStoreError> {
        let rows = self.query(sql, params).await?;
        let hooks: Stored<Vec<Webhook>> = rows.iter().map(hook).collect();
        Ok(hooks?)
    }

    /// Runs a statement on webhooks; returns true if it returned a row.
    async fn changes(
        &self,
        sql: &'static str,
        params: OwnedParams,
    ) -> Result<bool, WebhookStoreError> {
        Ok(!self.query(sql, params).await?.is_empty())
    }
}

#[async_trait]
impl WebhookStore for PostgresStore {
    async fn insert(
        &self,
        hook: Webhook,
        limits: WebhookLimits,
    ) -> Result<InsertOutcome, WebhookStoreError> {
        self.decide(move |tx| Box::pin(insert(tx, hook, limits)))
            .await
            .map_err(failed)
    }

    async fn all(&self) -> Result<Vec<Webhook>, WebhookStoreError> {
        self.hooks(HOOKS, owned_params![]).await
    }

    async fn delivery_permission(
        &self,
        id: u64,
        scope: &str,
    ) -> Result<DeliveryPermission, WebhookStoreError> {
        let scope = scope.to_owned();
        let read = move |row: &Row| -> Result<_, WebhookStoreError> {
            let (is_off, workspace): (bool, u64) = (get(row, 0)?, number(row, 2)?);
            let works = match maybe_number(row, 1)? {
                None => true,
                Some(_) => {
                    let (authorization, app) = joined_authorization(row, 3)?;
                    authorization
                        .zip(app)
                        .is_some_and(|(live, app)| live.allows(&app, &scope, workspace))
                }
            };
            Ok(DeliveryPermission::of(!is_off, works))
        };
        let found = self
            .query_first(DELIVERY_PERMISSION, owned_params![bound(id)], read)
            .await?;
        Ok(found.unwrap_or(DeliveryPermission::Deleted))
    }

    async fn get(&self, id: u64) -> Result<Option<Webhook>, WebhookStoreError> {
        Ok(self.hooks(HOOK, owned_params![bound(id)]).await?.pop())
    }

    async fn list(&self, page: WebhookListQuery) -> Result<Vec<Webhook>, WebhookStoreError> {
        let values = owned_params![
            bound(page.owner.0),
            page.owner.1.map(bound),
            bound(page.workspace),
            bound(page.after),
            page.resource.map(bound),
            bound(page.limit as u64),
        ];
        self.hooks(HOOKS_OF, values).await
    }

    async fn set_filters(
        &self,
        id: u64,
        filters: Vec<EventFilter>,
    ) -> Result<bool, WebhookStoreError> {
        self.changes(
            SET_FILTERS,
            owned_params![bound(id), filters_text(&filters)],
        )
        .await
    }

    async fn remove(&self, id: u64) -> Result<bool, WebhookStoreError> {
        self.changes(REMOVE, owned_params![bound(id)]).await
    }

    async fn record_attempt(
        &self,
        id: u64,
        change: Option<DeliveryStateChange>,
        delivery: Option<DeliveryLogEntry>,
    ) -> Result<AttemptRecord, WebhookStoreError> {
        let (sql, values) = attempt_values(id, change.as_ref(), delivery.as_ref());
        let read = |row: &Row| -> Result<(bool, bool), WebhookStoreError> {
            Ok((get(row, 0)?, get(row, 1)?))
        };
        let (applied, exists) = self
            .query_first(sql, values, read)
            .await?
            .unwrap_or_default();
        Ok(match (applied, exists) {
            (true, _) => AttemptRecord::Stored,
            (false, true) => AttemptRecord::Changed,
            (false, false) => AttemptRecord::Deleted,
        })
    }

    async fn advance_positions(&self, ids: Vec<u64>, seq: u64) -> Result<(), WebhookStoreError> {
        let ids: Vec<i64> = ids.into_iter().map(bound).collect();
        self.changes(ADVANCE, owned_params![ids, bound(seq)])
            .await?;
        Ok(())
    }

    async fn deliveries(
        &self,
        id: u64,
        limit: usize,
    ) -> Result<Vec<DeliveryLogEntry>, WebhookStoreError> {
        let rows = self
            .query(DELIVERIES, owned_params![bound(id), bound(limit as u64)])
            .await?;
        let lines: Stored<Vec<_>> = rows.iter().map(delivery).collect();
        Ok(lines?)
    }

    async fn prune_delivery_log(&self, before: SystemTime) -> Result<u64, WebhookStoreError> {
        let mut gone = 0;
        loop {
            let values = owned_params![millis(before), bound(ROUND)];
            let read = |row: &Row| -> Result<u64, WebhookStoreError> { Ok(number(row, 0)?) };
            let round = self.query_first(PRUNE, values, read).await?.unwrap_or(0);
            gone += round;
            if round < ROUND {
                return Ok(gone);
            }
        }
    }

    async fn revision(&self) -> Result<Option<u64>, WebhookStoreError> {
        let read = |row: &Row| -> Result<u64, WebhookStoreError> { Ok(number(row, 0)?) };
        self.query_first(REVISION, owned_params![], read).await
    }
}
