//! Three servers over one PostgreSQL database, with limits in one Redis: what holds on one node holds on all of them at once.
use crate::common::{
    Folder, PATIENCE, Reply, Server, WIDE, admin, clock, pause, request, webhook_receiver,
};
use crate::round_robin::RoundRobin;
use serde_json::{Value, json};
use std::sync::mpsc;
use workgraph_limits_redis::test_server::TestServer;
use workgraph_testkit::{PostgresCluster, TestDatabase};

const NODES: usize = 3;

/// Servers over one database, behind a proxy that sends each request to the next of them.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
    pub(crate) folders: Vec<Folder>,
    pub(crate) proxy: RoundRobin,
    // Dropped last: the servers use them.
    pub(crate) limits: TestServer,
    pub(crate) database: TestDatabase,
    settings: Vec<(String, String)>,
}

impl Cluster {
    /// Starts the servers; `None` if there is no PostgreSQL or no Redis, which was printed then.
    pub(crate) fn start(name: &str) -> Option<Self> {
        Self::start_with(name, &[])
    }

    /// Starts the servers with more settings.
    pub(crate) fn start_with(name: &str, more: &[(&str, &str)]) -> Option<Self> {
        let database = PostgresCluster::shared()?.database();
        let limits = TestServer::start(&[])?;
        let proxy = RoundRobin::start();
        let folders: Vec<Folder> = (0..NODES).map(|_| Folder::new(name)).collect();
        let files = folders[0].path().join("files");
        std::fs::create_dir_all(&files).unwrap();
        let (url, limits_url) = (database.url(), limits.url());
        let public = format!("http://127.0.0.1:{}", proxy.port);
        let settings = [
            WIDE,
            &[
                ("store.url", url.as_str()),
                ("store.allow_unsafe", "true"),
                ("store.shared_files", files.to_str().unwrap()),
                ("shared_limits.url", &limits_url),
                ("shared_limits.nodes", "3"),
                ("public_url", &public),
                ("metrics_token", "metrics"),
            ],
            more,
        ]
        .concat();
        let mut nodes = Vec::new();
        for folder in &folders {
            if !nodes.is_empty() {
                std::fs::create_dir_all(folder.data()).unwrap();
                for file in ["keys.json", "bootstrap.json"] {
                    std::fs::copy(folders[0].data().join(file), folder.data().join(file)).unwrap();
                }
            }
            nodes.push(Server::start(folder, &settings));
        }
        proxy.set_servers(nodes.iter().map(|node| node.port).collect());
        Some(Self {
            nodes,
            folders,
            proxy,
            limits,
            database,
            settings: settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        })
    }

    /// Starts a node that was stopped or killed, at another port.
    pub(crate) fn start_node(&mut self, number: usize) {
        let settings = self.settings.iter();
        let settings: Vec<(&str, &str)> = settings
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.nodes[number] = Server::start(&self.folders[number], &settings);
    }

    /// Returns the node of a number that counts on and on.
    fn node(&self, number: usize) -> &Server {
        &self.nodes[number % self.nodes.len()]
    }
}

fn gid(data: &Value) -> String {
    data["gid"].as_str().unwrap().to_owned()
}

/// Asks a node with another token than that of the demo's first user.
fn ask_as(node: &Server, token: &str, path: &str) -> Reply {
    let mut connection = node.raw_connection();
    connection.ask(&request("GET", path, token, None)).unwrap()
}

/// A write that one node acknowledged is read from every other one at once.
#[test]
fn every_node_reads_what_any_node_has_written() {
    let Some(cluster) = Cluster::start("cluster-reads") else {
        return;
    };
    let project = cluster.nodes[0].project("shared");
    for turn in 0..30 {
        let made = json!({"data": {"name": format!("task {turn}"), "projects": [&project]}});
        let task = gid(&cluster.node(turn).data("POST", "/tasks", Some(&made)));
        let path = format!("/tasks/{task}");
        for step in 1..4 {
            let read = cluster.node(turn + step).data("GET", &path, None);
            assert_eq!(
                read["name"], made["data"]["name"],
                "turn {turn}, step {step}"
            );
        }
        let renamed = json!({"data": {"name": format!("task {turn}, renamed")}});
        cluster.node(turn + 1).data("PUT", &path, Some(&renamed));
        for step in 0..3 {
            let read = cluster.node(turn + step).data("GET", &path, None);
            assert_eq!(
                read["name"], renamed["data"]["name"],
                "turn {turn}, step {step}"
            );
        }
    }
}

/// A token that one node has revoked is refused by all others from then on.
#[test]
fn a_revoked_token_is_refused_by_every_node() {
    let Some(cluster) = Cluster::start("cluster-revoke") else {
        return;
    };
    let user = cluster.nodes[0].demo("/users/0/email");
    for turn in 0..6 {
        let folder = &cluster.folders[turn % NODES];
        let made = admin(folder, &["token", "create", "--user", &user]);
        let token = made["token"].as_str().unwrap();
        for node in &cluster.nodes {
            assert_eq!(ask_as(node, token, "/users/me").status, 200, "turn {turn}");
        }
        let id = made["id"].to_string();
        admin(folder, &["token", "revoke", id.trim_matches('"')]);
        for node in &cluster.nodes {
            assert_eq!(ask_as(node, token, "/users/me").status, 401, "turn {turn}");
        }
    }
}

/// Each page of a list may come from another node, and so may each page of events.
#[test]
fn pages_and_events_go_on_at_any_node() {
    let Some(cluster) = Cluster::start("cluster-pages") else {
        return;
    };
    let project = cluster.nodes[0].project("pages");
    let about = format!("/events?resource={project}");
    let first = cluster.node(1).ask("GET", &about, None);
    assert_eq!(first.status, 412, "{}", first.text());
    let mut sync = first.json()["sync"].as_str().unwrap().to_owned();
    let mut made = Vec::new();
    for turn in 0..40 {
        let task = json!({"data": {"name": format!("task {turn}"), "projects": [&project]}});
        made.push(gid(&cluster.node(turn).data("POST", "/tasks", Some(&task))));
    }
    let mut seen = Vec::new();
    let mut path = format!("/projects/{project}/tasks?limit=7&opt_fields=gid");
    for turn in 0.. {
        let page = cluster.node(turn).ask("GET", &path, None);
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        seen.extend(page["data"].as_array().unwrap().iter().map(gid));
        let Some(next) = page["next_page"]["path"].as_str() else {
            break;
        };
        path = next.to_owned();
    }
    seen.sort();
    made.sort();
    assert_eq!(seen, made);

    let mut added = Vec::new();
    for turn in 0.. {
        let page = cluster
            .node(turn)
            .ask("GET", &format!("{about}&sync={sync}"), None);
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        let events = page["data"].as_array().unwrap();
        let of_tasks = events.iter().filter(|e| {
            e["action"] == "added" && e["type"] == "task" && e["parent"]["gid"] == project.as_str()
        });
        added.extend(of_tasks.map(|event| gid(&event["resource"])));
        sync = page["sync"].as_str().unwrap().to_owned();
        if page["has_more"] != true && added.len() >= made.len() {
            break;
        }
        assert!(turn < 100, "{} of {} events came", added.len(), made.len());
    }
    added.sort();
    added.dedup();
    assert_eq!(added, made);
}

/// A copy that one node has begun is ended by another one if that node is killed.
#[test]
fn jobs_of_a_killed_node_go_on_at_another() {
    let Some(mut cluster) = Cluster::start("cluster-jobs") else {
        return;
    };
    let project = cluster.nodes[0].project("original");
    for turn in 0..60 {
        let task = json!({"data": {"name": format!("task {turn}"), "projects": [&project]}});
        cluster.node(turn).data("POST", "/tasks", Some(&task));
    }
    let copy = json!({"data": {"name": "copy", "include": "notes,task_notes"}});
    let path = format!("/projects/{project}/duplicate");
    let job = gid(&cluster.nodes[0].data("POST", &path, Some(&copy)));
    cluster.nodes[0].kill();
    let begun = clock();
    loop {
        let state = cluster.nodes[1].data("GET", &format!("/jobs/{job}"), None);
        if state["status"] == "succeeded" {
            let copied = gid(&state["new_project"]);
            let path = format!("/projects/{copied}/tasks?limit=100");
            assert_eq!(
                cluster.nodes[2]
                    .data("GET", &path, None)
                    .as_array()
                    .unwrap()
                    .len(),
                60
            );
            return;
        }
        assert_ne!(state["status"], "failed", "{state}");
        // The lease of the dead node's job ends first.
        assert!(begun.elapsed() < 4 * PATIENCE, "{state}");
        pause(100);
    }
}

/// A limit holds for all nodes together: no matter which of them is asked, one more is refused.
#[test]
fn a_limit_is_one_for_all_nodes() {
    let Some(cluster) = Cluster::start_with("cluster-limits", &[("limits.standard_paid", "30")])
    else {
        return;
    };
    let mut admitted = 0;
    for turn in 0..45 {
        let reply = cluster.node(turn).ask("GET", "/users/me", None);
        match reply.status {
            200 => admitted += 1,
            status => {
                assert_eq!(status, 429, "{}", reply.text());
                let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
                assert!((1..=60).contains(&wait), "{wait}");
            }
        }
    }
    assert_eq!(admitted, 30);
}

/// Starts a receiver of webhooks. Returns its address, and the gids of the resources of all events, in the order in which they come.
pub(crate) fn receiver() -> (String, mpsc::Receiver<String>) {
    let (events, received) = mpsc::channel();
    let target = webhook_receiver(move |delivery| {
        for event in delivery["events"].as_array().into_iter().flatten() {
            // The test may be over.
            let _ = events.send(gid(&event["resource"]));
        }
    });
    (target, received)
}

/// Another node delivers what a killed one has not: in order, and no later than its lease ends.
#[test]
fn webhooks_of_a_killed_node_are_delivered_by_another() {
    let Some(mut cluster) = Cluster::start("cluster-webhooks") else {
        return;
    };
    let (target, received) = receiver();
    let project = cluster.nodes[0].project("heard of");
    let filters = json!([{"resource_type": "task", "action": "added"}]);
    let webhook = json!({"data": {"resource": project, "target": target, "filters": filters}});
    cluster.nodes[1].data("POST", "/webhooks", Some(&webhook));
    let task = |node: &Server, name: &str| {
        let task = json!({"data": {"name": name, "projects": [&project]}});
        gid(&node.data("POST", "/tasks", Some(&task)))
    };
    let first = task(&cluster.nodes[2], "before");
    assert_eq!(received.recv_timeout(PATIENCE).unwrap(), first);
    // The first node was there first, so the deliveries were its work.
    cluster.nodes[0].kill();
    let killed = clock();
    let mut made: Vec<String> = Vec::new();
    for turn in 0..20 {
        made.push(task(&cluster.nodes[1 + turn % 2], "after"));
    }
    let mut heard: Vec<String> = Vec::new();
    while heard.len() < made.len() {
        let event = received.recv_timeout(2 * PATIENCE).unwrap();
        // What was sent and not answered comes again.
        if event != first && !heard.contains(&event) {
            heard.push(event);
        }
    }
    assert_eq!(heard, made);
    assert!(killed.elapsed() < 2 * PATIENCE, "{:?}", killed.elapsed());
}
