//! Private server for tests: `redis-server` or `valkey-server` in a scratch folder, on its own socket.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Environment variable with the address of a server to use instead of a private one.
pub const TEST_URL: &str = "WORKGRAPH_TEST_REDIS";

/// Environment variable with the required services, such as `postgres,redis`.
pub const REQUIRED: &str = "WORKGRAPH_REQUIRE";

/// Names of server programs, in order of preference.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// Maximum start time of the server.
const START_MAX: Duration = Duration::from_secs(20);

static STARTED: AtomicU32 = AtomicU32::new(0);

/// Private server. Dropping it kills it and removes its folder.
#[derive(Debug)]
pub struct TestServer {
    program: &'static str,
    folder: PathBuf,
    options: Vec<String>,
    child: Option<Child>,
}

impl TestServer {
    /// Starts a server without persistence, with the given command line options; `None` if there is no such
    /// program, which is reported on standard output.
    ///
    /// # Panics
    /// Panics if there is no such program although [`REQUIRED`] contains `redis`, or if the server does not start.
    #[must_use]
    pub fn start(options: &[&str]) -> Option<Self> {
        let Some(program) = PROGRAMS.into_iter().find(|program| is_there(program)) else {
            skip();
            return None;
        };
        let number = STARTED.fetch_add(1, Relaxed);
        let folder =
            env::temp_dir().join(format!("workgraph-redis-{}-{number}", std::process::id()));
        let mut server = Self {
            program,
            folder,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            child: None,
        };
        server.restart();
        if let Err(error) = server.age() {
            fail(&format!("{} does not answer: {error}", server.program));
        }
        Some(server)
    }

    /// Returns the address that clients connect to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Makes the server look as if it had old data about limits under the prefix `workgraph`, so that no process is cautious
    /// because it is new.
    #[cfg(unix)]
    fn age(&self) -> io::Result<()> {
        self.command(&[b"SET", b"workgraph:since", b"0"]).map(drop)
    }

    /// Sends a command in its parts, and returns the raw reply, up to 64 KiB.
    ///
    /// # Errors
    /// Fails if the server does not answer.
    #[cfg(unix)]
    pub fn command(&self, parts: &[&[u8]]) -> io::Result<String> {
        let mut command = format!("*{}\r\n", parts.len()).into_bytes();
        for part in parts {
            command.extend(format!("${}\r\n", part.len()).as_bytes());
            command.extend([part, &b"\r\n"[..]].concat());
        }
        ask(&self.socket(), &command)
    }

    /// Kills the server and starts it again without its data.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub fn restart(&mut self) {
        self.kill();
        if let Err(error) = self.launch() {
            fail(&format!("{} does not start: {error}", self.program));
        }
    }

    /// Kills the server, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Suspends or resumes the server process.
    pub fn set_stopped(&self, stopped: bool) {
        let Some(child) = &self.child else { return };
        let signal = if stopped { "-STOP" } else { "-CONT" };
        // If the signal cannot be sent, the test will show it.
        let _ = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    #[expect(clippy::disallowed_methods, reason = "it waits for another program")]
    fn launch(&mut self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let child = Command::new(self.program)
            .args(["--port", "0", "--save", "", "--appendonly", "no"])
            .arg("--unixsocket")
            .arg(self.socket())
            .arg("--dir")
            .arg(&self.folder)
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        self.child = Some(child);
        let begun = Instant::now();
        while !answers(&self.socket()) {
            if begun.elapsed() > START_MAX {
                return Err(io::Error::other("it does not listen"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.set_stopped(false);
        self.kill();
        // Leftovers in the temporary folder do no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Server for tests: one at a configured address, or a private one.
#[derive(Debug)]
pub enum TestAddress {
    /// Externally managed server.
    Given(String),
    /// A server started for one test.
    Private(TestServer),
}

impl TestAddress {
    /// Returns the server of [`TEST_URL`], or else a private one; `None` if there is neither.
    #[must_use]
    pub fn find() -> Option<Self> {
        match env::var(TEST_URL) {
            Ok(url) if !url.is_empty() => Some(Self::Given(url)),
            _ => TestServer::start(&[]).map(Self::Private),
        }
    }

    /// Returns the address that clients connect to.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Given(url) => url.clone(),
            Self::Private(server) => server.url(),
        }
    }
}

fn is_there(program: &str) -> bool {
    let asked = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

#[cfg(unix)]
fn answers(socket: &Path) -> bool {
    ask(socket, b"PING\r\n").is_ok()
}

/// Sends a command, and returns any reply.
#[cfg(unix)]
fn ask(socket: &Path, command: &[u8]) -> io::Result<String> {
    use std::io::{Read, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    stream.write_all(command)?;
    let mut reply = vec![0; 1 << 16];
    let length = stream.read(&mut reply)?;
    reply.truncate(length);
    if reply.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

/// Reports that a test is skipped, or fails if it is required.
fn skip() {
    let required = env::var(REQUIRED).unwrap_or_default();
    if required.split(',').any(|service| service.trim() == "redis") {
        fail("WORKGRAPH_REQUIRE names redis, but there is no redis-server or valkey-server");
    }
    println!(
        "SKIPPED: THERE IS NO redis-server OR valkey-server, AND WORKGRAPH_TEST_REDIS IS NOT SET"
    );
}

#[expect(clippy::panic, reason = "this is for tests alone")]
fn fail(text: &str) -> ! {
    panic!("{text}")
}
