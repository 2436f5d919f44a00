//! Tables, and the migrations that bring a database to their newest form.
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// Migration to the next version.
struct Migration {
    /// Name of its file.
    name: &'static str,
    /// Statements of the file.
    script: &'static str,
}

macro_rules! migrations {
    ($($file:literal),* $(,)?) => {
        &[$(Migration { name: $file, script: include_str!(concat!("migrations/", $file, ".sql")) }),*]
    };
}

/// Migrations, in order; the version of a database is the number of those that were applied. A file that was released
/// is never edited: the next change is another file.
const MIGRATIONS: &[Migration] = migrations![
    "0001_graph",
    "0002_auth",
    "0003_webhooks",
    "0004_audit",
    "0005_nodes",
];

/// Returns the version that this program brings a database to.
pub(crate) const fn newest() -> usize {
    MIGRATIONS.len()
}

/// Key of the advisory lock that a node holds while it migrates: "WkGr".
const LOCK: i64 = 0x576b_4772;
/// Time between two attempts to take the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);
/// Longest time to wait for another node that migrates.
const LOCK_TIMEOUT: Duration = Duration::from_secs(600);

/// Applies the remaining migrations, each in a transaction of its own; one node at a time. Returns their names.
pub(crate) async fn migrate(database: &Database) -> Result<Vec<&'static str>, DatabaseError> {
    let connection = database.connection().await?;
    if remaining(&connection).await?.is_empty() {
        return Ok(Vec::new());
    }
    lock(&connection).await?;
    let done = apply(&connection).await;
    // The lock ends with the connection, too; a failure to release it is no failure of the migration.
    let released = connection
        .execute("SELECT pg_advisory_unlock($1)", &[&LOCK])
        .await;
    if done.is_err() || released.is_err() {
        drop(Connection::take(connection));
    }
    done
}

/// Returns the names of the migrations that [`Database::open`] would apply.
///
/// # Errors
/// Fails if the database cannot be read, or its data is of a newer version.
pub async fn plan(database: &Database) -> Result<Vec<&'static str>, DatabaseError> {
    let own = database.clone();
    let planned = async move {
        let connection = own.connection().await?;
        let remaining = remaining(&connection).await?;
        Ok(remaining.iter().map(|migration| migration.name).collect())
    };
    database.run(planned).await
}

/// Takes the lock. It is tried again and again: a statement that waits would keep an old snapshot, for which other
/// statements of a migration might wait in turn.
async fn lock(connection: &Connection) -> Result<(), DatabaseError> {
    let mut attempts = tokio::time::interval(LOCK_INTERVAL);
    let taken = async {
        loop {
            attempts.tick().await;
            let row = connection
                .query_one("SELECT pg_try_advisory_lock($1)", &[&LOCK])
                .await?;
            if row.try_get::<_, bool>(0)? {
                return Ok(());
            }
        }
    };
    let late = || DatabaseError::TimedOut("another node is changing the tables".into());
    tokio::time::timeout(LOCK_TIMEOUT, taken)
        .await
        .map_err(|_| late())?
}

async fn apply(connection: &Connection) -> Result<Vec<&'static str>, DatabaseError> {
    let mut names = Vec::new();
    let remaining = remaining(connection).await?;
    let first = MIGRATIONS.len() - remaining.len();
    for (at, migration) in remaining.iter().enumerate() {
        let version = first + at + 1;
        // Building an index takes as long as it takes.
        let script = format!(
            "BEGIN; SET LOCAL statement_timeout = 0; \
             CREATE TABLE IF NOT EXISTS schema_version \
                 (version bigint PRIMARY KEY, name text NOT NULL, at timestamptz NOT NULL DEFAULT now()); \
             {}; INSERT INTO schema_version (version, name) VALUES ({version}, '{}'); COMMIT;",
            migration.script, migration.name
        );
        if let Err(error) = connection.batch_execute(&script).await {
            let denied = error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE);
            let what_to_do = match denied {
                true => "; the user needs the right to make tables: ALTER DATABASE ... OWNER TO ...",
                false => "",
            };
            let error = DatabaseError::from(error);
            return Err(DatabaseError::Failed(format!(
                "{}: {error}{what_to_do}",
                migration.name
            )));
        }
        tracing::info!(
            migration = migration.name,
            "the tables were brought to a newer form"
        );
        names.push(migration.name);
    }
    Ok(names)
}

/// Returns the migrations that were not applied.
async fn remaining(connection: &Connection) -> Result<&'static [Migration], DatabaseError> {
    let row = connection
        .query_one("SELECT to_regclass('schema_version') IS NOT NULL", &[])
        .await?;
    let mut found = 0;
    if row.try_get::<_, bool>(0)? {
        let row = connection
            .query_one("SELECT coalesce(max(version), 0) FROM schema_version", &[])
            .await?;
        let version: i64 = row.try_get(0)?;
        found = usize::try_from(version).map_err(|_| DatabaseError::unreadable("version"))?;
    }
    let known = MIGRATIONS.len();
    MIGRATIONS
        .get(found..)
        .ok_or(DatabaseError::Newer { found, known })
}
