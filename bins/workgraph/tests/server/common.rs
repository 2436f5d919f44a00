//! Starts the built server, and speaks HTTP to it byte by byte.
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_workgraph");

/// Returns a command of the binary, without settings from this process's environment.
fn command() -> Command {
    let mut command = Command::new(BINARY);
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("WORKGRAPH_")) {
        command.env_remove(name);
    }
    command.env("WORKGRAPH_TEST_QUICK_SECRETS", "1");
    command
}

/// Folder that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("workgraph-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
    pub(crate) fn data(&self) -> String {
        self.0.join("data").to_str().unwrap().to_owned()
    }
    pub(crate) fn bootstrap(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.0.join("data/bootstrap.json")).unwrap()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Running server.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
    pub(crate) log: PathBuf,
}

impl Server {
    /// Starts the server and waits until it serves.
    pub(crate) fn start(folder: &Folder, demo: bool, more: &[&str], env: &[(&str, &str)]) -> Self {
        let (port_file, log) = (folder.0.join("port"), folder.0.join("log"));
        let _ = std::fs::remove_file(&port_file);
        let mut command = command();
        command
            .arg("serve")
            .args(["--data", &folder.data(), "--port-file"])
            .arg(&port_file)
            .args(more);
        if !more.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        if demo {
            command.arg("--demo");
        }
        command
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        // The server prints its address once it serves; before, nothing.
        if said.read_line(&mut String::new()).unwrap() == 0 {
            let status = child.wait().unwrap();
            let log = std::fs::read_to_string(&log).unwrap();
            panic!("the server ended with {status}: {log}");
        }
        let port = std::fs::read_to_string(&port_file).unwrap();
        Self {
            child,
            port: port.trim().parse().unwrap(),
            log,
        }
    }

    pub(crate) fn demo(folder: &Folder, more: &[&str]) -> Self {
        Self::start(folder, true, more, &[])
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream
    }

    /// Opens a connection and has a request on it answered. Returns `None` if the server takes no more connections.
    pub(crate) fn answered(&self) -> Option<TcpStream> {
        let mut stream = self.connect();
        let sent = stream.write_all(b"GET /-/livez HTTP/1.1\r\nHost: x\r\n\r\n");
        let mut first = [0; 12];
        sent.and_then(|()| stream.read_exact(&mut first)).ok()?;
        assert_eq!(&first, b"HTTP/1.1 200");
        Some(stream)
    }

    /// Opens such a connection once the server takes one, after others ended.
    pub(crate) fn wait_for_room(&self) -> TcpStream {
        (0..10_000).find_map(|_| self.answered()).unwrap()
    }

    /// Sends bytes and reads until the server closes.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        rest(&mut stream)
    }

    /// Sends a request on a connection of its own. Returns the status and the whole reply.
    pub(crate) fn request(&self, line: &str, token: &str, body: &str) -> (u16, String) {
        let text = format!(
            "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let reply = self.raw(text.as_bytes());
        (status(&reply), reply)
    }

    pub(crate) fn terminate(&self) {
        let done = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(done.success());
    }

    /// Leaves the server only this many more files and connections to open.
    pub(crate) fn leave_descriptors(&self, more: usize) {
        let pid = self.child.id();
        let open = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .unwrap()
            .count();
        let limit = format!("--nofile={}:", open + more);
        let set = Command::new("prlimit")
            .args(["--pid", &pid.to_string(), &limit])
            .status();
        assert!(set.unwrap().success());
    }

    /// Ends the server gently and returns its log.
    pub(crate) fn stop(mut self) -> String {
        self.terminate();
        assert!(self.child.wait().unwrap().success());
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset after the reply does not affect the bytes that were read.
    let _ = stream.read_to_end(&mut bytes);
    let _ = stream.shutdown(Shutdown::Both);
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn status(reply: &str) -> u16 {
    reply
        .split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(0)
}

/// Returns the JSON after the head.
pub(crate) fn json(reply: &str) -> Value {
    let (_, body) = reply.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {reply}"))
}

/// Runs a command to its end. Returns true if it succeeded, and its output.
pub(crate) fn run(args: &[&str]) -> (bool, String) {
    run_with(args, &[])
}

/// Runs a command with settings in its environment.
pub(crate) fn run_with(args: &[&str], env: &[(&str, &str)]) -> (bool, String) {
    let mut command = command();
    let out = command
        .args(args)
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let text = if out.status.success() {
        out.stdout
    } else {
        out.stderr
    };
    (out.status.success(), String::from_utf8(text).unwrap())
}
