//! Webhooks and the log of their deliveries, in the same file and through the same writer.
use crate::error::failed;
use crate::rows::{maybe_number, maybe_time, millis, time, whole};
use crate::session::Session;
use crate::sql::Sql;
use crate::store::SqliteStore;
use async_trait::async_trait;
use rusqlite::Row;
use std::time::SystemTime;
use workgraph_auth::{OAuthStore, StoreError as Refused};
use workgraph_core::snapshot::Snapshot;
use workgraph_webhooks::{
    Delivery, Filter, Hook, HookStore, Inserted, Limits, Page, Position, Standing, State,
    StoreError,
};

fn text(filters: &[Filter]) -> String {
    let all: serde_json::Value = filters.iter().map(Filter::json).collect();
    all.to_string()
}

fn filters(row: &Row<'_>, at: usize) -> rusqlite::Result<Vec<Filter>> {
    let text = row.get_ref(at)?.as_str()?;
    let value = serde_json::from_str(text).map_err(|e| e.to_string());
    let filters = value.and_then(|value| Filter::read_all(&value));
    // Filters that cannot be read must not become none, which is everything.
    filters.map_err(|why| {
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, why.into())
    })
}

/// Numbers are kept as SQLite has them: gids and sequence numbers are far below its end.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn hook(row: &Row<'_>) -> rusqlite::Result<Hook> {
    Ok(Hook {
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
        state: State {
            position: Position {
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

fn delivery(row: &Row<'_>) -> rusqlite::Result<Delivery> {
    Ok(Delivery {
        id: whole(row, 0)?,
        hook: whole(row, 1)?,
        at: time(row, 2)?,
        from: Position {
            seq: whole(row, 3)?,
            facts: row.get(4)?,
        },
        to: Position {
            seq: whole(row, 5)?,
            facts: row.get(6)?,
        },
        events: row.get(7)?,
        attempt: row.get(8)?,
        status: row.get(9)?,
        error: row.get(10)?,
    })
}

fn broken(error: impl std::fmt::Display) -> StoreError {
    StoreError(error.to_string())
}

fn refused(error: rusqlite::Error) -> Refused {
    Refused::Unavailable(error.to_string())
}

impl SqliteStore {
    fn hooks(
        &self,
        sql: Sql,
        params: impl rusqlite::Params + Clone,
    ) -> Result<Vec<Hook>, StoreError> {
        let read = |session: &mut Session<'_>| {
            let mut all = Vec::new();
            let each = |row: &Row<'_>| hook(row).map(|h| all.push(h));
            session.each(sql, params.clone(), each).map_err(failed)?;
            Ok(all)
        };
        self.readers.read(read).map_err(broken)
    }

    /// Does some work on webhooks in a transaction.
    async fn on_hooks<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Session<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = move |session: &mut Session<'_>| work(session).map_err(refused);
        self.writer.work(work).await.map_err(broken)
    }
}

/// Whether an app has a hold on a user: a refresh token that lives.
fn holds(session: &mut Session<'_>, user: u64, app: u64) -> rusqlite::Result<bool> {
    let held = session.one(Sql::Hold, (signed(user), signed(app)), |_| Ok(()))?;
    Ok(held.is_some())
}

/// Deletes the webhooks of a user and app, unless the app still has a hold: to be called where one
/// was ended. The log of their deliveries is shown to nobody then, and dropped when its time is up.
pub(crate) fn let_go(session: &mut Session<'_>, user: u64, app: u64) -> Result<(), Refused> {
    if !holds(session, user, app).map_err(refused)? {
        let owner = (signed(user), signed(app));
        session.run(Sql::DropHooksOf, owner).map_err(refused)?;
    }
    Ok(())
}

fn count(
    session: &mut Session<'_>,
    sql: Sql,
    params: impl rusqlite::Params,
) -> rusqlite::Result<u64> {
    let found = session.one(sql, params, |row| whole(row, 0))?;
    Ok(found.unwrap_or(0))
}

/// How many rows of the log are dropped at once.
const ROUND: i64 = 1_000;

#[async_trait]
impl HookStore for SqliteStore {
    async fn insert(&self, hook: Hook, limits: Limits) -> Result<Inserted, StoreError> {
        let work = move |session: &mut Session<'_>| {
            if let Some(app) = hook.app
                && !holds(session, hook.user, app).map_err(refused)?
            {
                return Ok(Inserted::NoHold);
            }
            let on_resource = count(session, Sql::CountHooksOn, [signed(hook.resource)]);
            if on_resource.map_err(refused)? >= limits.per_resource {
                return Ok(Inserted::ResourceFull);
            }
            let owner = (signed(hook.user), hook.app.map(signed));
            if count(session, Sql::CountHooksOf, owner).map_err(refused)? >= limits.per_owner {
                return Ok(Inserted::OwnerFull);
            }
            let seq = session.seq();
            let mut hook = hook.clone();
            hook.state.position = Position {
                seq: seq.map_err(|e| Refused::Unavailable(e.to_string()))?,
                facts: 0,
            };
            let params = rusqlite::params![
                signed(hook.id),
                signed(hook.user),
                hook.app.map(signed),
                hook.service.map(signed),
                signed(hook.workspace),
                signed(hook.resource),
                hook.kind,
                hook.target,
                hook.secret,
                text(&hook.filters),
                millis(hook.created_at),
                signed(hook.state.position.seq),
                hook.state.last_success_at.map(millis),
            ];
            session.run(Sql::InsertHook, params).map_err(refused)?;
            Ok(Inserted::Done(Box::new(hook)))
        };
        self.writer.work(work).await.map_err(broken)
    }

    async fn all(&self) -> Result<Vec<Hook>, StoreError> {
        self.hooks(Sql::Hooks, [])
    }

    async fn standing(&self, id: u64) -> Result<Standing, StoreError> {
        let found = self.one_row(Sql::HookStanding, [signed(id)], |row| {
            Ok((
                maybe_number(row, 0)?,
                whole(row, 1)?,
                row.get::<_, bool>(2)?,
            ))
        });
        let Some((app, workspace, off)) = found.map_err(broken)? else {
            return Ok(Standing::Gone);
        };
        let works = match app {
            None => true,
            Some(app) => {
                let app = self.app(app).await.map_err(broken)?;
                app.is_some_and(|app| app.works_in(workspace))
            }
        };
        Ok(Standing::of(!off, works))
    }

    async fn get(&self, id: u64) -> Result<Option<Hook>, StoreError> {
        Ok(self.hooks(Sql::Hook, [signed(id)])?.pop())
    }

    async fn list(&self, page: Page) -> Result<Vec<Hook>, StoreError> {
        let params = (
            signed(page.owner.0),
            page.owner.1.map(signed),
            signed(page.workspace),
            signed(page.after),
            page.resource.map(signed),
            signed(page.limit as u64),
        );
        self.hooks(Sql::HooksOf, params)
    }

    async fn set_filters(&self, id: u64, filters: Vec<Filter>) -> Result<bool, StoreError> {
        let text = text(&filters);
        self.on_hooks(move |session| {
            let changed = session.run(Sql::SetFilters, (signed(id), &text))?;
            Ok(changed > 0)
        })
        .await
    }

    async fn remove(&self, id: u64) -> Result<bool, StoreError> {
        self.on_hooks(move |session| Ok(session.run(Sql::DropHook, [signed(id)])? > 0))
            .await
    }

    async fn settle(
        &self,
        id: u64,
        state: State,
        delivery: Option<Delivery>,
    ) -> Result<bool, StoreError> {
        self.on_hooks(move |session| {
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
            ];
            if session.run(Sql::SettleHook, params)? == 0 {
                return Ok(false);
            }
            if let Some(line) = &delivery {
                let params = rusqlite::params![
                    signed(id),
                    millis(line.at),
                    signed(line.from.seq),
                    line.from.facts,
                    signed(line.to.seq),
                    line.to.facts,
                    line.events,
                    line.attempt,
                    line.status,
                    line.error,
                ];
                session.run(Sql::InsertDelivery, params)?;
            }
            Ok(true)
        })
        .await
    }

    async fn advance(&self, ids: Vec<u64>, seq: u64) -> Result<(), StoreError> {
        self.on_hooks(move |session| {
            for id in &ids {
                session.run(Sql::AdvanceHook, (signed(*id), signed(seq)))?;
            }
            Ok(())
        })
        .await
    }

    async fn deliveries(&self, id: u64, limit: usize) -> Result<Vec<Delivery>, StoreError> {
        let params = (signed(id), signed(limit as u64));
        let read = |session: &mut Session<'_>| {
            let mut all = Vec::new();
            let each = |row: &Row<'_>| delivery(row).map(|d| all.push(d));
            session
                .each(Sql::Deliveries, params, each)
                .map_err(failed)?;
            Ok(all)
        };
        self.readers.read(read).map_err(broken)
    }

    async fn sweep(&self, before: SystemTime) -> Result<u64, StoreError> {
        let mut gone = 0;
        loop {
            let round = self
                .on_hooks(move |session| session.run(Sql::SweepDeliveries, (millis(before), ROUND)))
                .await? as u64;
            gone += round;
            if round < ROUND as u64 {
                return Ok(gone);
            }
        }
    }
}
