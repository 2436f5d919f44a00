//! PostgreSQL servers that a test starts, kills and promotes.
use crate::common::{clock, pause};
use std::fs::{File, create_dir_all};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use workgraph_testkit::postgres_cluster::{is_there, newest_programs, ordinary_user};

/// Longest wait for a server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Server in a folder of its own, with its socket there.
#[derive(Debug)]
pub(crate) struct PostgresServer {
    folder: PathBuf,
    child: Option<Child>,
}

/// Returns true if there are programs of a server. Says that the test is skipped if not, or panics where it must not be.
pub(crate) fn is_installed() -> bool {
    is_there(newest_programs().is_some(), "postgres")
}

/// Returns a command of the server's programs, by an ordinary user.
fn program(name: &str, folder: &Path) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(newest_programs().unwrap().join(name));
    command.current_dir(folder).stdin(Stdio::null());
    if let Some((uid, gid)) = ordinary_user() {
        command.uid(uid).gid(gid);
    }
    command
}

fn finish(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

impl PostgresServer {
    /// Makes a server's empty folder.
    fn folder(folder: &Path) -> Self {
        create_dir_all(folder).unwrap();
        if let Some((uid, gid)) = ordinary_user() {
            std::os::unix::fs::chown(folder, Some(uid), Some(gid)).unwrap();
        }
        Self {
            folder: folder.to_owned(),
            child: None,
        }
    }

    /// Makes a server with nothing in it, and starts it.
    pub(crate) fn create(folder: &Path) -> Self {
        let mut server = Self::folder(folder);
        let options = ["--auth=trust", "--username=postgres", "--encoding=UTF8"];
        finish(
            program("initdb", folder)
                .args(options)
                .args(["--locale=C", "--no-sync", "-D"])
                .arg(server.data()),
        );
        server.configure();
        server.start();
        server
    }

    /// Copies a server that does not run, and starts the copy.
    pub(crate) fn copy_of(other: &Path, folder: &Path) -> Self {
        let mut server = Self::folder(folder);
        finish(
            Command::new("cp")
                .arg("-a")
                .arg(other.join("data"))
                .arg(server.data()),
        );
        server.configure();
        server.start();
        server
    }

    /// Starts a standby of a server, and waits until commits wait for it.
    pub(crate) fn standby_of(primary: &Self, folder: &Path) -> Self {
        let mut server = Self::folder(folder);
        finish(
            program("pg_basebackup", folder)
                .args(["--username=postgres", "--checkpoint=fast", "--no-sync"])
                .args(["--write-recovery-conf", "--wal-method=stream", "--host"])
                .arg(&primary.folder)
                .arg("--pgdata")
                .arg(server.data()),
        );
        server.configure();
        server.start();
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        primary.sql("SELECT pg_reload_conf()");
        primary.wait_for_standby();
        server
    }

    /// Waits until the standby is synchronous.
    pub(crate) fn wait_for_standby(&self) {
        let begun = clock();
        while self.sql("SELECT sync_state FROM pg_stat_replication") != "sync" {
            assert!(begun.elapsed() < PATIENCE, "{}", self.log());
            pause(20);
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns the file of the socket.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    /// Returns the log.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn configure(&self) {
        let settings = format!(
            "listen_addresses = ''\nunix_socket_directories = '{}'\nfsync = off\nfull_page_writes = off\n\
             max_connections = 120\nshared_buffers = '32MB'\nautovacuum_naptime = '5s'\n\
             wal_retrieve_retry_interval = '100ms'\nmax_wal_size = '128MB'\n",
            self.folder.display()
        );
        let file = self.data().join("postgresql.auto.conf");
        let mut file = File::options().append(true).open(file).unwrap();
        file.write_all(settings.as_bytes()).unwrap();
    }

    /// Returns the address of a database.
    pub(crate) fn url(&self, database: &str) -> String {
        let folder = self.folder.display();
        format!("postgres:///{database}?host={folder}&user=postgres")
    }

    /// Starts the process, and waits until it answers.
    pub(crate) fn start(&mut self) {
        let begun = clock();
        let mut is_running = false;
        while !is_running || !self.answers() {
            assert!(begun.elapsed() < PATIENCE, "{}", self.log());
            let status = self.child.as_mut().map(|child| child.try_wait().unwrap());
            if matches!(status, None | Some(Some(_))) {
                // What is left of a killed one keeps its memory for a moment, and then this ends at once.
                let mut log = File::options();
                log.create(true).append(true);
                let log = log.open(self.folder.join("log")).unwrap();
                let mut command = program("postgres", &self.folder);
                command.arg("-D").arg(self.data());
                let child = command.stdout(Stdio::null()).stderr(log).spawn();
                self.child = Some(child.unwrap());
                is_running = true;
            }
            pause(20);
        }
    }

    fn psql(&self, database: &str, statement: &str) -> Command {
        let mut command = Command::new("psql");
        command
            .args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"])
            .args(["--set=ON_ERROR_STOP=1", "--username=postgres", "--host"])
            .arg(&self.folder)
            .args(["--dbname", database, "--command", statement])
            .stdin(Stdio::null());
        command
    }

    /// Returns true if it takes connections: it answers the first message of one with a request for authentication.
    fn answers(&self) -> bool {
        let ask = || {
            let mut stream = UnixStream::connect(self.socket())?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let parameters = b"user\0postgres\0database\0postgres\0\0";
            let length = u32::try_from(8 + parameters.len()).unwrap_or_default();
            let protocol = 3_u32 << 16;
            let head = [length.to_be_bytes(), protocol.to_be_bytes()].concat();
            stream.write_all(&[&head, &parameters[..]].concat())?;
            let mut kind = [0];
            stream.read_exact(&mut kind)?;
            Ok::<_, std::io::Error>(kind == *b"R")
        };
        ask().unwrap_or(false)
    }

    /// Runs a statement for the whole server. Returns its rows as text.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.rows("postgres", statement).join("\n")
    }

    /// Runs a statement in a database. Returns its rows, columns with `|` between.
    pub(crate) fn rows(&self, database: &str, statement: &str) -> Vec<String> {
        let output = self.psql(database, statement).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statement}: {error}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Kills the process and all that it started.
    pub(crate) fn kill(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let id = child.id();
        let parts = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        // This fails only when it has ended already.
        let _over = child.kill();
        let parts = parts.unwrap_or_default();
        let parts: Vec<&str> = parts.split_whitespace().collect();
        if !parts.is_empty() {
            // Those that saw the end of their parent are gone already.
            let mut kill = Command::new("kill");
            let _gone = kill.arg("-KILL").args(parts).stderr(Stdio::null()).status();
        }
        child.wait().unwrap();
    }

    /// Ends the process in order.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let id = child.id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-INT", &id])
                    .status()
                    .unwrap()
                    .success()
            );
            child.wait().unwrap();
        }
    }

    /// Makes a standby the primary.
    pub(crate) fn promote(&self) {
        self.sql("SELECT pg_promote(true, 60)");
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.kill();
    }
}
