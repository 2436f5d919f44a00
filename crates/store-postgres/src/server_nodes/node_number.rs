//! Node number: the leased number with which a node makes gids.
use crate::database::{Database, migrations};
use crate::database_error::DatabaseError;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time for which a number is leased, from each renewal.
pub const NODE_NUMBER_LEASE: Duration = Duration::from_secs(30);
/// Time between two renewals.
pub const NODE_NUMBER_RENEWAL: Duration = Duration::from_secs(5);
/// Prefix of the names of processes that serve no requests, such as commands: they have a number, but do not count as nodes.
pub const COMMAND_MARK: &str = "command/";
/// Maximum number of attempts to take a number, since other nodes may take the same one first.
const ATTEMPTS: usize = 31;

/// Takes a number that was never used, or else the number whose lease ended first. Its gids begin at the end of the time for
/// which the previous holder may have made gids.
const JOIN: &str = "INSERT INTO member AS m \
        (number, incarnation, until, mint_start, mint_end, schema_min, schema_max) \
    SELECT n.number::smallint, $1, clock_timestamp() + $2::bigint * interval '1 millisecond', 0, \
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2::bigint, $4, $3 \
    FROM generate_series(0, 30) AS n (number) LEFT JOIN member AS old ON old.number = n.number \
    WHERE old.number IS NULL OR old.until < clock_timestamp() \
    ORDER BY old.until NULLS FIRST, n.number LIMIT 1 \
    ON CONFLICT (number) DO UPDATE SET incarnation = excluded.incarnation, until = excluded.until, \
        mint_start = m.mint_end, mint_end = greatest(m.mint_end + $2::bigint, excluded.mint_end), \
        schema_min = excluded.schema_min, schema_max = excluded.schema_max \
    WHERE m.until < clock_timestamp() \
    RETURNING m.number, m.mint_start, m.mint_end";
const ALIVE: &str = "SELECT count(*) FROM member WHERE until >= clock_timestamp()";
const RENEW: &str = "UPDATE member SET until = clock_timestamp() + $3::bigint * interval '1 millisecond', \
        mint_end = greatest(mint_end, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3::bigint) \
    WHERE number = $1 AND incarnation = $2 \
    RETURNING mint_end, (SELECT count(*) FROM member \
        WHERE number <> $1 AND until >= clock_timestamp() AND NOT starts_with(incarnation, $4))";
const LIVE: &str = "SELECT incarnation FROM member \
    WHERE number <> $1 AND until >= clock_timestamp() AND NOT starts_with(incarnation, $2)";
/// Clears the name, so that a renewal that was sent earlier but arrives later has no effect.
const LEAVE: &str = "UPDATE member SET until = clock_timestamp(), incarnation = '' WHERE number = $1 AND incarnation = $2";
const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Leased number of a node, with the milliseconds of the Unix epoch for which it may make gids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeNumberLease {
    /// Number of the node, 0 to 30.
    pub number: u8,
    /// Millisecond from which gids may be made.
    pub gids_from_ms: u64,
    /// Millisecond before which gids may be made, until the next renewal.
    pub gids_until_ms: u64,
    /// Random name of the process that holds the number.
    incarnation: String,
}

/// Result of renewing a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RenewedNodeNumber {
    /// Millisecond before which gids may now be made.
    pub gids_until_ms: u64,
    /// Number of nodes whose leases have not ended, including this one. Nodes that left, and commands, do not count.
    pub nodes: u32,
}

impl NodeNumberLease {
    /// Takes a number for a process. `incarnation` is the random name that the process has chosen.
    ///
    /// # Errors
    /// Fails if all numbers are taken, or the database fails.
    pub async fn join(database: &Database, incarnation: String) -> Result<Self, DatabaseError> {
        let own = database.clone();
        let joined = async move {
            let connection = own.connection().await?;
            let version = |version| i32::try_from(version).unwrap_or(i32::MAX);
            let known = version(migrations::newest());
            let needed = version(migrations::oldest());
            for _ in 0..ATTEMPTS {
                let row = connection
                    .query_opt(JOIN, &[&incarnation, &lease_ms(), &known, &needed])
                    .await?;
                let Some(row) = row else {
                    let alive: i64 = connection.query_one(ALIVE, &[]).await?.try_get(0)?;
                    if alive > 30 {
                        break;
                    }
                    // Another node has just taken the same number.
                    continue;
                };
                let number: i16 = row.try_get(0)?;
                // From here on, no migration removes anything that this program uses; a migration may have done so just
                // before.
                if let Err(error) = migrations::check(&connection).await {
                    connection.execute(LEAVE, &[&number, &incarnation]).await?;
                    return Err(error);
                }
                return Ok(Self {
                    number: u8::try_from(number)
                        .map_err(|_| DatabaseError::unreadable("number"))?,
                    gids_from_ms: milliseconds(row.try_get(1)?)?,
                    gids_until_ms: milliseconds(row.try_get(2)?)?,
                    incarnation,
                });
            }
            Err(DatabaseError::Unsuitable(
                "31 nodes use it already, which is the most; stop one, or wait half a minute if one was killed"
                    .into(),
            ))
        };
        database.run(joined).await
    }

    /// Renews the lease, and counts the nodes; `None` if the process has left, or the lease had ended and another node took the
    /// number.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn renew(
        &self,
        database: &Database,
    ) -> Result<Option<RenewedNodeNumber>, DatabaseError> {
        let (own, lease) = (database.clone(), self.clone());
        let renewed = async move {
            let connection = own.connection().await?;
            let number = i16::from(lease.number);
            let row = connection
                .query_opt(
                    RENEW,
                    &[&number, &lease.incarnation, &lease_ms(), &COMMAND_MARK],
                )
                .await?;
            let Some(row) = row else { return Ok(None) };
            let others: i64 = row.try_get(1)?;
            Ok(Some(RenewedNodeNumber {
                gids_until_ms: milliseconds(row.try_get(0)?)?,
                nodes: u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1),
            }))
        };
        database.run(renewed).await
    }

    /// Returns the names of the other nodes whose leases have not ended.
    ///
    /// # Errors
    /// Fails if the database fails.
    pub async fn others(&self, database: &Database) -> Result<Vec<String>, DatabaseError> {
        let (own, number) = (database.clone(), i16::from(self.number));
        let found = async move {
            let connection = own.connection().await?;
            let rows = connection.query(LIVE, &[&number, &COMMAND_MARK]).await?;
            let names = rows.iter().map(|row| row.try_get(0));
            Ok(names.collect::<Result<_, _>>()?)
        };
        database.run(found).await
    }

    /// Returns the number.
    ///
    /// # Errors
    /// Fails if the database fails; the lease then ends by itself.
    pub async fn leave(&self, database: &Database) -> Result<(), DatabaseError> {
        let (own, lease) = (database.clone(), self.clone());
        let left = async move {
            let connection = own.connection().await?;
            let number = i16::from(lease.number);
            connection
                .execute(LEAVE, &[&number, &lease.incarnation])
                .await?;
            Ok(())
        };
        database.run(left).await
    }
}

/// Returns the time of the server's clock.
///
/// # Errors
/// Fails if the database fails.
pub async fn server_time(database: &Database) -> Result<SystemTime, DatabaseError> {
    let own = database.clone();
    let asked = async move {
        let connection = own.connection().await?;
        milliseconds(connection.query_one(CLOCK, &[]).await?.try_get(0)?)
    };
    let milliseconds: u64 = database.run(asked).await?;
    Ok(UNIX_EPOCH + Duration::from_millis(milliseconds))
}

fn lease_ms() -> i64 {
    i64::try_from(NODE_NUMBER_LEASE.as_millis()).unwrap_or(i64::MAX)
}

fn milliseconds(stored: i64) -> Result<u64, DatabaseError> {
    u64::try_from(stored).map_err(|_| DatabaseError::unreadable("mint_end"))
}
