//! PostgreSQL servers for tests: a private one for each test binary, with a database for each case.
//!
//! The newest server under `/usr/lib/postgresql` is started in a scratch folder, and only reachable by a socket there. The
//! variable `WORKGRAPH_TEST_POSTGRES` sets the address of another server to use instead. If there is neither, tests are
//! skipped and report it, unless `WORKGRAPH_REQUIRE` contains `postgres`: then they fail.
use crate::scratch_folder::ScratchFolder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// PostgreSQL server that tests of one binary share.
#[derive(Debug)]
pub struct PostgresCluster {
    /// Address of an external server.
    url: Option<String>,
    /// Folder with the socket of a private server.
    socket: PathBuf,
    /// Process that stops the server when its input is closed, which happens when this process ends in any way.
    _watcher: Option<Child>,
}

/// Database for one case, dropped with this value.
#[derive(Debug)]
pub struct TestDatabase {
    cluster: &'static PostgresCluster,
    name: String,
}

/// Returns true if a program needed by a test was found; otherwise reports that the test is skipped.
///
/// # Panics
/// Panics if it was not found, and `WORKGRAPH_REQUIRE` contains it.
pub fn is_there(found: bool, program: &str) -> bool {
    if !found {
        let required = std::env::var("WORKGRAPH_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name.trim() == program),
            "WORKGRAPH_REQUIRE names {program}, which is not installed"
        );
        // Written directly to standard error: the test harness hides the output of passing tests.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: {program} IS NOT INSTALLED, AND NO WORKGRAPH_TEST_* NAMES ANOTHER ONE"
        );
    }
    found
}

impl PostgresCluster {
    /// Returns the server of this process, which the first call starts; `None` if there is none, which is also reported.
    ///
    /// # Panics
    /// Panics if the server cannot be started, or there is none and `WORKGRAPH_REQUIRE` contains `postgres`.
    #[expect(clippy::panic, reason = "a test without its server cannot go on")]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<PostgresCluster>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            if let Ok(url) = std::env::var("WORKGRAPH_TEST_POSTGRES") {
                let (url, socket, _watcher) = (Some(url), PathBuf::new(), None);
                return Some(Self {
                    url,
                    socket,
                    _watcher,
                });
            }
            let programs = newest_programs()?;
            match start(&programs) {
                Ok(cluster) => Some(cluster),
                Err(reason) => panic!("a PostgreSQL server for tests: {reason}"),
            }
        });
        is_there(shared.is_some(), "postgres").then_some(shared.as_ref())?
    }

    /// Creates an empty database.
    ///
    /// # Panics
    /// Panics if it cannot be created.
    pub fn database(&'static self) -> TestDatabase {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("workgraph_test_{}_{number}", std::process::id());
        self.sql(
            "postgres",
            &format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"),
        );
        TestDatabase {
            cluster: self,
            name,
        }
    }

    /// Returns the address of a database of this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        match &self.url {
            None => format!(
                "postgres:///{database}?host={}&user=postgres",
                self.socket.display()
            ),
            Some(url) => {
                let (base, query) = url.split_once('?').unwrap_or((url, ""));
                let scheme_end = base.find("://").map_or(0, |at| at + 3);
                let host_end = base
                    .get(scheme_end..)
                    .and_then(|rest| rest.find('/'))
                    .map_or(base.len(), |at| scheme_end + at);
                let host = base.get(..host_end).unwrap_or(base);
                format!("{host}/{database}?{query}")
            }
        }
    }

    #[expect(clippy::panic, reason = "a test without its database cannot go on")]
    fn sql(&self, database: &str, statement: &str) {
        match self.psql(database, statement) {
            Ok(done) if done.status.success() => {}
            Ok(done) => panic!("{statement}: {}", String::from_utf8_lossy(&done.stderr)),
            Err(error) => panic!("psql: {error}"),
        }
    }

    fn psql(&self, database: &str, statement: &str) -> std::io::Result<Output> {
        Command::new("psql")
            .args([
                "--no-psqlrc",
                "--quiet",
                "--set=ON_ERROR_STOP=1",
                "--command",
                statement,
            ])
            .arg(self.url(database))
            .output()
    }
}

impl TestDatabase {
    /// Returns the address of the database.
    #[must_use]
    pub fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    /// Returns the name of the test's database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the file of the server's socket; `None` for an external server.
    #[must_use]
    pub fn socket(&self) -> Option<PathBuf> {
        let own = self.cluster.url.is_none();
        own.then(|| self.cluster.socket.join(".s.PGSQL.5432"))
    }

    /// Runs statements on a separate connection.
    ///
    /// # Panics
    /// Panics if one fails.
    pub fn sql(&self, statements: &str) {
        self.cluster.sql(&self.name, statements);
    }

    /// Runs statements on a separate connection. Returns true if none failed.
    #[must_use]
    pub fn try_sql(&self, statements: &str) -> bool {
        let done = self.cluster.psql(&self.name, statements);
        done.is_ok_and(|done| done.status.success())
    }

    /// Deletes all rows except the records of applied migrations, which is faster than creating another database.
    ///
    /// # Panics
    /// Panics if that fails.
    pub fn clear(&self) {
        self.sql(
            "DO $$ DECLARE t text; BEGIN \
             FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' \
                 AND tablename NOT IN ('schema_version', 'store_state') \
             LOOP EXECUTE 'DELETE FROM ' || quote_ident(t); END LOOP; \
             UPDATE store_state SET seq = 0, pruned = 0, floor = 0, audit_seq = 0, audit_gid = 0, audit_at = 0, \
                 audit_digest = ''; END $$",
        );
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.cluster.sql(
                "postgres",
                &format!("DROP DATABASE {} WITH (FORCE)", self.name),
            );
        }
    }
}

/// Returns the folder with the programs of the newest server on this machine.
#[must_use]
pub fn newest_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let versions = versions.filter_map(|entry| Some(entry.ok()?.path()));
    let found = versions.filter(|path| path.join("bin/initdb").exists());
    let newest = found.max_by_key(|path| number(path));
    newest.map(|path| path.join("bin"))
}

/// Returns the ids of an ordinary user and its group if this process runs as root, since the server refuses to run as root.
#[must_use]
pub fn ordinary_user() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    if std::fs::metadata("/proc/self").ok()?.uid() != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let ids = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody"))
}

fn start(programs: &Path) -> Result<PostgresCluster, String> {
    use std::os::unix::process::CommandExt;
    let folder = ScratchFolder::in_memory("postgres");
    let path = folder.path().to_owned();
    // The watcher removes it.
    std::mem::forget(folder);
    let user = ordinary_user();
    if let Some((uid, gid)) = user {
        std::os::unix::fs::chown(&path, Some(uid), Some(gid)).map_err(|e| e.to_string())?;
    }
    let program = |name: &str| {
        let mut command = Command::new(programs.join(name));
        command.current_dir(&path);
        if let Some((uid, gid)) = user {
            command.uid(uid).gid(gid);
        }
        command
    };
    let data = path.join("data");
    let made = program("initdb")
        .args([
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "-D",
        ])
        .arg(&data)
        .output()
        .map_err(|e| format!("initdb: {e}"))?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned());
    }
    let settings = format!(
        "listen_addresses = ''\nunix_socket_directories = '{}'\nfsync = off\nfull_page_writes = off\n\
         max_connections = 300\nshared_buffers = '64MB'\nautovacuum_naptime = '5s'\n",
        path.display()
    );
    let file = data.join("postgresql.auto.conf");
    std::fs::write(&file, settings).map_err(|e| e.to_string())?;
    let log = path.join("log");
    let started = program("pg_ctl")
        .args(["start", "--wait", "--silent", "--timeout=60", "-D"])
        .arg(&data)
        .arg("-l")
        .arg(&log)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|e| format!("pg_ctl: {e}"))?;
    if !started.success() {
        return Err(std::fs::read_to_string(&log).unwrap_or_default());
    }
    let pid = std::fs::read_to_string(data.join("postmaster.pid")).map_err(|e| e.to_string())?;
    let pid = pid.lines().next().unwrap_or_default().to_owned();
    let script = "trap '' INT TERM HUP; cat >/dev/null; kill -QUIT \"$1\"; \
        while kill -0 \"$1\" 2>/dev/null; do sleep 0.05; done; rm -rf \"$2\"";
    let watcher = Command::new("sh")
        .args(["-c", script, "sh", &pid])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|e| format!("sh: {e}"))?;
    Ok(PostgresCluster {
        url: None,
        socket: path,
        _watcher: Some(watcher),
    })
}
