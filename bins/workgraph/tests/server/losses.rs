//! Losses of data and of keys: a folder that was in use is never taken for a new one.
#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect must end there"
)]
use crate::common::{Folder, Server, json, run, run_with};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};

/// Starts a server that must refuse to. Returns what it says.
fn refused(folder: &Folder, more: &[&str]) -> String {
    let data = folder.data();
    let arguments = [&["serve", "--data", &data, "--listen", "127.0.0.1:0"], more].concat();
    let (done, says) = run(&arguments);
    assert!(!done, "it must not start: {says}");
    says
}

fn data(folder: &Folder) -> PathBuf {
    PathBuf::from(folder.data())
}

fn me(server: &Server, token: &str) -> u16 {
    server.request("GET /api/1.0/users/me", token, "").0
}

fn token(folder: &Folder) -> String {
    let token = &folder.bootstrap()["personal_access_token"];
    token.as_str().unwrap().to_owned()
}

fn remove_database(folder: &Folder) {
    for end in ["", "-wal", "-shm"] {
        let _missing = std::fs::remove_file(data(folder).join(format!("workgraph.db{end}")));
    }
}

#[test]
fn a_used_folder_without_its_database_or_with_an_empty_one_is_refused_and_stays_as_it_is() {
    let folder = Folder::new("lost-database");
    Server::demo(&folder, &[]).stop();
    let first = folder.bootstrap();
    for empty in [false, true] {
        remove_database(&folder);
        if empty {
            std::fs::write(data(&folder).join("workgraph.db"), "").unwrap();
        }
        for more in [&[][..], &["--demo"]] {
            let says = refused(&folder, more);
            for word in ["--new", "restore", "BACKUPS.md", "was in use"] {
                assert!(says.contains(word), "{says}");
            }
            assert_eq!(folder.bootstrap(), first, "nothing is written over");
        }
        let (done, says) = run(&["admin", "workspace", "list", "--data", &folder.data()]);
        assert!(!done && says.contains("was in use"), "{says}");
    }
    // Even where the operator has removed the credentials.
    std::fs::remove_file(data(&folder).join("bootstrap.json")).unwrap();
    assert!(refused(&folder, &[]).contains("was in use"));
    let server = Server::start(&folder, false, &["--new"], &[]);
    assert_eq!(me(&server, &token(&folder)), 200);
    assert_eq!(
        me(&server, first["personal_access_token"].as_str().unwrap()),
        401
    );
    server.stop();
    Server::start(&folder, false, &[], &[]).stop();
}

#[test]
fn a_used_folder_without_its_keys_or_with_others_is_refused() {
    let folder = Folder::new("lost-keys");
    let other = Folder::new("lost-keys-other");
    Server::demo(&folder, &[]).stop();
    Server::demo(&other, &[]).stop();
    let (own, strange) = (
        data(&folder).join("keys.json"),
        data(&other).join("keys.json"),
    );
    let kept = std::fs::read(&own).unwrap();
    std::fs::remove_file(&own).unwrap();
    let says = refused(&folder, &[]);
    for word in ["keys.json", "--new-keys", "BACKUPS.md"] {
        assert!(says.contains(word), "{says}");
    }
    assert!(!own.exists(), "none are made");
    // The number of the key is the same.
    std::fs::copy(&strange, &own).unwrap();
    let says = refused(&folder, &[]);
    assert!(
        says.contains("other keys") && says.contains("--new-keys"),
        "{says}"
    );
    std::fs::write(&own, &kept).unwrap();
    Server::demo(&folder, &[]).stop();
    // Accepted once, others are the keys from then on, and the former ones are refused.
    std::fs::copy(&strange, &own).unwrap();
    Server::demo(&folder, &["--new-keys"]).stop();
    Server::demo(&folder, &[]).stop();
    std::fs::write(&own, &kept).unwrap();
    assert!(refused(&folder, &[]).contains("other keys"));
}

#[test]
fn a_webhook_whose_secret_cannot_be_opened_sends_nothing_and_its_log_says_why() {
    let folder = Folder::new("lost-secret");
    let receiver = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!(
        "http://127.0.0.1:{}/",
        receiver.local_addr().unwrap().port()
    );
    let calls = std::sync::Arc::new(AtomicU16::new(0));
    let counted = std::sync::Arc::clone(&calls);
    std::thread::spawn(move || {
        for stream in receiver.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            answer(stream);
        }
    });
    let server = Server::demo(&folder, &[]);
    let boot = folder.bootstrap();
    let workspace = boot["workspaces"][0]["gid"].as_str().unwrap();
    let token = token(&folder);
    let body = format!(
        r#"{{"data":{{"name":"P","workspace":"{workspace}","team":"{}"}}}}"#,
        boot["teams"][0]["gid"].as_str().unwrap()
    );
    let project = json(&server.request("POST /api/1.0/projects", &token, &body).1);
    let project = project["data"]["gid"].as_str().unwrap().to_owned();
    let body = format!(r#"{{"data":{{"resource":"{project}","target":"{target}"}}}}"#);
    let (status, reply) = server.request("POST /api/1.0/webhooks", &token, &body);
    assert_eq!(status, 201, "{reply}");
    let webhook = json(&reply)["data"]["gid"].as_str().unwrap().to_owned();
    server.stop();
    let before = calls.load(Ordering::SeqCst);
    std::fs::remove_file(data(&folder).join("keys.json")).unwrap();
    let server = Server::demo(&folder, &["--new-keys"]);
    let line = format!("PUT /api/1.0/projects/{project}");
    assert_eq!(
        server.request(&line, &token, r#"{"data":{"name":"Q"}}"#).0,
        200
    );
    let log = || {
        run(&[
            "admin",
            "webhooks",
            "log",
            &webhook,
            "--data",
            &folder.data(),
        ])
        .1
    };
    let says = (0..2_000)
        .map(|_| log())
        .find(|says| says.contains("cannot be opened"));
    assert!(says.is_some(), "{}", log());
    assert_eq!(calls.load(Ordering::SeqCst), before, "nothing was sent");
    server.stop();
}

/// Returns the secret of a handshake to its sender.
fn answer(mut stream: std::net::TcpStream) {
    use std::io::{Read, Write};
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read > 0) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let secret = head
        .lines()
        .find_map(|line| line.strip_prefix("x-hook-secret: "));
    let reply = format!(
        "HTTP/1.1 200 OK\r\nX-Hook-Secret: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        secret.unwrap_or_default()
    );
    let _ = stream.write_all(reply.as_bytes());
}

#[test]
fn a_port_in_use_leaves_no_trace() {
    let folder = Folder::new("port-in-use");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let metrics = format!("metrics_listen={address}");
    for listen in [
        &["--listen", &address][..],
        &["--listen", "127.0.0.1:0", "--set", &metrics],
    ] {
        let data = folder.data();
        let (done, says) = run(&[&["serve", "--data", &data], listen].concat());
        assert!(!done && says.contains("can't listen"), "{says}");
        assert!(!Path::new(&data).exists());
    }
}

#[test]
fn what_a_second_start_of_a_demo_prints_works_though_the_first_token_was_revoked() {
    let folder = Folder::new("demo-again");
    let server = Server::demo(&folder, &[]);
    let first = token(&folder);
    let listed = run(&[
        "admin",
        "token",
        "list",
        "--json",
        "--user",
        "ann@example.com",
        "--data",
        &folder.data(),
    ]);
    let listed: serde_json::Value = serde_json::from_str(&listed.1).unwrap();
    let id = listed[0]["id"].to_string();
    assert!(run(&["admin", "token", "revoke", &id, "--data", &folder.data()]).0);
    assert_eq!(me(&server, &first), 401);
    server.stop();
    let server = Server::demo(&folder, &[]);
    assert_ne!(token(&folder), first);
    assert_eq!(me(&server, &token(&folder)), 200);
}

#[test]
fn two_servers_have_no_archive_in_common_and_none_is_in_a_data_folder() {
    let (one, two) = (Folder::new("archive-one"), Folder::new("archive-two"));
    let archive = format!("archive.folder={}/archive", one.0.display());
    let set = ["--set", &archive];
    Server::start(&one, false, &set, &[]).stop();
    let says = refused(&two, &set);
    assert!(
        says.contains("another server") && says.contains("archive.folder"),
        "{says}"
    );
    Server::start(&one, false, &set, &[]).stop();
    let inside = format!("archive.folder={}/archive", one.data());
    let says = refused(&one, &["--set", &inside]);
    assert!(says.contains("another disk"), "{says}");
}

#[test]
fn a_backup_is_put_back_whole_and_served() {
    let (folder, back) = (Folder::new("backup-pair"), Folder::new("backup-pair-back"));
    let server = Server::demo(&folder, &[]);
    let file = folder.0.join("copy.db").display().to_string();
    assert!(run(&["backup", &file, "--data", &folder.data()]).0);
    server.stop();
    let restore = ["restore", "--from", &file, "--to", &back.data()].map(str::to_owned);
    let restore: Vec<&str> = restore.iter().map(String::as_str).collect();
    let (done, says) = run(&restore);
    assert!(
        done && says.contains("keys.json") && says.contains("audit-key.json"),
        "{says}"
    );
    assert!(!run(&restore).0, "a database is not written over");
    let server = Server::start(&back, false, &[], &[]);
    assert_eq!(me(&server, &token(&folder)), 200);
    server.stop();
    for check in [&["check"][..], &["check", "--audit"]] {
        let (done, says) = run(&[check, &["--data", &back.data()]].concat());
        assert!(done, "{says}");
    }
    // Without its keys it says what is missing, and is not served.
    let bare = Folder::new("backup-pair-bare");
    std::fs::remove_dir_all(format!("{file}.keys")).unwrap();
    let (done, says) = run(&["restore", "--from", &file, "--to", &bare.data()]);
    assert!(done && says.contains("still missing"), "{says}");
    assert!(refused(&bare, &[]).contains("keys.json"));
    let (done, _) = run(&[
        "restore",
        "--from",
        &file,
        "--to",
        &bare.data(),
        "--keys",
        &folder.data(),
    ]);
    assert!(!done, "its database is there");
    remove_database(&bare);
    let (done, says) = run(&[
        "restore",
        "--from",
        &file,
        "--to",
        &bare.data(),
        "--keys",
        &folder.data(),
    ]);
    assert!(done, "{says}");
    Server::start(&bare, false, &[], &[]).stop();
    // A database put back without the key of its audit log is refused, not signed by another one.
    std::fs::remove_file(data(&bare).join("audit-key.json")).unwrap();
    let says = refused(&bare, &[]);
    assert!(
        says.contains("audit-key.json") && says.contains("--new-keys"),
        "{says}"
    );
}

#[test]
fn a_damaged_database_says_what_to_do() {
    let folder = Folder::new("damaged");
    Server::demo(&folder, &[]).stop();
    let path = data(&folder).join("workgraph.db");
    let whole = std::fs::read(&path).unwrap();
    for damaged in [
        b"no database".to_vec(),
        [&whole[..4096], &vec![7; whole.len() - 4096]].concat(),
    ] {
        std::fs::write(&path, damaged).unwrap();
        for command in [
            &["check"][..],
            &["backup", "/tmp/workgraph-no-backup"],
            &["serve", "--listen", "127.0.0.1:0"],
        ] {
            let (done, says) = run(&[command, &["--data", &folder.data()]].concat());
            assert!(!done && says.contains("restore"), "{command:?}: {says}");
        }
    }
}

#[test]
fn a_digest_says_of_what_it_is_and_refuses_two_stores() {
    let folder = Folder::new("digest-of-what");
    Server::demo(&folder, &[]).stop();
    let data = folder.data();
    let (done, says) = run(&["digest", "--data", &data]);
    assert!(
        done && says.starts_with(&format!("data folder {data}\n")),
        "{says}"
    );
    let elsewhere = [(
        "WORKGRAPH_STORE_URL",
        "postgres://someone@127.0.0.1:1/other",
    )];
    for command in ["digest", "check"] {
        let (done, says) = run_with(&[command, "--data", &data], &elsewhere);
        assert!(!done && says.contains("which one is meant"), "{says}");
        let (done, says) = run_with(&[command, "--data", &data, "--store", ""], &elsewhere);
        assert!(done, "{says}");
    }
}
