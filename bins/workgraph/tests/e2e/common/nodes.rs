//! Servers that are several nodes: with `WORKGRAPH_TEST_NODES=3` each server of the tests is three processes over one
//! PostgreSQL database and one Redis, behind a proxy that sends each connection to the next of them.
use super::Folder;
use crate::round_robin::RoundRobin;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use workgraph_limits_redis::test_server::TestServer;
use workgraph_testkit::{PostgresCluster, TestDatabase};

/// Returns the number of nodes of each server.
pub(crate) fn nodes() -> usize {
    let set = std::env::var("WORKGRAPH_TEST_NODES").ok();
    set.map_or(1, |number| number.parse().unwrap())
}

/// Returns true if servers are several nodes, so that the test is to end: its subject is one process or its folder. Says
/// so.
pub(crate) fn is_about_one_node(reason: &str) -> bool {
    let skipped = nodes() > 1;
    if skipped {
        let test = std::thread::current();
        let name = test.name().unwrap_or_default();
        // Not through a macro, whose output would only be seen of a failed test.
        let _shown = writeln!(
            std::io::stderr(),
            "SKIPPED ON SEVERAL NODES: {name}: {reason}"
        );
    }
    skipped
}

/// Parts that the nodes of a server share. They outlive the processes, as the folder does.
#[derive(Debug)]
pub(crate) struct SharedParts {
    pub(crate) proxy: RoundRobin,
    limits: TestServer,
    pub(crate) database: TestDatabase,
}

impl SharedParts {
    pub(super) fn start() -> Self {
        let missing = "WORKGRAPH_TEST_NODES needs PostgreSQL and Redis";
        Self {
            proxy: RoundRobin::of_connections(),
            limits: TestServer::start(&[]).unwrap_or_else(|| panic!("{missing}")),
            database: PostgresCluster::shared()
                .unwrap_or_else(|| panic!("{missing}"))
                .database(),
        }
    }

    /// Sets what makes a process one of the nodes, where its command line does not say otherwise.
    pub(super) fn set(&self, command: &mut Command, folder: &Folder) {
        command
            .env("WORKGRAPH_STORE_URL", self.database.url())
            .env("WORKGRAPH_STORE_ALLOW_UNSAFE", "true")
            // The first node's own folder, so that tests find the files where those of one node are.
            .env("WORKGRAPH_STORE_SHARED_FILES", folder.data())
            .env("WORKGRAPH_SHARED_LIMITS_URL", self.limits.url())
            .env("WORKGRAPH_SHARED_LIMITS_NODES", nodes().to_string());
        let public = format!("http://127.0.0.1:{}", self.proxy.port);
        command.env("WORKGRAPH_PUBLIC_URL", public);
    }
}

/// Process of a server: its data folder, and the file that it writes its port to.
#[derive(Clone, Debug)]
pub(super) struct NodeFiles {
    pub(super) data: PathBuf,
    pub(super) port: PathBuf,
}

impl NodeFiles {
    /// Returns those of a node; the first has those of a server that is one process.
    pub(super) fn of(folder: &Folder, node: usize) -> Self {
        match node {
            0 => Self {
                data: folder.data(),
                port: folder.path().join("port"),
            },
            _ => Self {
                data: folder.path().join(format!("node-{node}")),
                port: folder.path().join(format!("port-{node}")),
            },
        }
    }

    /// Gives the node the keys that the first one made.
    pub(super) fn prepare(&self, folder: &Folder) {
        std::fs::create_dir_all(&self.data).unwrap();
        std::fs::copy(folder.data().join("keys.json"), self.data.join("keys.json")).unwrap();
    }
}

/// Returns a command of the same program, arguments and environment.
pub(super) fn copy(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(name, value),
            None => copy.env_remove(name),
        };
    }
    copy.stdin(std::process::Stdio::null());
    copy
}
