//! Helpers of the end-to-end tests: starting and killing the server, and a plain HTTP/1.1 client.
#[path = "common/nodes.rs"]
mod nodes;
#[path = "common/pages.rs"]
mod pages;
#[path = "common/raw_connection.rs"]
mod raw_connection;
#[path = "common/webhook_receiver.rs"]
mod webhook_receiver;

pub(crate) use nodes::{is_about_one_node, nodes};
pub(crate) use pages::{hidden, metric};
pub(crate) use raw_connection::{RawConnection, Reply, plain, post, request};
pub(crate) use webhook_receiver::webhook_receiver;

use nodes::{NodeFiles, SharedParts};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

/// Returns the path of the binary under test; `WORKGRAPH_BIN` names another.
pub(crate) fn binary() -> String {
    std::env::var("WORKGRAPH_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_workgraph").to_owned())
}

/// Longest wait of a test for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits a moment between two looks at a condition.
pub(crate) fn pause(millis: u64) {
    let (_open, nothing) = mpsc::channel::<()>();
    let _timeout = nothing.recv_timeout(Duration::from_millis(millis));
}

/// Returns the time, for measuring.
#[expect(
    clippy::disallowed_methods,
    reason = "the tests measure a real process from outside"
)]
pub(crate) fn clock() -> Instant {
    Instant::now()
}

/// A small seeded generator (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Seeded(pub(crate) u64);

impl Seeded {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}

/// A folder of its own for each test, removed in the end unless the test failed.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Parts that the nodes of its server share, once one was started that is several nodes.
    shared: OnceLock<SharedParts>,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("workgraph-{name}-{}-{number}", std::process::id()));
        // A leftover of an earlier process of the same number.
        let _absent = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let shared = OnceLock::new();
        Self { path, shared }
    }
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }
    /// Returns what the nodes of its server share; `None` if that is one process.
    pub(crate) fn shared(&self) -> Option<&SharedParts> {
        self.shared.get()
    }
    /// Returns the log of the servers of this folder.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path.join("log")).unwrap_or_default())
            .into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("data and log are kept in {}", self.path.display());
        } else {
            let _gone = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Returns a command of the binary without the settings of this process's environment.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("WORKGRAPH_")) {
        command.env_remove(name);
    }
    // Passwords and keys would be half the work of a start.
    command.env("WORKGRAPH_TEST_QUICK_SECRETS", "1");
    command.stdin(Stdio::null());
    command
}

/// Runs a command of the binary on a folder to its end.
pub(crate) fn run(folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = command(&binary());
    if let Some(shared) = folder.shared() {
        shared.set(&mut command, folder);
    }
    command
        .args(arguments)
        .arg("--data")
        .arg(folder.data())
        .output()
        .unwrap()
}

/// Runs an admin command and reads its JSON.
pub(crate) fn admin(folder: &Folder, arguments: &[&str]) -> Value {
    let output = run(folder, &[&["admin", "--json"], arguments].concat());
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "admin {arguments:?}: {out} {err}");
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("admin {arguments:?}: {e}: {out}"))
}

/// Limits that no test reaches by chance.
pub(crate) const WIDE: &[(&str, &str)] = &[
    ("limits.standard_paid", "1000000"),
    ("limits.standard_free", "1000000"),
    ("limits.cost", "off"),
    ("limits.concurrent_reads", "1000"),
    ("limits.concurrent_writes", "1000"),
    ("http.connections_per_ip", "4096"),
];

/// A running server: one process, or several nodes.
#[derive(Debug)]
pub(crate) struct Server {
    children: Vec<Child>,
    pub(crate) port: u16,
    /// Content of `bootstrap.json`.
    pub(crate) demo: Value,
}

impl Server {
    /// Starts a demo on this folder, which may hold one already.
    pub(crate) fn start(folder: &Folder, settings: &[(&str, &str)]) -> Self {
        Self::start_by(command(&binary()), folder, settings)
    }

    /// Starts a demo through a command that ends in running the binary.
    pub(crate) fn start_by(program: Command, folder: &Folder, settings: &[(&str, &str)]) -> Self {
        // A test that names a store starts its nodes by itself.
        let is_own = ["store.url", "shared_limits.url"];
        let starts_nodes = nodes() > 1 && !settings.iter().any(|(key, _)| is_own.contains(key));
        if starts_nodes {
            return Self::start_nodes(&program, folder, settings);
        }
        let child = Self::spawn(program, folder, settings);
        Self::wait(child, folder)
            .unwrap_or_else(|status| panic!("the server ended with {status}: {}", folder.log()))
    }

    /// Starts the nodes over the database of the folder, and sends connections to all of them.
    fn start_nodes(program: &Command, folder: &Folder, settings: &[(&str, &str)]) -> Self {
        let shared = folder.shared.get_or_init(SharedParts::start);
        // The nodes' files are there, and a node does not make the folder for that.
        let mut private = std::fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        private.create(folder.data()).unwrap();
        let spawn = |node: usize| {
            let (files, mut program) = (NodeFiles::of(folder, node), nodes::copy(program));
            shared.set(&mut program, folder);
            if node > 0 {
                files.prepare(folder);
            }
            Self::spawn_node(program, folder, &files, settings)
        };
        let wait = |child: Child, node: usize| {
            Self::wait_for_node(child, folder, &NodeFiles::of(folder, node)).unwrap_or_else(
                |status| panic!("node {node} ended with {status}: {}", folder.log()),
            )
        };
        // The first one makes the keys and the demo.
        let mut server = wait(spawn(0), 0);
        let mut ports = vec![server.port];
        let others: Vec<Child> = (1..nodes()).map(spawn).collect();
        for (child, node) in others.into_iter().zip(1..) {
            let mut other = wait(child, node);
            ports.push(other.port);
            server.children.append(&mut other.children);
        }
        shared.proxy.set_servers(ports);
        server.port = shared.proxy.port;
        server
    }

    /// Starts the process, which will write its port.
    pub(crate) fn spawn(program: Command, folder: &Folder, settings: &[(&str, &str)]) -> Child {
        Self::spawn_node(program, folder, &NodeFiles::of(folder, 0), settings)
    }

    fn spawn_node(
        mut program: Command,
        folder: &Folder,
        files: &NodeFiles,
        settings: &[(&str, &str)],
    ) -> Child {
        if files.port.exists() {
            std::fs::remove_file(&files.port).unwrap();
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(folder.path().join("log"))
            .unwrap();
        program
            .args([
                "serve",
                "--demo",
                "--listen",
                "127.0.0.1:0",
                "--quiet",
                "--port-file",
            ])
            .arg(&files.port);
        program.arg("--data").arg(&files.data);
        for (key, value) in settings {
            program.arg("--set").arg(format!("{key}={value}"));
        }
        if !workgraph_testkit::caches_are_on() {
            program.args(["--set", "api_caches=false", "--set", "store.caches=false"]);
        }
        program.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// Waits until the process serves, or returns the status it ended with.
    pub(crate) fn wait(child: Child, folder: &Folder) -> Result<Self, ExitStatus> {
        Self::wait_for_node(child, folder, &NodeFiles::of(folder, 0))
    }

    fn wait_for_node(
        mut child: Child,
        folder: &Folder,
        files: &NodeFiles,
    ) -> Result<Self, ExitStatus> {
        let mut port = None;
        for _ in 0..30_000 {
            let text = std::fs::read_to_string(&files.port).unwrap_or_default();
            port = text.trim().parse().ok();
            if port.is_some() {
                break;
            }
            if let Some(status) = child.try_wait().unwrap() {
                return Err(status);
            }
            pause(1);
        }
        let port: u16 = port.unwrap_or_else(|| panic!("no port after 30 s: {}", folder.log()));
        let mut server = Self {
            children: vec![child],
            port,
            demo: Value::Null,
        };
        let ready = server
            .raw_connection()
            .ask(b"GET /-/readyz HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        assert_eq!(ready.status, 200, "{}", ready.text());
        let demo = std::fs::read(folder.data().join("bootstrap.json")).unwrap();
        server.demo = serde_json::from_slice(&demo).unwrap();
        Ok(server)
    }

    /// Opens a new connection.
    pub(crate) fn raw_connection(&self) -> RawConnection {
        RawConnection::open(self.port).unwrap()
    }

    /// Returns the token of the demo's first user, with full permissions.
    pub(crate) fn token(&self) -> &str {
        self.demo["personal_access_token"].as_str().unwrap()
    }

    /// Returns a text of `bootstrap.json`, by JSON pointer.
    pub(crate) fn demo(&self, pointer: &str) -> String {
        let value = self.demo.pointer(pointer).and_then(Value::as_str);
        value
            .unwrap_or_else(|| panic!("bootstrap.json has no {pointer}: {}", self.demo))
            .to_owned()
    }

    /// Returns the first workspace of a plan.
    pub(crate) fn workspace(&self, plan: &str) -> String {
        let all = self.demo["workspaces"].as_array().unwrap();
        let found = all
            .iter()
            .find(|w| w["plan"] == plan)
            .unwrap_or_else(|| panic!("no {plan} workspace: {}", self.demo));
        found["gid"].as_str().unwrap().to_owned()
    }

    /// Returns a team of a workspace.
    pub(crate) fn team(&self, workspace: &str) -> String {
        let all = self.demo["teams"].as_array().unwrap();
        let found = all
            .iter()
            .find(|t| t["workspace"] == workspace || t["workspace"]["gid"] == workspace);
        found.unwrap_or_else(|| panic!("no team: {}", self.demo))["gid"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Sends one request on a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.raw_connection()
            .ask(&request(method, path, self.token(), body))
            .unwrap()
    }

    /// Sends a request that must succeed. Returns its `data`.
    pub(crate) fn data(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let reply = self.ask(method, path, body);
        assert!(
            reply.status < 300,
            "{method} {path}: {} {}",
            reply.status,
            reply.text()
        );
        reply.json()["data"].clone()
    }

    /// Makes a new project in the paid workspace.
    pub(crate) fn project(&self, name: &str) -> String {
        let workspace = self.workspace("paid");
        let data = serde_json::json!({"data": {"name": name, "workspace": workspace, "team": self.team(&workspace)}});
        self.data("POST", "/projects", Some(&data))["gid"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Returns true if the process is alive, and those of all other nodes.
    pub(crate) fn lives(&mut self) -> bool {
        let mut children = self.children.iter_mut();
        children.all(|child| child.try_wait().unwrap().is_none())
    }

    /// Returns the process id, or that of the first node.
    pub(crate) fn id(&self) -> u32 {
        self.children[0].id()
    }

    /// Ends the process, or all nodes at once, with SIGKILL and waits for that.
    pub(crate) fn kill(&mut self) {
        for child in &mut self.children {
            // This fails only when the process has ended already.
            let _over = child.kill();
        }
        for child in &mut self.children {
            child.wait().unwrap();
        }
    }

    /// Asks the process, or all nodes, to end with SIGTERM. Returns the exit code, the first that is not 0.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        for child in &self.children {
            let sent = Command::new("kill")
                .args(["-TERM", &child.id().to_string()])
                .status()
                .unwrap();
            assert!(sent.success());
        }
        let codes = self.children.iter_mut().map(|c| c.wait().unwrap().code());
        let codes: Vec<Option<i32>> = codes.collect();
        codes.into_iter().find(|c| *c != Some(0)).unwrap_or(Some(0))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
