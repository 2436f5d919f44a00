//! Tables, and the migrations that bring a database to the newest version.
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use std::fmt;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// Migration to the next version.
struct Migration {
    kind: MigrationKind,
    /// File name of the migration.
    name: &'static str,
    /// Statements of the file.
    script: &'static str,
}

/// Effect of a migration on nodes of the previous version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MigrationKind {
    /// It only adds something: older nodes continue to work, and can be started.
    Expand,
    /// The migration removes something that older nodes use. It waits until none of them is left.
    Contract,
}

macro_rules! migrations {
    ($($kind:ident $file:literal),* $(,)?) => {
        &[$(Migration {
            kind: MigrationKind::$kind,
            name: $file,
            script: include_str!(concat!("migrations/", $file, ".sql")),
        }),*]
    };
}

/// Migrations, in order; the version of a database is the number of applied migrations. A released file is never edited: the
/// next change is another file. Parts that are no longer used are removed by the next version, so that nodes of two versions
/// can serve one database.
const MIGRATIONS: &[Migration] = migrations![
    Expand "0001_graph",
    Expand "0002_auth",
    Expand "0003_webhooks",
    Expand "0004_audit",
    Expand "0005_nodes",
    Expand "0006_upgrades",
    Contract "0007_without_seen",
    Expand "0008_words",
];

/// Migration that has not been applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedMigration {
    /// Name of the migration.
    pub name: &'static str,
    /// Numbers of the nodes that serve the database and use what the migration removes. It waits until none are left.
    pub waits_for: Vec<i16>,
}

/// Writes the condition that the migration waits for.
impl fmt::Display for PlannedMigration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.waits_for.iter().map(ToString::to_string).collect();
        let (name, numbers) = (self.name, numbers.join(", "));
        if numbers.is_empty() {
            return f.write_str(name);
        }
        write!(
            f,
            "{name}: it removes what older nodes use (number {numbers}): stop or upgrade them first, or wait until the lease of one that was killed is over"
        )
    }
}

/// Returns the version to which this program brings a database.
pub(crate) const fn newest() -> usize {
    MIGRATIONS.len()
}

/// Returns the oldest version that this program works with: the version of the last migration that added something.
pub(crate) fn oldest() -> usize {
    let is_added = |migration: &Migration| migration.kind == MigrationKind::Expand;
    MIGRATIONS.iter().rposition(is_added).map_or(0, |at| at + 1)
}

/// Key of the advisory lock that a node holds while it migrates: "WkGr".
const LOCK: i64 = 0x576b_4772;
/// Time between two attempts to take the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);
/// Longest time to wait for another node that migrates.
const LOCK_TIMEOUT: Duration = Duration::from_secs(600);

/// Longest time that a statement of a migration waits for a lock before everything is retried: other statements queue behind it.
const STATEMENT_LOCK_TIMEOUT: &str = "1s";
/// Attempts to get the locks of a migration, and the time between two of them.
const ATTEMPTS: usize = 60;
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(500);

const OLDER_NODES: &str = "SELECT number FROM member WHERE until >= clock_timestamp() AND schema_max < $1 \
    ORDER BY number";

/// Applies the remaining migrations, each in a separate transaction, on one node at a time. A migration that removes
/// something that older nodes use is postponed while any of them serves the database.
pub(crate) async fn migrate(database: &Database) -> Result<(), DatabaseError> {
    let connection = database.connection().await?;
    if remaining(&connection).await?.is_empty() {
        return Ok(());
    }
    lock(&connection).await?;
    let done = match refuse_tables_of_others(&connection).await {
        Ok(()) => apply(&connection).await,
        refused => refused,
    };
    // The lock also ends with the connection, so a failure to release it is not a failure of the migration.
    let released = connection
        .execute("SELECT pg_advisory_unlock($1)", &[&LOCK])
        .await;
    if done.is_err() || released.is_err() {
        connection.close();
    }
    done
}

/// Returns the migrations that [`Database::open`] would apply or postpone.
///
/// # Errors
/// Fails if the database cannot be read, or its data is of a newer version with which this program cannot work.
pub async fn plan(database: &Database) -> Result<Vec<PlannedMigration>, DatabaseError> {
    let own = database.clone();
    let planned = async move {
        let connection = own.connection().await?;
        let mut planned = Vec::new();
        for (version, migration) in remaining(&connection).await? {
            let waits_for = older_nodes(&connection, version, migration).await?;
            let name = migration.name;
            planned.push(PlannedMigration { name, waits_for });
        }
        Ok(planned)
    };
    database.run(planned).await
}

/// Tables and views in the schema that this program uses, except those of extensions.
const TABLES: &str = "SELECT c.relname::text FROM pg_class c \
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') ORDER BY 1 LIMIT 6";

/// Maximum number of tables that a text names.
const NAMED: usize = 5;

/// Refuses a database that has tables but none of this program's: they belong to another program, and ours would be mixed with
/// them.
async fn refuse_tables_of_others(connection: &Connection) -> Result<(), DatabaseError> {
    if remaining(connection).await?.len() < newest() {
        return Ok(());
    }
    let rows = connection.query(TABLES, &[]).await?;
    let names = rows.iter().map(|row| row.try_get(0));
    let mut names = names.collect::<Result<Vec<String>, _>>()?;
    // It is empty if the first migration did not complete.
    names.retain(|name| name != "schema_version");
    if names.is_empty() {
        return Ok(());
    }
    let more = if names.len() > NAMED { ", ..." } else { "" };
    names.truncate(NAMED);
    let found = names.join(", ");
    Err(DatabaseError::Unsuitable(format!(
        "it has tables of another program ({found}{more}) and none of Workgraph: name a database of its own, such as one that `createdb workgraph` makes"
    )))
}

/// Refuses a database with which this program cannot work: something is missing or was removed.
pub(crate) async fn check(connection: &Connection) -> Result<(), DatabaseError> {
    let rest = remaining(connection).await?;
    if rest.len() == newest() {
        refuse_tables_of_others(connection).await?;
        let text = "it has no tables of Workgraph: a server makes them when it starts, `workgraph move` fills them, and `workgraph migrate` makes them without data";
        return Err(DatabaseError::Unsuitable(text.into()));
    }
    match rest.iter().find(|(version, _)| *version <= oldest()) {
        None => Ok(()),
        Some((_, missing)) => Err(DatabaseError::Unsuitable(format!(
            "its tables lack {}: run `workgraph migrate`",
            missing.name
        ))),
    }
}

/// Returns the numbers of the nodes that a migration waits for.
async fn older_nodes(
    connection: &Connection,
    version: usize,
    migration: &Migration,
) -> Result<Vec<i16>, DatabaseError> {
    let row = connection
        .query_one("SELECT to_regclass('member') IS NOT NULL", &[])
        .await?;
    if migration.kind == MigrationKind::Expand || !row.try_get::<_, bool>(0)? {
        return Ok(Vec::new());
    }
    let version = i32::try_from(version).unwrap_or(i32::MAX);
    let rows = connection.query(OLDER_NODES, &[&version]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Takes the lock. It polls: a waiting statement would keep an old snapshot, and other statements of a migration might in
/// turn wait for that snapshot.
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

#[expect(clippy::disallowed_methods, reason = "it waits for other transactions")]
async fn apply(connection: &Connection) -> Result<(), DatabaseError> {
    for (version, migration) in remaining(connection).await? {
        let mut attempt = 1;
        let waiting = loop {
            match apply_one(connection, version, migration).await {
                // Another transaction has locked one of the tables.
                Err(DatabaseError::TimedOut(_)) if attempt < ATTEMPTS => {
                    attempt += 1;
                    connection.batch_execute("ROLLBACK").await?;
                    tokio::time::sleep(ATTEMPT_INTERVAL).await;
                }
                done => break done?,
            }
        };
        if waiting.waits_for.is_empty() {
            let migration = migration.name;
            tracing::info!(migration, "the tables were brought to a newer form");
        } else if version < oldest() {
            // A later migration adds something that this program needs.
            return Err(DatabaseError::Unsuitable(waiting.to_string()));
        } else {
            tracing::info!("a migration has to wait: {waiting}");
            break;
        }
    }
    Ok(())
}

/// Applies a migration, unless it must wait for older nodes. No node can join in the meantime.
async fn apply_one(
    connection: &Connection,
    version: usize,
    migration: &Migration,
) -> Result<PlannedMigration, DatabaseError> {
    let Migration { kind, name, script } = migration;
    // Building an index has no time limit.
    let begin = format!(
        "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '{STATEMENT_LOCK_TIMEOUT}'; \
         CREATE TABLE IF NOT EXISTS schema_version \
             (version bigint PRIMARY KEY, name text NOT NULL, at timestamptz NOT NULL DEFAULT now()); \
         ALTER TABLE schema_version ADD COLUMN IF NOT EXISTS contract boolean NOT NULL DEFAULT false"
    );
    let contract = *kind == MigrationKind::Contract;
    let waiting = async {
        connection.batch_execute(&begin).await?;
        if contract {
            let lock = "LOCK TABLE member IN SHARE ROW EXCLUSIVE MODE";
            connection.batch_execute(lock).await?;
        }
        older_nodes(connection, version, migration).await
    };
    let waits_for = waiting.await.map_err(|error| named(name, error))?;
    let end = match waits_for.is_empty() {
        true => format!(
            "{script}; INSERT INTO schema_version (version, name, contract) \
             VALUES ({version}, '{name}', {contract}); COMMIT"
        ),
        false => "ROLLBACK".to_owned(),
    };
    let done = connection.batch_execute(&end).await;
    done.map_err(|error| named(name, error.into()))?;
    Ok(PlannedMigration { name, waits_for })
}

/// Returns the error of a migration, with its name and the action to take.
fn named(name: &str, error: DatabaseError) -> DatabaseError {
    match error {
        DatabaseError::Failed(text) => {
            let what_to_do = match text.contains(SqlState::INSUFFICIENT_PRIVILEGE.code()) {
                true => {
                    "; the user needs the right to make tables: ALTER DATABASE ... OWNER TO ..."
                }
                false => "",
            };
            DatabaseError::Failed(format!("{name}: {text}{what_to_do}"))
        }
        DatabaseError::TimedOut(text) => DatabaseError::TimedOut(format!("{name}: {text}")),
        other => other,
    }
}

/// Returns the migrations that have not been applied, with their versions. None remain for a database that a newer program
/// has migrated, if no migration since this program's version has removed anything.
async fn remaining(
    connection: &Connection,
) -> Result<Vec<(usize, &'static Migration)>, DatabaseError> {
    let count = async |sql: &str| {
        let version: i64 = connection.query_one(sql, &[]).await?.try_get(0)?;
        usize::try_from(version).map_err(|_| DatabaseError::unreadable("version"))
    };
    let row = connection
        .query_one("SELECT to_regclass('schema_version') IS NOT NULL", &[])
        .await?;
    let mut found = 0;
    if row.try_get::<_, bool>(0)? {
        found = count("SELECT coalesce(max(version), 0) FROM schema_version").await?;
    }
    let known = newest();
    if found > known {
        const REMOVED: &str = "SELECT coalesce(max(version), 0) FROM schema_version WHERE contract";
        let found = count(REMOVED).await?;
        if found > known {
            return Err(DatabaseError::Newer { found, known });
        }
    }
    Ok((1..).zip(MIGRATIONS).skip(found).collect())
}
