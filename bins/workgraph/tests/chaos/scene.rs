//! Three nodes over one database with a standby and one Redis, each reached through a relay.
use crate::node::{Node, settings};
use crate::postgres_server::PostgresServer;
use crate::relay::{Passage, Relay};
use crate::template::{Access, Template};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use workgraph_limits_redis::test_server::TestServer;

pub(crate) const NODES: usize = 3;
/// Database in which everything is.
pub(crate) const DATABASE: &str = "workgraph";

/// All that a history runs on.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) access: Access,
    /// Ports of the nodes, which change with each start.
    pub(crate) ports: Ports,
    pub(crate) nodes: Vec<Node>,
    pub(crate) to_database: Vec<Relay>,
    pub(crate) to_redis: Vec<Relay>,
    pub(crate) redis: TestServer,
    pub(crate) primary: PostgresServer,
    pub(crate) standby: Option<PostgresServer>,
    /// Steps of the rotation of keys that each node has taken.
    rotated: Vec<u8>,
    folder: PathBuf,
}

/// Ports of the nodes at this time.
#[derive(Clone, Debug)]
pub(crate) struct Ports(Arc<Mutex<Vec<u16>>>);

impl Ports {
    /// Returns the port of a node.
    pub(crate) fn of(&self, node: usize) -> u16 {
        self.0.lock().unwrap()[node]
    }

    fn set(&self, node: usize, port: u16) {
        self.0.lock().unwrap()[node] = port;
    }
}

impl Scene {
    /// Starts everything from the template, with a standby if there will be a failover.
    pub(crate) fn start(template: &Template, with_standby: bool) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = template.root.join(format!("scene{number}"));
        std::fs::create_dir_all(folder.join("files")).unwrap();
        let redis = TestServer::start(&[])?;
        let primary = PostgresServer::copy_of(&template.root.join("template"), &folder.join("one"));
        let standby =
            with_standby.then(|| PostgresServer::standby_of(&primary, &folder.join("two")));
        let relays = |socket: PathBuf| -> Vec<Relay> {
            (0..NODES).map(|_| Relay::start(socket.clone())).collect()
        };
        let to_database = relays(primary.socket());
        let to_redis = relays(redis_socket(&redis));
        let mut nodes = Vec::new();
        for number in 0..NODES {
            let own = folder.join(format!("node{number}"));
            let data = own.join("data");
            std::fs::create_dir_all(&data).unwrap();
            for file in ["keys.json", "bootstrap.json"] {
                let from = template.root.join("template-node/data").join(file);
                std::fs::copy(from, data.join(file)).unwrap();
            }
            let store = format!(
                "postgres://postgres@127.0.0.1:{}/{DATABASE}?sslmode=disable",
                to_database[number].port
            );
            let limits = format!("redis://127.0.0.1:{}", to_redis[number].port);
            let mut settings = settings(&store, &limits, &folder.join("files"));
            if number == NODES - 1 {
                // The others are compared with one that remembers nothing.
                for cache in ["api_caches", "store.caches"] {
                    settings.push((cache.to_owned(), "false".to_owned()));
                }
            }
            nodes.push(Node::new(own, settings));
        }
        let mut scene = Self {
            access: template.access.clone(),
            ports: Ports(Arc::new(Mutex::new(vec![0; NODES]))),
            nodes,
            to_database,
            to_redis,
            redis,
            primary,
            standby,
            rotated: vec![0; NODES],
            folder,
        };
        for node in 0..NODES {
            let port = scene.nodes[node].start();
            scene.ports.set(node, port);
        }
        Some(scene)
    }

    /// Starts a node that does not run, with the keys of the next step of their rotation: each node first knows the new
    /// key, and seals with it once all of them know it.
    pub(crate) fn start_node(&mut self, node: usize) {
        if self.rotated[node] == 0 || self.rotated.iter().all(|step| *step > 0) {
            self.rotated[node] += 1;
            rotate(&self.nodes[node].data(), self.rotated[node] > 1);
        }
        let port = self.nodes[node].start();
        self.ports.set(node, port);
    }

    /// Kills the primary, and has the standby take its place.
    pub(crate) fn fail_over(&mut self) {
        self.primary.kill();
        let Some(standby) = self.standby.take() else {
            self.primary.start();
            return;
        };
        standby.promote();
        for relay in &self.to_database {
            relay.lead_to(standby.socket());
        }
        self.primary = standby;
    }

    /// Ends every fault, and starts the nodes that have ended. Returns the numbers of those.
    pub(crate) fn heal(&mut self) -> Vec<usize> {
        for relay in self.to_database.iter().chain(&self.to_redis) {
            relay.set(Passage::Open);
        }
        self.redis.set_stopped(false);
        let mut ended = Vec::new();
        for node in 0..NODES {
            self.nodes[node].signal("-CONT");
            if !self.nodes[node].lives() {
                ended.push(node);
                self.start_node(node);
            }
        }
        ended
    }

    /// Removes the files, which a failed run leaves.
    pub(crate) fn remove(mut self) {
        for relay in self.to_database.iter().chain(&self.to_redis) {
            relay.set(Passage::Cut);
        }
        for node in &mut self.nodes {
            node.kill();
        }
        self.standby.take();
        self.primary.kill();
        // What is left goes with the folder of all.
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the socket of a Redis.
pub(crate) fn redis_socket(redis: &TestServer) -> PathBuf {
    PathBuf::from(redis.url().trim_start_matches("redis+unix://"))
}

/// Adds a key to those in a data folder, and makes it the one that seals.
fn rotate(data: &Path, is_current: bool) {
    let path = data.join("keys.json");
    let mut keys: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    keys["keys"]["2"] = "0123456789abcdeffedcba98765432100f1e2d3c4b5a69788796a5b4c3d2e1f0".into();
    if is_current {
        keys["current"] = 2.into();
    }
    std::fs::write(&path, keys.to_string()).unwrap();
}
