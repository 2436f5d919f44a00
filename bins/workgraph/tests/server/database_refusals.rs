//! Databases that cannot be used, and what is said about them at the start.
use crate::common::{Folder, Server, run};
use crate::shared_database::{address, refused};
use std::path::Path;
use std::time::Duration;
use workgraph_testkit::{PostgresCluster, TestDatabase};

/// S928.
#[test]
fn a_database_that_cannot_be_used_is_refused_with_what_to_do() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let url = address(&database);
    let [folder, shared] = ["nodes-refused", "nodes-refused-files"].map(Folder::new);
    let files = shared.0.to_str().unwrap();
    let with = |more: &[&str]| refused(&folder, &[&["--shared-files", files], more].concat());
    let says = with(&["--store", "postgres://u:geheim@127.0.0.1:1/w"]);
    assert!(
        says.contains("unavailable") && says.contains("127.0.0.1:1/w is its address"),
        "{says}"
    );
    let says = with(&["--store", &url.replacen(database.name(), "no_such", 1)]);
    assert!(says.contains("ENCODING 'UTF8'"), "{says}");
    let says = with(&["--store", "mysql://u:geheim@127.0.0.1/w"]);
    assert!(says.contains("address"), "{says}");
    let says = with(&["--store", &url]);
    assert!(says.contains("set fsync = on"), "{says}");
    let says = refused(&folder, &["--store", &url, "--allow-unsafe-store"]);
    assert!(says.contains("--shared-files"), "{says}");
    let (done, says) = run(&["backup", "/tmp/x", "--store", &url]);
    assert!(!done && says.contains("pg_dump"), "{says}");

    let migrate = |more: &[&str]| {
        let (done, says) =
            run(&[&["migrate", "--allow-unsafe-store", "--store", &url], more].concat());
        assert!(done, "{says}");
        says
    };
    let planned = migrate(&["--plan"]);
    assert!(
        planned.contains("0001_graph") && planned.contains("are to be applied"),
        "{planned}"
    );
    assert_eq!(migrate(&["--plan"]), planned, "a plan changes nothing");
    assert!(migrate(&[]).contains("were applied"));
    assert!(migrate(&["--plan"]).contains("newest form"));

    database.sql(
        "INSERT INTO schema_version (version, name, contract) VALUES (9999, 'of tomorrow', true)",
    );
    let says = with(&["--store", &url, "--allow-unsafe-store"]);
    assert!(says.contains("newer version"), "{says}");
    let (done, says) = run(&["config", "print", "--store", &url]);
    assert!(
        done && !says.contains("geheim") && says.contains("(not shown)"),
        "{says}"
    );
}

#[test]
fn a_folder_of_shared_files_that_others_can_write_to_is_refused_with_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let [folder, shared] = ["nodes-open", "nodes-open-files"].map(Folder::new);
    let files = shared.0.to_str().unwrap();
    // Nothing listens there: what is said of the folder comes before what is said of the database.
    let store = [
        "--store",
        "postgres://u:geheim@127.0.0.1:1/w",
        "--shared-files",
        files,
    ];
    for (mode, is_open) in [
        (0o777, true),
        (0o1777, true),
        (0o702, true),
        (0o775, false),
        (0o700, false),
    ] {
        std::fs::set_permissions(&shared.0, std::fs::Permissions::from_mode(mode)).unwrap();
        let says = refused(&folder, &store);
        assert_eq!(
            says.contains("run `chmod o-w` on it"),
            is_open,
            "{mode:o}: {says}"
        );
        assert_eq!(
            says.contains("(--shared-files)"),
            is_open,
            "{mode:o}: {says}"
        );
        let data = folder.data();
        let moved = [&["move", "--from", &data][..], &store].concat();
        let (done, says) = run(&moved);
        assert!(!done, "{says}");
        assert_eq!(
            says.contains("run `chmod o-w` on it"),
            is_open,
            "{mode:o}: {says}"
        );
    }
}

/// Makes the server of a database show another setting or time. What it shows is a function, which the database finds
/// before its own.
/// A database with another program's tables is left as it is, by the server and by every command, and each says what was found
/// and what to do; so do the texts for a folder that is none.
#[test]
fn what_is_no_store_is_refused_with_what_was_found_and_what_to_do() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let url = database.url();
    let [folder, shared] = ["other-tables", "other-tables-files"].map(Folder::new);
    let files = shared.0.to_str().unwrap();
    let data = folder.data();
    let say = |args: &[&str]| {
        let settings = ["--allow-unsafe-store", "--store", &url, "--data", &data];
        let (done, says) = run(&[args, &settings].concat());
        assert!(!done, "{args:?}: {says}");
        says
    };
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let says = say(&serve);
    assert!(
        says.contains("--shared-files (store.shared_files) names no folder"),
        "{says}"
    );
    let says = say(&[&serve[..], &["--shared-files", ""]].concat());
    assert!(says.contains("--shared-files) is empty"), "{says}");
    let says = say(&[&serve[..], &["--shared-files", "/no/such"]].concat());
    assert!(
        says.contains("/no/such: there is no such folder; make it, or mount it"),
        "{says}"
    );
    for command in [&["check"][..], &["digest"]] {
        let says = say(command);
        assert!(says.contains("it has no tables of Workgraph"), "{says}");
    }
    let empty = shared.0.join("empty").display().to_string();
    std::fs::create_dir_all(&empty).unwrap();
    for (from, expected) in [
        (
            "NOTHING",
            "--from NOTHING: there is no such folder; name the data folder",
        ),
        (
            &*empty,
            "this folder has no database (workgraph.db); name the data folder",
        ),
        ("", "--from is empty: name a data folder"),
    ] {
        let says = say(&["move", "--unsafe-database", "--from", from]);
        assert!(says.contains(expected), "{says}");
    }
    database.sql("CREATE TABLE node (id integer); CREATE TABLE orders (id integer); CREATE VIEW open_orders AS SELECT * FROM orders");
    let source = Folder::new("other-tables-source");
    Server::demo(&source, &[]).stop();
    let from = source.data();
    let moving = [
        "move",
        "--unsafe-database",
        "--from",
        &from,
        "--shared-files",
        files,
    ];
    for command in [
        &[&serve[..], &["--shared-files", files]].concat()[..],
        &["check"],
        &["digest"],
        &["migrate"],
        &moving,
    ] {
        let says = say(command);
        assert!(
            says.contains(
                "tables of another program (node, open_orders, orders) and none of Workgraph"
            ) && says.contains("createdb workgraph"),
            "{command:?}: {says}"
        );
    }
}

fn show(database: &TestDatabase, setting: &str, value: &str, clock_ahead: &str) {
    let name = database.name();
    database.sql(&format!(
        "CREATE SCHEMA IF NOT EXISTS shown; \
         CREATE OR REPLACE FUNCTION shown.current_setting(name text) RETURNS text LANGUAGE sql AS $$ \
             SELECT CASE name WHEN '{setting}' THEN '{value}' \
                 WHEN 'fsync' THEN 'on' WHEN 'full_page_writes' THEN 'on' \
                 ELSE pg_catalog.current_setting(name) END $$; \
         CREATE OR REPLACE FUNCTION shown.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ \
             SELECT pg_catalog.clock_timestamp() + interval '{clock_ahead}' $$; \
         ALTER DATABASE {name} SET search_path = public, shown, pg_catalog"
    ));
}

/// S928.
#[test]
fn a_server_that_can_lose_commits_or_is_too_old_and_a_clock_that_is_off_are_refused() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let url = address(&database);
    let [folder, shared] = ["nodes-unsuitable", "nodes-unsuitable-files"].map(Folder::new);
    let serve = || {
        let files = shared.0.to_str().unwrap();
        refused(&folder, &["--shared-files", files, "--store", &url])
    };
    for (setting, value, what_to_do) in [
        ("fsync", "off", "set fsync = on"),
        ("full_page_writes", "off", "set full_page_writes = on"),
        ("synchronous_commit", "off", "set synchronous_commit = on"),
        ("server_version_num", "130014", "14 or newer is needed"),
        ("server_encoding", "LATIN1", "ENCODING 'UTF8'"),
    ] {
        show(&database, setting, value, "0");
        let says = serve();
        assert!(says.contains(what_to_do), "{setting}: {says}");
    }
    for ahead in ["3.5 seconds", "-3.5 seconds", "-1 hour"] {
        show(&database, "", "", ahead);
        let says = serve();
        assert!(
            says.contains("differ by") && says.contains("let NTP set both"),
            "{says}"
        );
    }
}

/// S928.
#[test]
fn a_database_with_another_encoding_is_refused() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let folder = Folder::new("nodes-encoding");
    for encoding in ["SQL_ASCII", "LATIN1"] {
        let name = format!("{}_{}", database.name(), encoding.to_lowercase());
        database.sql(&format!(
            "CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
        ));
        let url = address(&database).replacen(database.name(), &name, 1);
        let files = folder.0.to_str().unwrap();
        let as_node = [
            "--shared-files",
            files,
            "--store",
            &url,
            "--allow-unsafe-store",
        ];
        let says = refused(&folder, &as_node);
        assert!(
            says.contains("UTF8 is needed") && says.contains("CREATE DATABASE"),
            "{says}"
        );
        database.sql(&format!("DROP DATABASE {name}"));
    }
}

/// S928.
#[test]
fn a_wrong_password_is_refused_and_never_shown() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    // A server of somebody else keeps its list of who may connect.
    let Some(socket) = database.socket() else {
        return;
    };
    let user = format!("{}_user", database.name());
    let list = socket.parent().unwrap().join("data/pg_hba.conf");
    let entries = std::fs::read_to_string(&list).unwrap();
    std::fs::write(&list, format!("local all {user} scram-sha-256\n{entries}")).unwrap();
    database.sql(&format!(
        "CREATE ROLE {user} LOGIN PASSWORD 'right'; SELECT pg_reload_conf()"
    ));
    let folder = Folder::new("nodes-password");
    let host = Path::new(&socket).parent().unwrap().display().to_string();
    let url = format!(
        "postgres:///{}?host={host}&user={user}&password=geheim",
        database.name()
    );
    let files = folder.0.to_str().unwrap();
    let as_node = ["--shared-files", files, "--store", &url];
    // The server takes up its list a moment after it was told to.
    let mut says = String::new();
    for _ in 0..100 {
        says = refused(&folder, &as_node);
        if says.contains("password authentication failed") {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    assert!(
        says.contains("password authentication failed") && says.contains("password in its address"),
        "{says}"
    );
    let (done, says) = run(&["check", "--store", &url]);
    assert!(
        !done && !says.contains("geheim") && says.contains("password in its address"),
        "{says}"
    );
    std::fs::write(&list, entries).unwrap();
    database.sql(&format!("SELECT pg_reload_conf(); DROP ROLE {user}"));
}
