//! Nodes as processes: started, killed, stopped, and with clocks that a test steps.
use crate::common::{binary, clock, command, pause};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Requests that a token of the free plan has in a minute.
pub(crate) const QUOTA: usize = 30;
/// Most reads and writes of a token at the same time.
pub(crate) const CAPS: [u32; 2] = [50, 8];
/// Longest wait for the start of a node.
const PATIENCE: Duration = Duration::from_secs(120);

/// Server process with its data folder.
#[derive(Debug)]
pub(crate) struct Node {
    folder: PathBuf,
    settings: Vec<(String, String)>,
    child: Option<Child>,
    starts: usize,
}

/// Returns the settings of a node with these addresses.
pub(crate) fn settings(store: &str, limits: &str, files: &Path) -> Vec<(String, String)> {
    let quota = QUOTA.to_string();
    let [reads, writes] = CAPS.map(|cap| cap.to_string());
    let all = [
        ("store.url", store),
        ("store.allow_unsafe", "true"),
        ("store.shared_files", files.to_str().unwrap()),
        ("shared_limits.url", limits),
        ("shared_limits.nodes", "3"),
        // A busy machine is not to look like a Redis that is away.
        ("shared_limits.timeout_ms", "200"),
        ("public_url", "http://chaos.test"),
        ("limits.standard_paid", "1000000"),
        ("limits.standard_free", &quota),
        ("limits.standard_floor_percent", "0"),
        ("limits.cost", "off"),
        ("limits.concurrent_reads", &reads),
        ("limits.concurrent_writes", &writes),
        ("http.connections_per_ip", "4096"),
        ("oauth.token_info_per_minute", "off"),
        ("oauth.failures_per_minute", "off"),
        ("webhooks.event_ids", "true"),
    ];
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    all.iter().map(owned).collect()
}

impl Node {
    /// Returns a node that does not run yet.
    pub(crate) fn new(folder: PathBuf, settings: Vec<(String, String)>) -> Self {
        Self {
            folder,
            settings,
            child: None,
            starts: 0,
        }
    }

    /// Returns the data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns what its processes have logged.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.join("log")).unwrap_or_default())
            .into_owned()
    }

    /// Returns the number of times that it was started.
    pub(crate) fn starts(&self) -> usize {
        self.starts
    }

    /// Starts the process, and waits until it serves. Returns its port.
    ///
    /// A start that finds the database or Redis away ends at once, and is tried again.
    pub(crate) fn start(&mut self) -> u16 {
        let begun = clock();
        loop {
            self.spawn();
            while begun.elapsed() < PATIENCE {
                let text = std::fs::read_to_string(self.folder.join("port"));
                if let Ok(port) = text.unwrap_or_default().trim().parse() {
                    return port;
                }
                if !self.lives() {
                    break;
                }
                pause(5);
            }
            assert!(begun.elapsed() < PATIENCE, "{}", self.log());
            pause(100);
        }
    }

    fn spawn(&mut self) {
        for file in ["port", "clock"] {
            // There is none before the first start.
            let _absent = std::fs::remove_file(self.folder.join(file));
        }
        let mut log = File::options();
        log.create(true).append(true);
        let log = log.open(self.folder.join("log")).unwrap();
        let mut program = command(&binary());
        program.env("WORKGRAPH_TEST_QUICK_SECRETS", "1");
        program.env("WORKGRAPH_TEST_CLOCK", self.folder.join("clock"));
        program
            .args(["serve", "--demo", "--listen", "127.0.0.1:0", "--quiet"])
            .arg("--port-file")
            .arg(self.folder.join("port"))
            .arg("--data")
            .arg(self.data());
        for (key, value) in &self.settings {
            program.arg("--set").arg(format!("{key}={value}"));
        }
        self.child = Some(program.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        self.starts += 1;
    }

    /// Returns true if the process is alive.
    pub(crate) fn lives(&mut self) -> bool {
        let status = self.child.as_mut().map(|child| child.try_wait().unwrap());
        matches!(status, Some(None))
    }

    /// Ends the process with SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // This fails only when the process has ended already.
            let _over = child.kill();
            child.wait().unwrap();
        }
    }

    /// Sends the process a signal, such as `-STOP`.
    pub(crate) fn signal(&self, signal: &str) {
        if let Some(child) = &self.child {
            let id = child.id().to_string();
            // One that has ended by itself gets none.
            let _sent = Command::new("kill")
                .args([signal, &id])
                .stderr(Stdio::null())
                .status();
        }
    }

    /// Waits for the end of the process after a signal.
    pub(crate) fn wait(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.wait().unwrap();
        }
    }

    /// Steps the clock of the process ahead. Returns false if it does not answer.
    pub(crate) fn step_clock(&self, millis: u64) -> bool {
        let step = || {
            let mut stream = UnixStream::connect(self.folder.join("clock"))?;
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            stream.write_all(format!("{millis}\n").as_bytes())?;
            BufReader::new(stream).read_line(&mut String::new())
        };
        step().is_ok()
    }

    /// Runs a command of the binary with the settings of this node.
    pub(crate) fn run(&self, arguments: &[&str]) -> std::process::Output {
        let mut program = command(&binary());
        program.args(arguments).arg("--data").arg(self.data());
        for (key, value) in &self.settings {
            program.arg("--set").arg(format!("{key}={value}"));
        }
        program.output().unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.signal("-CONT");
        self.kill();
    }
}
