//! Uploads whose bodies break the rules of HTTP or of multipart bodies, over real sockets.
use crate::attachments::{body, fetch, files, head, task};
use crate::common::{Folder, RawConnection, Reply, Server, WIDE, pause};

/// Returns a server on which a client has three seconds for an upload.
fn impatient(folder: &Folder) -> Server {
    let times = [("http.body_timeout", "1s"), ("http.upload_timeout", "3s")];
    Server::start(folder, &[WIDE, &times].concat())
}

/// Returns the head of an upload in chunks.
fn chunked_head(server: &Server) -> String {
    head(server, 0).replace("Content-Length: 0", "Transfer-Encoding: chunked")
}

/// Sends pieces with a pause after each until there is a reply.
fn trickle(
    server: &Server,
    head: &str,
    pieces: impl Iterator<Item = Vec<u8>>,
    millis: u64,
) -> Reply {
    let mut connection: RawConnection = server.raw_connection();
    connection.send(head.as_bytes()).unwrap();
    for piece in pieces.take(200) {
        if connection.has_reply() || connection.send(&piece).is_err() {
            break;
        }
        pause(millis);
    }
    connection.read().unwrap()
}

/// Checks that a reply is an error of the contract's form.
fn assert_refused(reply: &Reply, status: u16, message: &str) {
    assert_eq!(reply.status, status, "{message}: {}", reply.text());
    assert!(
        reply.message().contains(message),
        "{message}: {}",
        reply.text()
    );
}

/// S288.
#[test]
fn bodies_that_break_the_rules_are_refused_in_time() {
    let folder = Folder::new("bad-uploads");
    let server = impatient(&folder);
    let task = task(&server);
    let whole = body(&task, "a.bin", &vec![7; 300_000]);
    let ask = |head: String, body: &[u8]| {
        let mut connection = server.raw_connection();
        connection
            .ask(&[head.into_bytes(), body.to_vec()].concat())
            .unwrap()
    };
    let text = |body: &[u8]| String::from_utf8(body.to_vec()).unwrap();
    let small = text(&body(&task, "a.txt", b"content"));
    let unbounded = |head: String| head.replace("; boundary=AaB03x", "");
    let closing = "does not end with its closing boundary";

    // Lengths that are wrong: too small, too large, and chunks that are none.
    assert_refused(
        &ask(head(&server, whole.len() - 9), &whole[..whole.len() - 9]),
        400,
        closing,
    );
    let pieces = std::iter::once(whole.clone());
    let reply = trickle(&server, &head(&server, whole.len() + 9), pieces, 0);
    assert_eq!(reply.status, 408, "{}", reply.text());
    let pieces = std::iter::once(b"zz\r\nnot a chunk\r\n".to_vec());
    let reply = trickle(&server, &chunked_head(&server), pieces, 0);
    assert_eq!(reply.status, 400, "{}", reply.text());

    // Chunks that never end, inside of the file and before the first part.
    let chunk = |bytes: &[u8]| {
        let size = format!("{:x}\r\n", bytes.len());
        [size.as_bytes(), bytes, b"\r\n"].concat()
    };
    let begun = whole.len() - 100_000;
    let endless =
        std::iter::once(chunk(&whole[..begun])).chain(std::iter::repeat_with(|| chunk(b"7")));
    let reply = trickle(&server, &chunked_head(&server), endless, 100);
    assert_eq!(reply.status, 408, "{}", reply.text());
    let preamble = std::iter::repeat_with(|| chunk(&[b'x'; 200_000]));
    let reply = trickle(&server, &chunked_head(&server), preamble, 0);
    assert_refused(
        &reply,
        400,
        "headers of a part of the multipart body are too large",
    );

    // Boundaries, headers and parts.
    let missing = ask(unbounded(head(&server, small.len())), small.as_bytes());
    assert_refused(&missing, 400, "needs a boundary");
    let twice = small.replace("--AaB03x--\r\n", "") + &small;
    assert_refused(&ask(head(&server, twice.len()), twice.as_bytes()), 400, "");
    let huge = format!("Content-Type: text/html\r\nX-Long: {}", "x".repeat(3 << 20));
    let huge = small.replace("Content-Type: text/html", &huge);
    let pieces = huge.as_bytes().chunks(100_000).map(<[u8]>::to_vec);
    let reply = trickle(&server, &head(&server, huge.len()), pieces, 0);
    assert_refused(&reply, 400, "headers of a part");
    let split = small.replace("filename=\"a.txt\"", "filename=\"a\r\nX-Evil: 1\r\n.txt\"");
    let reply = ask(head(&server, split.len()), split.as_bytes());
    assert_refused(
        &reply,
        400,
        "headers of a part of the multipart body cannot be read",
    );
    for _ in 0..500 {
        if files(&folder).is_empty() {
            break;
        }
        pause(10);
    }
    assert_eq!(files(&folder), Vec::<String>::new());
}

/// S288.
#[test]
fn a_name_cannot_break_out_of_the_header_of_a_download() {
    let folder = Folder::new("bad-names");
    let server = impatient(&folder);
    let task = task(&server);
    for (sent, header) in [
        (
            "a%0D%0AX-Evil%3A 1.txt",
            "attachment; filename=\"aX-Evil: 1.txt\"",
        ),
        ("..%2F..%5Cetc%2Fpasswd", "attachment; filename=\"passwd\""),
        (
            "a;filename=b.txt",
            "attachment; filename=\"a;filename=b.txt\"",
        ),
        ("%00.txt", "attachment; filename=\".txt\""),
    ] {
        let body = body(&task, sent, b"content");
        let request = [head(&server, body.len()).into_bytes(), body].concat();
        let reply = server.raw_connection().ask(&request).unwrap();
        assert_eq!(reply.status, 200, "{sent}: {}", reply.text());
        let made = reply.json()["data"].clone();
        let mut connection = server.raw_connection();
        let file = fetch(&mut connection, "GET", &made["download_url"], "");
        assert_eq!(file.status, 200, "{sent}");
        assert_eq!(file.header("content-disposition"), Some(header), "{sent}");
        assert_eq!(file.header("x-evil"), None, "{sent}");
    }
}

#[test]
fn names_of_files_are_kept_as_browsers_and_curl_mean_them() {
    let folder = Folder::new("names-of-files");
    let server = impatient(&folder);
    let task = task(&server);
    let mut connection = server.raw_connection();
    for (sent, name) in [
        (&b"the %22plan%22.txt"[..], "the \"plan\".txt"),
        (b"the \\\"plan\\\".txt", "the \"plan\".txt"),
        (b"100%.txt", "100%.txt"),
        (b"%.txt", "%.txt"),
        (b"5%2 of %zz.txt", "5%2 of %zz.txt"),
        (b"%22100%%22.txt", "\"100%\".txt"),
        (b"caf\xe9.txt", "caf\u{e9}.txt"),
        (b"\xa3 100% \xfc.txt", "\u{a3} 100% \u{fc}.txt"),
        ("caf\u{e9} 100%.txt".as_bytes(), "caf\u{e9} 100%.txt"),
    ] {
        let whole = body(&task, "NAME", b"content");
        let at = whole.windows(4).position(|part| part == b"NAME").unwrap();
        let whole = [&whole[..at], sent, &whole[at + 4..]].concat();
        let request = [head(&server, whole.len()).into_bytes(), whole].concat();
        let reply = connection.ask(&request).unwrap();
        let shown = sent.escape_ascii();
        assert_eq!(reply.status, 200, "{shown}: {}", reply.text());
        assert_eq!(reply.json()["data"]["name"], name, "{shown}");
    }
}

#[test]
fn no_operation_takes_a_compressed_body() {
    let folder = Folder::new("compressed-bodies");
    let server = impatient(&folder);
    let ask = |method: &str, path: &str, kind: &str, encoding: &str| {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: {kind}\r\nContent-Encoding: {encoding}\r\nContent-Length: 3\r\n\r\n",
            server.token()
        );
        let request = [head.as_bytes(), b"\x1f\x8b\x08"].concat();
        server.raw_connection().ask(&request).unwrap()
    };
    let refused = |method: &str, path: &str, kind: &str, encoding: &str| {
        let reply = ask(method, path, kind, encoding);
        let said = format!("{method} {path} {kind} {encoding}: {}", reply.text());
        assert_eq!(reply.status, 415, "{said}");
        let message = "Content-Encoding: not supported; send the body as it is";
        assert_eq!(reply.message(), message, "{said}");
        assert!(reply.json()["errors"][0]["help"].is_string(), "{said}");
    };
    let all = workgraph_operations::table::TABLES
        .iter()
        .copied()
        .flatten();
    for operation in all {
        let method = operation.method.name();
        if matches!(method, "POST" | "PUT") {
            let parts = operation.path.split('/');
            let parts = parts.map(|part| if part.starts_with('{') { "1" } else { part });
            let path = parts.collect::<Vec<_>>().join("/");
            refused(
                method,
                &format!("/api/1.0{path}"),
                "application/json",
                "gzip",
            );
        }
    }
    let form = "application/x-www-form-urlencoded";
    let multipart = "multipart/form-data; boundary=AaB03x";
    for (path, kind) in [
        ("/api/1.0/tasks", form),
        ("/api/1.0/attachments", multipart),
        ("/api/1.0/tasks/1/attachments", multipart),
        ("/api/1.0/batch", "application/json; charset=utf-8"),
    ] {
        for encoding in ["br", "deflate", "GZIP", "identity, gzip", "x-unknown"] {
            refused("POST", path, kind, encoding);
        }
    }
    let reply = ask("POST", "/-/oauth_token", form, "gzip");
    assert_eq!(reply.status, 415, "{}", reply.text());
    let plain = ask("POST", "/api/1.0/tasks", form, "identity");
    assert_eq!(plain.status, 400, "{}", plain.text());
}
