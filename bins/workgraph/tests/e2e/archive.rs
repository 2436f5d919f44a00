//! The continuous archive of a server, and restoring from it.
use crate::bucket_server::BucketServer;
use crate::common::{
    Folder, PATIENCE, Server, WIDE, binary, clock, command, is_about_one_node, pause, run,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::Output;

/// Restores from the archive of some settings.
fn restore(settings: &[(&str, &str)], to: &Path, more: &[&str]) -> Output {
    let mut restoring = command(&binary());
    restoring.args(["restore", "--json", "--to"]).arg(to);
    for (key, value) in settings {
        restoring.arg("--set").arg(format!("{key}={value}"));
    }
    restoring.args(more).output().unwrap()
}

fn digest(folder: &Folder) -> Value {
    let done = run(folder, &["digest", "--json"]);
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    found["digest"].clone()
}

/// S936.
#[test]
fn a_killed_server_is_restored_from_its_archive_and_answers_as_before() {
    if is_about_one_node("the archive of a data folder") {
        return;
    }
    let folder = Folder::new("archive");
    let archive = folder.path().join("archive");
    let settings = [("archive.folder", archive.to_str().unwrap())];
    kill_and_restore(&folder, &settings);
    let nowhere = folder.path().join("nowhere");
    let arguments = ["--from", nowhere.to_str().unwrap()];
    let done = restore(&[], &folder.path().join("x"), &arguments);
    assert!(String::from_utf8_lossy(&done.stderr).contains("there is no such folder"));
    let done = restore(&[], &folder.path().join("x"), &[]);
    assert!(String::from_utf8_lossy(&done.stderr).contains("archive.folder or archive.bucket"));
}

/// S955.
#[test]
fn a_killed_server_is_restored_from_its_archive_in_a_bucket() {
    if is_about_one_node("the archive of a data folder") {
        return;
    }
    let folder = Folder::new("archive-bucket");
    let data = folder.path().join("bucket");
    let Some(bucket) = BucketServer::start("an archive in a bucket", &data) else {
        return;
    };
    let mut settings = bucket.settings();
    let name = settings.iter().find(|(key, _)| *key == "bucket.name");
    let name = name.unwrap().1.clone();
    settings.push(("archive.bucket", name));
    let settings: Vec<(&str, &str)> = settings.iter().map(|(k, v)| (*k, v.as_str())).collect();
    kill_and_restore(&folder, &settings);
    // Another server may not write where this one does.
    let other = Folder::new("archive-bucket-other");
    let apart = [&settings[..], &[("bucket.prefix", "other/")]].concat();
    let refused = Server::spawn(command(&binary()), &other, &apart);
    assert!(Server::wait(refused, &other).is_err());
    let log = other.log();
    assert!(
        log.contains("the files of another server are there"),
        "{log}"
    );
}

/// Kills a server with an archive, and restores it in another folder.
fn kill_and_restore(folder: &Folder, archive: &[(&str, &str)]) {
    let restored = Folder::new("archive-restored");
    let settings = [WIDE, archive, &[("archive.interval", "1s")]].concat();
    let mut server = Server::start(folder, &settings);
    let workspace = server.data("GET", "/workspaces", None)[0]["gid"].clone();
    let task = |name: &str| {
        let body = json!({"data": {"name": name, "workspace": workspace, "assignee": "me"}});
        server.data("POST", "/tasks", Some(&body))["gid"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first = task("first");
    let last = task("last");
    // All of it is in the archive once a restored copy is equal.
    let (start, expected) = (clock(), digest(folder));
    let mut attempt = 0;
    loop {
        attempt += 1;
        let copy = Folder::new(&format!("archive-copy-{attempt}"));
        let done = restore(archive, &copy.data(), &[]);
        if done.status.success() && digest(&copy) == expected {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{done:?}");
        pause(200);
    }
    server.kill();
    drop(server);

    // The data folder is lost, but for its keys.
    let data = restored.data();
    fs::DirBuilder::new().mode(0o700).create(&data).unwrap();
    for entry in fs::read_dir(folder.data()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_file()
            && !name.starts_with("workgraph.db")
            && name != "lock"
        {
            fs::copy(entry.path(), data.join(&name)).unwrap();
        }
    }
    let done = restore(archive, &data, &[]);
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{text}");
    let described: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(described["sequence"].as_u64().unwrap() > 2, "{described}");
    let server = Server::start(&restored, WIDE);
    for (gid, name) in [(first, "first"), (last, "last")] {
        assert_eq!(
            server.data("GET", &format!("/tasks/{gid}"), None)["name"],
            name
        );
    }
    drop(server);

    // What is wrong is said, and a folder with a store stays as it is.
    for (more, expected) in [
        (&["--at", "yesterday"][..], "--at yesterday: not a time"),
        (
            &["--at", "1999-01-01T00:00:00Z"],
            "does not reach so far back",
        ),
        (&[], "exists already"),
    ] {
        let copy = Folder::new("archive-refused");
        let to = if more.is_empty() {
            restored.data()
        } else {
            copy.data()
        };
        let done = restore(archive, &to, more);
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && text.contains(expected), "{text}");
    }
}
