//! Leases on work that only one node does at a time, by the clock of the server.
use crate::database::Database;
use crate::database_error::DatabaseError;
use async_trait::async_trait;
use std::time::{Duration, Instant};
use workgraph_core::storage::{GraphStoreError, SharedWork, WorkLease, WorkLeases};

/// Time for which work is leased, from each renewal.
pub const WORK_LEASE: Duration = Duration::from_secs(20);

const ACQUIRE: &str = "INSERT INTO work_lease AS l (work, holder, epoch, until) \
    VALUES ($1, $2, 1, clock_timestamp() + $3::bigint * interval '1 millisecond') \
    ON CONFLICT (work) DO UPDATE SET holder = excluded.holder, \
        epoch = l.epoch + (l.holder <> excluded.holder)::int, until = excluded.until \
    WHERE l.until < clock_timestamp() OR l.holder = excluded.holder \
    RETURNING l.epoch";
const RELEASE: &str = "UPDATE work_lease SET until = clock_timestamp() - interval '1 second' WHERE work = $1 AND holder = $2";

/// Leases of one process on the work of the store.
#[derive(Clone, Debug)]
pub struct PostgresLeases {
    database: Database,
    /// Random name of the process.
    holder: String,
}

impl PostgresLeases {
    /// Returns the leases of a process; `holder` is a random name that the process has chosen.
    #[must_use]
    pub fn new(database: Database, holder: String) -> Self {
        Self { database, holder }
    }
}

#[async_trait]
impl WorkLeases for PostgresLeases {
    async fn acquire(
        &self,
        work: SharedWork,
        now: Instant,
    ) -> Result<Option<WorkLease>, GraphStoreError> {
        let own = self.clone();
        let acquired = async move {
            let connection = own.database.connection().await?;
            let lease = i64::try_from(WORK_LEASE.as_millis()).unwrap_or(i64::MAX);
            let row = connection
                .query_opt(ACQUIRE, &[&work.name(), &own.holder, &lease])
                .await?;
            let epoch: Option<i64> = match row {
                Some(row) => Some(row.try_get(0)?),
                None => None,
            };
            Ok::<_, DatabaseError>(epoch)
        };
        let epoch = self.database.run(acquired).await?;
        Ok(epoch.map(|epoch| WorkLease {
            epoch: epoch.cast_unsigned(),
            // The server counted from a later moment, so its lease ends later than this.
            until: now.checked_add(WORK_LEASE),
        }))
    }

    async fn release(&self, work: SharedWork) -> Result<(), GraphStoreError> {
        let own = self.clone();
        let released = async move {
            let connection = own.database.connection().await?;
            connection
                .execute(RELEASE, &[&work.name(), &own.holder])
                .await?;
            Ok::<_, DatabaseError>(())
        };
        Ok(self.database.run(released).await?)
    }
}
