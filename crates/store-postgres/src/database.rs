//! Database: its address, the connection pools, the checks at start, and the runtime on which its work runs.
mod address;
mod connection_pool;
pub(crate) mod migrations;
mod tls;

pub(crate) use self::address::Address;
pub(crate) use self::connection_pool::Connection;
use self::connection_pool::{ConnectionPool, none_left};
use crate::database_error::DatabaseError;
use crate::store_stats::StoreStats;
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Pool, PoolError, QueueMode, RecyclingMethod, Runtime,
    TimeoutType, Timeouts,
};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::MissedTickBehavior;
use tokio_postgres::{NoTls, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Number of times that two connections are compared: behind a busy pooler, they can differ by chance.
const POOLER_CHECKS: usize = 3;

/// Maximum number of connections of the writer: one that commits, one that prepares the next commit, and one to replace
/// another that broke or is being rolled back.
const WRITERS: usize = 3;

/// Time between two attempts to take a connection while the server accepts no more and this node has none.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Idle time before the first keepalive probe of a connection, time between further probes, and their number.
const KEEPALIVE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(3);
const KEEPALIVE_RETRIES: u32 = 3;

/// Options for opening a database.
#[derive(Clone)]
pub struct DatabaseOptions {
    /// Address: `postgres://user:password@host:port/database`, with the parameters `sslmode`, `sslrootcert`, `host` (for
    /// a folder with a socket) and those of libpq that tokio-postgres knows.
    pub url: String,
    /// Name of this node in the server's list of connections.
    pub node: String,
    /// Maximum number of connections, at least 2; up to three of them write.
    pub connections: usize,
    /// Longest time to wait for a connection, free or new.
    pub connect_timeout: Duration,
    /// Longest time that the server may work on one statement.
    pub statement_timeout: Duration,
    /// Longest time that a statement may wait for a lock.
    pub lock_timeout: Duration,
    /// Longest time of one load.
    pub read_timeout: Duration,
    /// Longest time of one transaction that writes, and of finding out its outcome if the connection broke.
    pub write_timeout: Duration,
    /// Approximate bytes of the cache of answers; 0 for none.
    pub cache_bytes: usize,
    /// False to make each read of a load a separate trip: slow, but simple, as a reference for comparisons with waves.
    pub waves: bool,
    /// True to accept a server that can lose commits in a crash; for tests.
    pub accept_unsafe_server: bool,
}

impl DatabaseOptions {
    /// Returns the default options for an address.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            node: "0".into(),
            connections: 16,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(10),
            lock_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(20),
            cache_bytes: 64 << 20,
            waves: true,
            accept_unsafe_server: false,
        }
    }

    /// Returns the statements that prepare a new connection.
    fn setup(&self) -> String {
        format!(
            "SET jit = off; SET plan_cache_mode = force_generic_plan; \
             SET default_transaction_isolation = 'read committed'; SET client_encoding = 'UTF8'; \
             SET statement_timeout = {}; SET lock_timeout = {}; \
             SET idle_in_transaction_session_timeout = {};",
            self.statement_timeout.as_millis(),
            self.lock_timeout.as_millis(),
            2 * self.statement_timeout.as_millis(),
        )
    }
}

/// Omits the address, which contains a password.
impl fmt::Debug for DatabaseOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseOptions")
            .field("node", &self.node)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// Database with pools of connections. A clone is another handle on the same pools.
#[derive(Clone)]
pub struct Database {
    shared: Arc<SharedDatabase>,
}

struct SharedDatabase {
    /// Connections for reading and for single statements.
    readers: ConnectionPool,
    writers: ConnectionPool,
    runtime: Handle,
    options: DatabaseOptions,
    /// Encryption of connections, if they may be encrypted.
    tls: Option<MakeRustlsConnect>,
    /// Address without the password.
    display: String,
    /// Number of reads, and of their trips to the database.
    reads: AtomicU64,
    read_trips: AtomicU64,
    /// Number of transactions that wrote, and of their trips.
    batches: AtomicU64,
    write_trips: AtomicU64,
    /// Number of trips of all other statements.
    statement_trips: AtomicU64,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.shared.display)
    }
}

impl Database {
    /// Connects, checks that the server is suitable, and brings the tables to the newest version. All work runs on
    /// `runtime`, which must drive I/O and time on its own threads; callers may be on any executor.
    ///
    /// # Errors
    /// Fails if the address is wrong, the server cannot be reached or is unsuitable, or its data is of a newer version.
    pub async fn open(options: DatabaseOptions, runtime: Handle) -> Result<Self, DatabaseError> {
        let database = Self::connect(options, runtime).await?;
        let own = database.clone();
        database
            .run(async move { migrations::migrate(&own).await })
            .await?;
        Ok(database)
    }

    /// Connects and checks the server, without changing its data.
    ///
    /// # Errors
    /// Fails as [`open`](Self::open) does, but not because of the version of the data.
    pub async fn connect(options: DatabaseOptions, runtime: Handle) -> Result<Self, DatabaseError> {
        let address = Address::parse(&options.url)?;
        let display = address.to_string();
        let tls = match address.may_encrypt() {
            true => Some(tls::connector(&address)?),
            false => None,
        };
        let writers = WRITERS.min(options.connections / 2).max(1);
        let readers = options.connections.saturating_sub(writers).max(1);
        let shared = SharedDatabase {
            readers: pool(&address, tls.as_ref(), &options, readers)?,
            writers: pool(&address, tls.as_ref(), &options, writers)?,
            runtime,
            options,
            tls,
            display,
            reads: AtomicU64::new(0),
            read_trips: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            write_trips: AtomicU64::new(0),
            statement_trips: AtomicU64::new(0),
        };
        let database = Self {
            shared: Arc::new(shared),
        };
        let own = database.clone();
        database
            .run(async move { own.check_server().await })
            .await?;
        Ok(database)
    }

    /// Checks that this program can work with the tables, without changing them.
    ///
    /// # Errors
    /// Fails if something is missing, or a newer program has removed something.
    pub async fn check_tables(&self) -> Result<(), DatabaseError> {
        let own = self.clone();
        let checked = async move { migrations::check(&own.connection().await?).await };
        self.run(checked).await
    }

    /// Returns the options that the database was opened with.
    pub(crate) fn options(&self) -> &DatabaseOptions {
        &self.shared.options
    }

    /// Counts a read that waited for the database this many times.
    pub(crate) fn count_read(&self, trips: u32) {
        self.shared.reads.fetch_add(1, Ordering::Relaxed);
        self.shared
            .read_trips
            .fetch_add(u64::from(trips), Ordering::Relaxed);
    }

    /// Counts a transaction that wrote, and waited for the database this many times.
    pub(crate) fn count_batch(&self, trips: u32) {
        self.shared.batches.fetch_add(1, Ordering::Relaxed);
        self.shared
            .write_trips
            .fetch_add(u64::from(trips), Ordering::Relaxed);
    }

    /// Counts trips of statements that are neither loads nor commits.
    pub(crate) fn count_statements(&self, trips: u64) {
        let count = &self.shared.statement_trips;
        count.fetch_add(trips, Ordering::Relaxed);
    }

    /// Returns the figures of the database since it was opened.
    pub(crate) fn stats(&self) -> StoreStats {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreStats {
            reads: count(&self.shared.reads),
            read_trips: count(&self.shared.read_trips),
            batches: count(&self.shared.batches),
            write_trips: count(&self.shared.write_trips),
            statement_trips: count(&self.shared.statement_trips),
            connections: (self.shared.readers.size() + self.shared.writers.size()) as u64,
        }
    }

    /// Returns the runtime on which work on the database runs.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    /// Runs work on the runtime of the database, so that it works under any executor. The work runs to its end even if the caller
    /// stops waiting.
    ///
    /// # Errors
    /// Fails as the work does, and if the runtime has ended.
    pub async fn run<T, E>(
        &self,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        // The runtime's code is compiled once for each type of future, and boxed futures have few types.
        let work: Pin<Box<dyn Future<Output = Result<T, E>> + Send>> = Box::pin(work);
        let done = self.runtime().spawn(work).await;
        done.unwrap_or_else(|error| Err(DatabaseError::Failed(error.to_string()).into()))
    }

    /// Takes a connection for reading or for single statements. Must be awaited on the runtime: see [`run`](Self::run).
    pub(crate) async fn connection(&self) -> Result<Connection, DatabaseError> {
        let (readers, writers) = (&self.shared.readers, &self.shared.writers);
        self.take(readers, writers, DatabaseError::from).await
    }

    /// Takes a connection of the writer.
    pub(crate) async fn write_connection(&self) -> Result<Connection, DatabaseError> {
        let (readers, writers) = (&self.shared.readers, &self.shared.writers);
        self.take(writers, readers, DatabaseError::from).await
    }

    /// Takes a connection of a pool, or of the other pool if the first has none and the server accepts no more.
    async fn take(
        &self,
        pool: &ConnectionPool,
        other: &ConnectionPool,
        failed: impl Fn(PoolError) -> DatabaseError,
    ) -> Result<Connection, DatabaseError> {
        let taking = async {
            let mut tries = tokio::time::interval(RETRY_INTERVAL);
            tries.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tries.tick().await;
                if let Some(connection) = pool.take().await.map_err(&failed)? {
                    return Ok(connection);
                }
                if other.size() > 0
                    && let Some(connection) = other.take().await.map_err(&failed)?
                {
                    return Ok(connection);
                }
            }
        };
        match tokio::time::timeout(self.options().connect_timeout, taking).await {
            Ok(taken) => taken,
            Err(_) if pool.is_shut_out() => Err(none_left()),
            Err(_) => Err(failed(PoolError::Timeout(TimeoutType::Wait))),
        }
    }

    /// Waits for work, but no longer than `limit`.
    ///
    /// # Errors
    /// Fails as the work does; if it takes too long, its outcome is unknown, and its connection must be closed.
    pub(crate) async fn within<T>(
        limit: Duration,
        work: impl Future<Output = Result<T, DatabaseError>>,
    ) -> Result<T, DatabaseError> {
        let late = |_| Err(DatabaseError::TimedOut("it did not answer in time".into()));
        tokio::time::timeout(limit, work).await.unwrap_or_else(late)
    }

    /// Closes a connection on which a statement may still be running, and asks the server to stop it; otherwise it would run to
    /// its end, or to its time limit.
    pub(crate) fn close(&self, connection: Connection) {
        let token = connection.cancel_token();
        let is_closed = connection.is_closed();
        connection.close();
        if is_closed {
            return;
        }
        let own = self.clone();
        self.runtime().spawn(async move {
            let cancel = async {
                match &own.shared.tls {
                    Some(tls) => token.cancel_query(tls.clone()).await,
                    None => token.cancel_query(NoTls).await,
                }
            };
            match tokio::time::timeout(own.options().connect_timeout, cancel).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a statement could not be stopped"),
                Err(late) => tracing::debug!(error = %late, "a statement could not be stopped"),
            }
        });
    }

    /// Refuses a pooler that does not keep one server connection for each connection of this node: its settings and prepared
    /// statements would be mixed with those of other clients.
    async fn check_pooler(&self, one: &Connection) -> Result<(), DatabaseError> {
        let other = self.write_connection().await?;
        for _ in 0..POOLER_CHECKS {
            // Connections that exist at the same time have separate server processes.
            if process(one).await? == process(&other).await? {
                return Err(DatabaseError::Unsuitable(
                    "a pooler gives its connections to several clients in turn: pgbouncer needs pool_mode = session"
                        .into(),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a server that is too old, has another encoding, or can lose commits.
    async fn check_server(&self) -> Result<(), DatabaseError> {
        let (readers, writers) = (&self.shared.readers, &self.shared.writers);
        let failed = |error| DatabaseError::not_connected(error, &self.shared.display);
        let connection = self.take(readers, writers, failed).await?;
        self.check_pooler(&connection).await?;
        let row = connection
            .query_one(
                "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
                 current_setting('server_encoding'), current_setting('fsync'), \
                 current_setting('full_page_writes'), current_setting('synchronous_commit')",
                &[],
            )
            .await?;
        let unsuitable = |text: String| Err(DatabaseError::Unsuitable(text));
        let (number, version): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
        if number < 140_000 {
            return unsuitable(format!(
                "the server is PostgreSQL {version}, but 14 or newer is needed"
            ));
        }
        let encoding: String = row.try_get(2)?;
        if encoding != "UTF8" {
            return unsuitable(format!(
                "its encoding is {encoding}, but UTF8 is needed: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
            ));
        }
        if self.options().accept_unsafe_server {
            return Ok(());
        }
        for (at, setting) in [
            (3, "fsync"),
            (4, "full_page_writes"),
            (5, "synchronous_commit"),
        ] {
            let value: String = row.try_get(at)?;
            if value == "off" {
                return unsuitable(format!(
                    "{setting} is off, so a crash can lose commits: set {setting} = on"
                ));
            }
        }
        Ok(())
    }
}

/// Returns the id of the server process of a connection, without preparing a statement.
async fn process(connection: &Connection) -> Result<Option<String>, DatabaseError> {
    let messages = connection.simple_query("SELECT pg_backend_pid()").await?;
    Ok(messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}

fn pool(
    address: &Address,
    tls: Option<&MakeRustlsConnect>,
    options: &DatabaseOptions,
    size: usize,
) -> Result<ConnectionPool, DatabaseError> {
    let mut config = address.config.clone();
    config.application_name(format!("workgraph/{}", options.node));
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(options.connect_timeout);
    }
    // Otherwise this node would wait for a machine that is gone until the operating system gives up.
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(options.statement_timeout);
    }
    if config.get_keepalives_idle() > KEEPALIVE {
        config.keepalives_idle(KEEPALIVE);
        config.keepalives_interval(KEEPALIVE_INTERVAL);
        config.keepalives_retries(KEEPALIVE_RETRIES);
    }
    let of_manager = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let manager = match tls {
        Some(tls) => Manager::from_config(config, tls.clone(), of_manager),
        None => Manager::from_config(config, NoTls, of_manager),
    };
    let setup = options.setup();
    let prepare = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
        let setup = setup.clone();
        Box::pin(async move {
            client
                .batch_execute(&setup)
                .await
                .map_err(HookError::Backend)
        })
    });
    let wait = Some(options.connect_timeout);
    let pool = Pool::builder(manager)
        .max_size(size)
        // The connection used last has its statements prepared.
        .queue_mode(QueueMode::Lifo)
        .runtime(Runtime::Tokio1)
        .timeouts(Timeouts {
            wait,
            create: wait,
            recycle: wait,
        })
        .post_create(prepare)
        .build()
        .map_err(|error| DatabaseError::Failed(error.to_string()))?;
    Ok(ConnectionPool::new(pool, size))
}
