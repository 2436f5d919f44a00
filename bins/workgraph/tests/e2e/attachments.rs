//! Attachments through the real server: bodies in pieces, slow and cut uploads, ranges, and files that nobody owns.
//! `WORKGRAPH_KILL_POINTS` sets the number of kills, `WORKGRAPH_KILL_SEED` their times.
use crate::common::{
    Folder, RawConnection, Reply, Seeded, Server, WIDE, is_about_one_node, pause, request, run,
};
use crate::jobs::setting;
use serde_json::Value;
use std::path::Path;

const KIND: &str = "multipart/form-data; boundary=AaB03x";

/// Returns the body of an upload.
pub(crate) fn body(parent: &str, name: &str, content: &[u8]) -> Vec<u8> {
    let mut body = format!(
        "--AaB03x\r\nContent-Disposition: form-data; name=\"parent\"\r\n\r\n{parent}\r\n\
         --AaB03x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: text/html\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(content);
    body.extend_from_slice(b"\r\n--AaB03x--\r\n");
    body
}

/// Returns the head of an upload of this length.
pub(crate) fn head(server: &Server, length: usize) -> String {
    format!(
        "POST /api/1.0/attachments HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: {KIND}\r\nContent-Length: {length}\r\n\r\n",
        server.token()
    )
}

pub(crate) fn upload(server: &Server, parent: &str, name: &str, content: &[u8]) -> Reply {
    let body = body(parent, name, content);
    let request = [head(server, body.len()).into_bytes(), body].concat();
    server.raw_connection().ask(&request).unwrap()
}

pub(crate) fn task(server: &Server) -> String {
    let workspace = server.workspace("paid");
    let body = serde_json::json!({"data": {"name": "Files", "workspace": workspace}});
    let task = server.data("POST", "/tasks", Some(&body));
    task["gid"].as_str().unwrap().to_owned()
}

/// Returns the names of the files in the folder of attachments.
pub(crate) fn files(folder: &Folder) -> Vec<String> {
    fn walk(path: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                walk(&entry.path(), found);
            } else {
                found.push(entry.file_name().to_str().unwrap().to_owned());
            }
        }
    }
    let mut found = Vec::new();
    walk(&folder.data().join("attachments"), &mut found);
    found.sort();
    found
}

/// Waits until the folder has these files.
fn await_files(folder: &Folder, expected: &[String]) {
    for _ in 0..500 {
        if files(folder) == expected {
            return;
        }
        pause(10);
    }
    assert_eq!(files(folder), expected);
}

pub(crate) fn fetch(
    connection: &mut RawConnection,
    method: &str,
    url: &Value,
    headers: &str,
) -> Reply {
    let url = url.as_str().unwrap();
    let path = &url[url.find("/-/").unwrap()..];
    let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    connection.ask(head.as_bytes()).unwrap()
}

/// S245.
#[test]
fn a_file_comes_back_whole_and_in_ranges_with_headers_that_run_nothing() {
    let folder = Folder::new("attachments");
    let server = Server::start(&folder, WIDE);
    let content: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    let reply = upload(&server, &task(&server), "page one.html", &content);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let made = reply.json()["data"].clone();
    assert_eq!(made["size"], content.len());
    let mut connection = server.raw_connection();
    let whole = fetch(&mut connection, "GET", &made["download_url"], "");
    assert_eq!((whole.status, whole.body == content), (200, true));
    for (name, value) in [
        ("content-type", "application/octet-stream"),
        (
            "content-disposition",
            "attachment; filename=\"page one.html\"",
        ),
        ("x-content-type-options", "nosniff"),
        (
            "content-security-policy",
            "sandbox; default-src 'none'; style-src 'unsafe-inline'",
        ),
        ("cache-control", "private, no-store"),
        ("accept-ranges", "bytes"),
    ] {
        assert_eq!(whole.header(name), Some(value), "{name}");
    }
    for (range, start, end) in [
        ("bytes=0-0", 0, 1),
        ("bytes=1000000-1999999", 1_000_000, 2_000_000),
        ("bytes=2999990-", 2_999_990, 3_000_000),
        ("bytes=-5", 2_999_995, 3_000_000),
    ] {
        let part = fetch(
            &mut connection,
            "GET",
            &made["download_url"],
            &format!("Range: {range}\r\n"),
        );
        assert_eq!(
            (part.status, part.body == content[start..end]),
            (206, true),
            "{range}"
        );
        let shown = format!("bytes {start}-{}/3000000", end - 1);
        assert_eq!(part.header("content-range"), Some(&*shown));
    }
    let tag = whole.header("etag").unwrap();
    for (headers, status) in [
        ("Range: bytes=3000000-\r\n".to_owned(), 416),
        ("Range: bytes=0-1,4-5\r\n".to_owned(), 200),
        (format!("Range: bytes=0-1\r\nIf-Range: {tag}\r\n"), 206),
        ("Range: bytes=0-1\r\nIf-Range: \"old\"\r\n".to_owned(), 200),
    ] {
        let reply = fetch(&mut connection, "GET", &made["download_url"], &headers);
        assert_eq!(reply.status, status, "{headers}");
    }
    let url = made["download_url"].as_str().unwrap();
    let head = format!(
        "HEAD {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        &url[url.find("/-/").unwrap()..]
    );
    // A whole head with the length of the file, and then nothing.
    let refused = server.raw_connection().ask(head.as_bytes());
    assert_eq!(refused.unwrap_err(), "closed within a body");
}

/// S242.
#[test]
fn cut_slow_and_unwelcome_uploads_leave_no_file() {
    let folder = Folder::new("attachments-cut");
    let settings = [
        WIDE,
        &[
            ("http.body_timeout", "1s"),
            ("http.upload_timeout", "3s"),
            ("upload_max", "2000000"),
        ],
    ]
    .concat();
    let server = Server::start(&folder, &settings);
    let task = task(&server);
    let content = vec![7; 1_000_000];
    let body = body(&task, "a.bin", &content);
    // The client goes away in the middle.
    let mut connection = server.raw_connection();
    connection
        .send(head(&server, body.len()).as_bytes())
        .unwrap();
    connection.send(&body[..500_000]).unwrap();
    drop(connection);
    await_files(&folder, &[]);
    // It pauses for too long.
    let mut connection = server.raw_connection();
    connection
        .send(head(&server, body.len()).as_bytes())
        .unwrap();
    connection.send(&body[..500_000]).unwrap();
    assert_eq!(connection.read().unwrap().status, 408);
    await_files(&folder, &[]);
    // It never pauses for too long, and never ends.
    let mut connection = server.raw_connection();
    connection
        .send(head(&server, body.len()).as_bytes())
        .unwrap();
    for piece in body.chunks(10).take(12) {
        if connection.has_reply() || connection.send(piece).is_err() {
            break;
        }
        pause(400);
    }
    assert_eq!(connection.read().unwrap().status, 408);
    await_files(&folder, &[]);
    let large = upload(&server, &task, "a.bin", &vec![7; 3_000_000]);
    assert_eq!(
        (large.status, &*large.message()),
        (413, "file: Larger than 2000000 bytes, the limit")
    );
    await_files(&folder, &[]);
    // Nothing is stored for a client without a token.
    let mut connection = server.raw_connection();
    let unknown = head(&server, body.len()).replace("Bearer ", "Bearer x");
    let reply = connection
        .ask(&[unknown.into_bytes(), body.clone()].concat())
        .unwrap();
    assert_eq!(reply.status, 401);
    assert_eq!(files(&folder), Vec::<String>::new());
    // A body in chunks of HTTP is like any other.
    let chunked = head(&server, 0).replace("Content-Length: 0", "Transfer-Encoding: chunked");
    let mut bytes = chunked.into_bytes();
    for piece in body.chunks(100_000) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    let reply = server.raw_connection().ask(&bytes).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    let gid = reply.json()["data"]["gid"].as_str().unwrap().to_owned();
    await_files(&folder, &[gid]);
}

/// S242.
#[test]
fn a_server_that_is_killed_leaves_files_that_the_next_start_removes() {
    let folder = Folder::new("attachments-kill");
    let mut server = Server::start(&folder, WIDE);
    let task = task(&server);
    let mut random = Seeded(setting("WORKGRAPH_KILL_SEED", 1));
    let mut acknowledged: Vec<String> = Vec::new();
    let rounds = setting("WORKGRAPH_KILL_POINTS", 6);
    for round in 0..rounds {
        // Uploads and deletions are under way while the server dies.
        let body = body(&task, "a.bin", &vec![7; 2_000_000]);
        let mut connections: Vec<RawConnection> = (0..4).map(|_| server.raw_connection()).collect();
        for connection in &mut connections {
            connection
                .send(head(&server, body.len()).as_bytes())
                .unwrap();
            connection.send(&body[..1_900_000]).unwrap();
        }
        for connection in &mut connections[..2] {
            connection.send(&body[1_900_000..]).unwrap();
        }
        let deleted = acknowledged.pop();
        let mut deletion = server.raw_connection();
        if let Some(gid) = &deleted {
            let path = format!("/api/1.0/attachments/{gid}");
            deletion
                .send(&request("DELETE", &path, server.token(), None))
                .unwrap();
        }
        pause(random.next() % 40);
        for connection in &mut connections {
            if connection.has_reply()
                && let Ok(reply) = connection.read()
            {
                assert_eq!(reply.status, 200, "{}", reply.text());
                acknowledged.push(reply.json()["data"]["gid"].as_str().unwrap().to_owned());
            }
        }
        let is_deleted = deletion.has_reply() && deletion.read().is_ok_and(|r| r.status == 200);
        server.kill();
        server = Server::start(&folder, WIDE);
        // What the dead server committed is there, told or not; everything else is swept.
        let listed = server.data("GET", &format!("/attachments?parent={task}"), None);
        let mut owned: Vec<String> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|a| a["gid"].as_str().unwrap().to_owned())
            .collect();
        owned.sort();
        for gid in &acknowledged {
            assert!(owned.contains(gid), "round {round}: {gid} is lost");
        }
        if let Some(gid) = deleted.filter(|_| is_deleted) {
            assert!(!owned.contains(&gid), "round {round}: {gid} is back");
        }
        if folder.shared().is_some() {
            // Another node may be uploading what has no owner yet, so that stays for a day.
            let kept = files(&folder);
            assert!(owned.iter().all(|gid| kept.contains(gid)), "round {round}");
            continue;
        }
        await_files(&folder, &owned);
    }
}

/// S242.
#[test]
fn a_backup_has_the_files_and_a_server_starts_from_it() {
    if is_about_one_node("the backup of a data folder") {
        return;
    }
    let folder = Folder::new("attachments-backup");
    let mut server = Server::start(&folder, WIDE);
    let reply = upload(&server, &task(&server), "a.txt", b"content");
    let gid = reply.json()["data"]["gid"].as_str().unwrap().to_owned();
    let copy = folder.path().join("copy.db");
    let data = folder.data();
    let arguments = ["backup", copy.to_str().unwrap()];
    let done = run(&folder, &arguments);
    assert!(done.status.success(), "{done:?}");
    let again = run(&folder, &arguments);
    assert!(!again.status.success(), "{again:?}");
    // The data folder is lost, but for its keys.
    server.stop();
    std::fs::remove_dir_all(data.join("attachments")).unwrap();
    for name in ["workgraph.db", "workgraph.db-wal", "workgraph.db-shm"] {
        let _missing = std::fs::remove_file(data.join(name));
    }
    std::fs::rename(&copy, data.join("workgraph.db")).unwrap();
    let files = folder.path().join("copy.db.attachments");
    std::fs::rename(files, data.join("attachments")).unwrap();
    let server = Server::start(&folder, WIDE);
    let read = server.data("GET", &format!("/attachments/{gid}"), None);
    let file = fetch(
        &mut server.raw_connection(),
        "GET",
        &read["download_url"],
        "",
    );
    assert_eq!((file.status, &*file.body), (200, &b"content"[..]));
    // A page that wants a session sends its visitor to sign in first.
    let page = fetch(
        &mut server.raw_connection(),
        "GET",
        &read["permanent_url"],
        "",
    );
    assert_eq!(page.status, 303, "{}", page.text());
    assert!(
        page.header("location")
            .unwrap()
            .starts_with("/-/sign_in?next="),
        "{page:?}"
    );
}
