//! What the end-to-end tests share: starting and killing the server, and a plain HTTP/1.1 client.
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The binary under test; `WORKGRAPH_BIN` names another.
pub(crate) fn binary() -> String {
    std::env::var("WORKGRAPH_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_workgraph").to_owned())
}

/// How long a test waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits a moment between two looks at a condition.
pub(crate) fn pause(millis: u64) {
    let (_open, nothing) = mpsc::channel::<()>();
    let _timeout = nothing.recv_timeout(Duration::from_millis(millis));
}

/// The time, for measuring.
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
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}

/// A folder of its own for each test, removed in the end unless the test failed.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("workgraph-{name}-{}-{number}", std::process::id()));
        // A leftover of an earlier process of the same number.
        let _absent = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
    pub(crate) fn data(&self) -> PathBuf {
        self.0.join("data")
    }
    /// What the servers of this folder logged.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.0.join("log")).unwrap_or_default()).into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("data and log are kept in {}", self.0.display());
        } else {
            let _gone = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// The binary without the settings of this process's environment.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("WORKGRAPH_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Runs a command of the binary on a folder to its end.
pub(crate) fn run(folder: &Folder, arguments: &[&str]) -> Output {
    command(&binary())
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

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    /// What `bootstrap.json` holds.
    pub(crate) demo: Value,
}

impl Server {
    /// Starts a demo on this folder, which may hold one already.
    pub(crate) fn start(folder: &Folder, settings: &[(&str, &str)]) -> Self {
        Self::start_by(command(&binary()), folder, settings)
    }

    /// The same through a command that ends in running the binary.
    pub(crate) fn start_by(program: Command, folder: &Folder, settings: &[(&str, &str)]) -> Self {
        let child = Self::spawn(program, folder, settings);
        Self::wait(child, folder)
            .unwrap_or_else(|status| panic!("the server ended with {status}: {}", folder.log()))
    }

    /// Starts the process, which will write its port.
    pub(crate) fn spawn(mut program: Command, folder: &Folder, settings: &[(&str, &str)]) -> Child {
        let port_file = folder.path().join("port");
        if port_file.exists() {
            std::fs::remove_file(&port_file).unwrap();
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
            .arg(port_file);
        program.arg("--data").arg(folder.data());
        for (key, value) in settings {
            program.arg("--set").arg(format!("{key}={value}"));
        }
        program.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// Waits until it serves, or gives the status it ended with.
    pub(crate) fn wait(mut child: Child, folder: &Folder) -> Result<Self, ExitStatus> {
        let port_file = folder.path().join("port");
        let mut port = None;
        for _ in 0..30_000 {
            let text = std::fs::read_to_string(&port_file).unwrap_or_default();
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
            child,
            port,
            demo: Value::Null,
        };
        let ready = server
            .line()
            .ask(b"GET /-/readyz HTTP/1.1\r\nHost: x\r\n\r\n")
            .unwrap();
        assert_eq!(ready.status, 200, "{}", ready.text());
        let demo = std::fs::read(folder.data().join("bootstrap.json")).unwrap();
        server.demo = serde_json::from_slice(&demo).unwrap();
        Ok(server)
    }

    /// A new connection.
    pub(crate) fn line(&self) -> Line {
        Line::open(self.port).unwrap()
    }

    /// The token of the demo's first user, with full permissions.
    pub(crate) fn token(&self) -> &str {
        self.demo["personal_access_token"].as_str().unwrap()
    }

    /// Something of the demo, by JSON pointer.
    pub(crate) fn demo(&self, pointer: &str) -> String {
        let value = self.demo.pointer(pointer).and_then(Value::as_str);
        value
            .unwrap_or_else(|| panic!("bootstrap.json has no {pointer}: {}", self.demo))
            .to_owned()
    }

    /// The first workspace of a plan.
    pub(crate) fn workspace(&self, plan: &str) -> String {
        let all = self.demo["workspaces"].as_array().unwrap();
        let found = all
            .iter()
            .find(|w| w["plan"] == plan)
            .unwrap_or_else(|| panic!("no {plan} workspace: {}", self.demo));
        found["gid"].as_str().unwrap().to_owned()
    }

    /// A team of a workspace.
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

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.line()
            .ask(&request(method, path, self.token(), body))
            .unwrap()
    }

    /// A request that must succeed; its `data`.
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

    /// A new project in the paid workspace.
    pub(crate) fn project(&self, name: &str) -> String {
        let workspace = self.workspace("paid");
        let data = serde_json::json!({"data": {"name": name, "workspace": workspace, "team": self.team(&workspace)}});
        self.data("POST", "/projects", Some(&data))["gid"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Whether the process is alive.
    pub(crate) fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process with SIGKILL and waits for that.
    pub(crate) fn kill(&mut self) {
        // Fails only when it has ended already.
        let _over = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Asks the process to end with SIGTERM; its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        let sent = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The bytes of an API request.
pub(crate) fn request(method: &str, path: &str, token: &str, body: Option<&Value>) -> Vec<u8> {
    match body {
        None => plain(
            method,
            path,
            &[("Authorization", &format!("Bearer {token}"))],
            b"",
        ),
        Some(body) => post(
            method,
            path,
            token,
            "application/json",
            body.to_string().as_bytes(),
        ),
    }
}

/// The bytes of a request with a body.
pub(crate) fn post(method: &str, path: &str, token: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let (bearer, length) = (format!("Bearer {token}"), body.len().to_string());
    plain(
        method,
        path,
        &[
            ("Authorization", &bearer),
            ("Content-Type", kind),
            ("Content-Length", &length),
        ],
        body,
    )
}

/// The bytes of a request below the API's base with just these headers and a Host.
pub(crate) fn plain(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} /api/1.0{path} HTTP/1.1\r\nHost: localhost\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// A reply as it came over the socket.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
    }
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {} {}", self.status, self.text()))
    }
    /// The message of the first error.
    pub(crate) fn message(&self) -> String {
        let json: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        json["errors"][0]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// A connection, kept alive between requests.
#[derive(Debug)]
pub(crate) struct Line {
    stream: TcpStream,
    ahead: Vec<u8>,
}

impl Line {
    pub(crate) fn open(port: u16) -> std::io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            ahead: Vec::new(),
        })
    }

    /// Sends bytes. A server that has closed its end may be met here already.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a request and reads its reply.
    pub(crate) fn ask(&mut self, bytes: &[u8]) -> Result<Reply, String> {
        let sent = self.send(bytes);
        // The server may have answered before it read all of a body it refuses.
        self.read().map_err(|e| {
            if let Err(first) = sent {
                format!("{first}, then {e}")
            } else {
                e
            }
        })
    }

    fn more(&mut self) -> Result<usize, String> {
        let mut chunk = [0u8; 16 << 10];
        let count = self.stream.read(&mut chunk).map_err(|e| e.to_string())?;
        self.ahead.extend_from_slice(&chunk[..count]);
        Ok(count)
    }

    /// Reads one reply; those of the 100 kind are passed over.
    pub(crate) fn read(&mut self) -> Result<Reply, String> {
        loop {
            let head = loop {
                if let Some(at) = self.ahead.windows(4).position(|w| w == b"\r\n\r\n") {
                    break self.ahead.drain(..at + 4).collect::<Vec<u8>>();
                }
                if self.more()? == 0 {
                    return Err(format!("closed after {} bytes", self.ahead.len()));
                }
            };
            let head = String::from_utf8_lossy(&head).into_owned();
            let mut lines = head.trim_end().split("\r\n");
            let first = lines.next().unwrap_or_default();
            let status = first.split(' ').nth(1).and_then(|s| s.parse().ok());
            let status: u16 = status
                .filter(|_| first.starts_with("HTTP/1."))
                .ok_or_else(|| format!("not a reply: {first}"))?;
            let pairs = lines.filter_map(|l| l.split_once(':'));
            let headers: Vec<_> = pairs
                .map(|(n, v)| (n.to_owned(), v.trim().to_owned()))
                .collect();
            let mut reply = Reply {
                status,
                headers,
                body: Vec::new(),
            };
            if (100..200).contains(&status) {
                continue;
            }
            let length = reply
                .header("content-length")
                .and_then(|v| v.parse::<usize>().ok());
            let Some(length) = length else {
                if status != 204 && reply.header("connection") != Some("close") {
                    return Err(format!("a reply without a length: {head}"));
                }
                return Ok(reply);
            };
            while self.ahead.len() < length {
                if self.more()? == 0 {
                    return Err("closed within a body".to_owned());
                }
            }
            reply.body = self.ahead.drain(..length).collect();
            return Ok(reply);
        }
    }

    /// No more is sent.
    pub(crate) fn finish(&self) {
        // Fails only when the other end is gone already.
        let _gone = self.stream.shutdown(Shutdown::Write);
    }

    /// Whether the server closes the connection within the given time, without sending anything more.
    pub(crate) fn closes_within(&mut self, patience: Duration) -> bool {
        self.stream.set_read_timeout(Some(patience)).unwrap();
        let closed = match self.stream.read(&mut [0u8; 1]) {
            Ok(0) => self.ahead.is_empty(),
            Ok(_) => false,
            Err(e) => e.kind() == std::io::ErrorKind::ConnectionReset,
        };
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        closed
    }

    /// All replies until the server closes or is silent for the given time.
    pub(crate) fn drain(&mut self, patience: Duration) -> Vec<Reply> {
        let mut replies = Vec::new();
        loop {
            self.stream
                .set_read_timeout(Some(if replies.is_empty() {
                    PATIENCE
                } else {
                    patience
                }))
                .unwrap();
            match self.read() {
                Ok(reply) => replies.push(reply),
                Err(_) => return replies,
            }
        }
    }
}
