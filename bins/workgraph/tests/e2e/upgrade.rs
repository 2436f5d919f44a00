//! Rolling upgrade: nodes of the version before and of this one together on one database, while clients go on.
//!
//! `WORKGRAPH_PREVIOUS` names the binary of an earlier commit (`just upgrade`). Without it, the database is in the form
//! that the version before gave it, and the older node is nothing but its row among the nodes.
use crate::common::{Folder, RawConnection, Server, WIDE, binary, clock, command, pause, request};
use crate::round_robin::RoundRobin;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use workgraph_testkit::{PostgresCluster, TestDatabase};

/// Migrations of the version before.
const BEFORE: &[&str] = &[
    "0001_graph",
    "0002_auth",
    "0003_webhooks",
    "0004_audit",
    "0005_nodes",
    "0006_upgrades",
    "0007_without_seen",
];
/// Number of migrations whose nodes use what a later one removes.
const BEFORE_REMOVAL: usize = 5;
const CLIENTS: usize = 4;

/// Brings an empty database to the form that some migrations give it, and lets a node of that version serve it.
fn make_older(database: &TestDatabase, migrations: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/store-postgres/src/database/migrations");
    database.sql("CREATE TABLE schema_version (version bigint PRIMARY KEY, name text NOT NULL, at timestamptz NOT NULL DEFAULT now())");
    for (version, name) in (1..).zip(migrations) {
        let script = std::fs::read_to_string(folder.join(format!("{name}.sql"))).unwrap();
        database.sql(&script);
        database.sql(&format!(
            "INSERT INTO schema_version (version, name) VALUES ({version}, '{name}')"
        ));
    }
    let version = migrations.len();
    database.sql(&format!(
        "INSERT INTO member (number, incarnation, until, mint_start, mint_end, schema_min, schema_max{}) \
         VALUES (30, 'older', now() + interval '1 hour', 0, 0, {version}, {version}{})",
        if version <= BEFORE_REMOVAL { ", seen" } else { "" },
        if version <= BEFORE_REMOVAL { ", now()" } else { "" },
    ));
}

/// Sends requests to the proxy until told to stop, and counts the statuses of the replies.
fn load(
    proxy: u16,
    (token, workspace): (&str, &str),
    stop: &AtomicBool,
    statuses: &Mutex<BTreeMap<u16, u64>>,
) {
    let ask = |method: &str, path: &str, body: Option<&serde_json::Value>| {
        let mut connection = RawConnection::open(proxy).unwrap();
        let reply = connection.ask(&request(method, path, token, body)).unwrap();
        *statuses.lock().unwrap().entry(reply.status).or_default() += 1;
        reply
    };
    while !stop.load(Ordering::Relaxed) {
        let task = json!({"data": {"name": "during the upgrade", "workspace": workspace}});
        let made = ask("POST", "/tasks", Some(&task)).json();
        let Some(gid) = made["data"]["gid"].as_str() else {
            continue;
        };
        let path = format!("/tasks/{gid}");
        let renamed = json!({"data": {"name": "renamed"}});
        ask("PUT", &path, Some(&renamed));
        let read = ask("GET", &path, None);
        if read.status == 200 {
            assert_eq!(read.json()["data"]["name"], "renamed");
        }
        ask("GET", "/users/me", None);
    }
}

fn migrate(url: &str, more: &[&str]) -> (bool, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command(&binary())
        .args(["migrate", "--allow-unsafe-store", "--store", url])
        .args(more)
        .output()
        .unwrap();
    let text = [stdout, stderr].concat();
    (
        status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// S944.
#[test]
fn nodes_of_two_versions_serve_together() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let previous = std::env::var("WORKGRAPH_PREVIOUS").ok();
    let seconds = std::env::var("WORKGRAPH_UPGRADE_SECONDS").map_or(2, |n| n.parse().unwrap());
    let url = database.url();
    let [one, two] = ["upgrade-one", "upgrade-two"].map(Folder::new);
    let files = one.path().join("files");
    std::fs::create_dir_all(&files).unwrap();
    let settings = [
        WIDE,
        &[
            ("store.url", url.as_str()),
            ("store.allow_unsafe", "true"),
            ("store.shared_files", files.to_str().unwrap()),
        ],
    ]
    .concat();
    let mut older = match &previous {
        Some(previous) => Server::start_by(command(previous), &one, &settings),
        None => {
            make_older(&database, BEFORE);
            Server::start(&one, &settings)
        }
    };
    std::fs::create_dir_all(two.data()).unwrap();
    for file in ["keys.json", "bootstrap.json"] {
        std::fs::copy(one.data().join(file), two.data().join(file)).unwrap();
    }
    let proxy = RoundRobin::start();
    proxy.set_servers(vec![older.port]);
    let (stop, statuses) = (AtomicBool::new(false), Mutex::new(BTreeMap::new()));
    let begun = clock();
    let user = (older.token().to_owned(), older.workspace("paid"));
    // It lives until the last client has its answer.
    let _newer = std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| load(proxy.port, (&user.0, &user.1), &stop, &statuses));
        }
        let step = |text: &str| eprintln!("{:6.1} s: {text}", begun.elapsed().as_secs_f64());
        let mut newer = Server::start(&two, &settings);
        proxy.set_servers(vec![older.port, newer.port]);
        step("the newer node serves, too");
        pause(seconds * 1000);
        let (done, says) = migrate(&url, &["--plan"]);
        step(&says);
        assert!(done || says.contains("older nodes use (number"), "{says}");
        // The older node is replaced.
        proxy.set_servers(vec![newer.port]);
        pause(300);
        match &previous {
            Some(_) => {
                assert_eq!(older.stop(), Some(0));
                older = Server::start(&one, &settings);
                proxy.set_servers(vec![older.port, newer.port]);
            }
            None => database.sql("UPDATE member SET until = now() WHERE incarnation = 'older'"),
        }
        step("no older node is left");
        let (done, says) = migrate(&url, &[]);
        step(&says);
        assert!(done, "{says}");
        pause(1000 + 100 * seconds);
        proxy.set_servers(vec![older.port, newer.port]);
        pause(500);
        stop.store(true, Ordering::Relaxed);
        proxy.set_servers(vec![older.port]);
        assert!(newer.lives() && older.lives());
        assert_eq!(
            migrate(&url, &["--plan"]),
            (true, "the tables are in their newest form\n".into())
        );
        newer
    });
    let statuses = statuses.into_inner().unwrap();
    eprintln!("replies by status: {statuses:?}");
    let fine = statuses
        .keys()
        .all(|status| *status < 300 || *status == 429);
    assert!(fine, "{statuses:?}");
    assert!(
        statuses.values().sum::<u64>() > 20 * seconds,
        "{statuses:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(60 + 3 * seconds));
}

/// S944. A version that needs what comes after a removal does not start beside nodes that use what is removed.
#[test]
fn what_removes_waits_for_the_older_nodes_and_says_which() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    make_older(&database, &BEFORE[..BEFORE_REMOVAL]);
    let url = database.url();
    for more in [&["--plan"][..], &[]] {
        let (done, says) = migrate(&url, more);
        assert!(!done, "{says}");
        assert!(
            says.contains("older nodes use (number 30): stop or upgrade them"),
            "{says}"
        );
    }
    let folder = Folder::new("upgrade-waits");
    let files = folder.path().join("files");
    std::fs::create_dir_all(&files).unwrap();
    let settings = [
        ("store.url", url.as_str()),
        ("store.allow_unsafe", "true"),
        ("store.shared_files", files.to_str().unwrap()),
    ];
    let child = Server::spawn(command(&binary()), &folder, &settings);
    assert!(Server::wait(child, &folder).is_err(), "it started");
    assert!(folder.log().contains("(number 30)"), "{}", folder.log());
    database.sql("UPDATE member SET until = now() WHERE incarnation = 'older'");
    let (done, says) = migrate(&url, &[]);
    assert!(done, "{says}");
    let newest = (true, "the tables are in their newest form\n".to_owned());
    assert_eq!(migrate(&url, &["--plan"]), newest);
}
