//! Exposure of the server: metrics, proxies, plain addresses, the data folder.
use crate::common::{BINARY, Folder, Server, status};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

fn get(server: &Server, path: &str, headers: &str) -> String {
    let text = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
    server.raw(text.as_bytes())
}

/// S122. Open on a machine of one's own, as before; not where a proxy may lead others to them.
#[test]
fn metrics_are_not_for_everybody() {
    let folder = Folder::new("metrics-open");
    let server = Server::demo(&folder, &[]);
    assert_eq!(status(&get(&server, "/-/metrics", "")), 200);
    server.stop();
    for exposing in [
        ["--public-url", "https://work.example"],
        ["--set", "http.trusted_proxies=10.0.0.1"],
    ] {
        let folder = Folder::new("metrics-exposed");
        let server = Server::demo(&folder, &exposing);
        assert_eq!(status(&get(&server, "/-/metrics", "")), 404, "{exposing:?}");
        assert_eq!(status(&get(&server, "/-/livez", "")), 200);
        server.stop();
        let secret = "metrics_token=let prometheus in";
        let all = [exposing.as_slice(), &["--set", secret]].concat();
        let server = Server::demo(&folder, &all);
        for (headers, expected) in [
            ("", 404),
            ("Authorization: Bearer let prometheus\r\n", 404),
            ("Authorization: let prometheus in\r\n", 404),
            ("Authorization: Bearer let prometheus in\r\n", 200),
        ] {
            let reply = get(&server, "/-/metrics", headers);
            assert_eq!(status(&reply), expected, "{exposing:?} {headers}");
        }
        assert!(!server.stop().contains("let prometheus in"));
    }
}

/// Begins a request whose body does not come.
fn slow(server: &Server, client: &str, token: &str) -> TcpStream {
    let mut stream = server.connect();
    let text = format!(
        "POST /api/1.0/tasks HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {client}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 100", "it is being read");
    stream
}

/// S123. One client behind a proxy keeps no other client from the server.
#[test]
fn clients_behind_a_proxy_are_limited_one_by_one() {
    let folder = Folder::new("proxy");
    let server = Server::demo(
        &folder,
        &[
            "--set",
            "http.trusted_proxies=127.0.0.1",
            "--set",
            "http.connections_per_ip=2",
        ],
    );
    let idle: Vec<TcpStream> = (0..6).map(|_| server.answered().unwrap()).collect();
    // Without a token no body is received.
    let boot = folder.bootstrap();
    let token = boot["personal_access_token"].as_str().unwrap();
    let greedy = ["2001:db8::1", "2001:db8::2"].map(|client| slow(&server, client, token));
    let of = |client: &str| {
        let header = format!("X-Forwarded-For: {client}\r\n");
        let reply = get(&server, "/-/livez", &header);
        (status(&reply), reply.contains("retry-after: 1"))
    };
    assert_eq!(of("2001:db8::3"), (429, true));
    assert_eq!(of("2001:db8:0:1::3"), (200, false));
    assert_eq!(of("9.9.9.9"), (200, false));
    drop(greedy);
    let again = (0..10_000).any(|_| of("2001:db8::3").0 == 200);
    assert!(again, "who goes away has room again");
    drop(idle);
}

/// S124. S125.
#[test]
fn plain_addresses_and_open_folders_are_warned_of() {
    let folder = Folder::new("exposed");
    let server = Server::demo(&folder, &["--public-url", "http://work.example"]);
    let page = get(&server, "/-/sign_in", "").to_lowercase();
    assert!(!page.contains("strict-transport-security"), "{page}");
    let log = server.stop();
    assert!(log.contains("neither https nor this machine's"), "{log}");
    assert!(!log.contains("chmod 700"), "{log}");

    let data = folder.0.join("data");
    let open = |mode| {
        std::fs::set_permissions(&data, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(0o755);
    let server = Server::demo(&folder, &["--public-url", "https://work.example"]);
    let page = get(&server, "/-/sign_in", "").to_lowercase();
    assert!(
        page.contains("strict-transport-security: max-age=15552000"),
        "{page}"
    );
    let api = get(&server, "/api/1.0/users/me", "").to_lowercase();
    assert!(!api.contains("strict-transport-security"), "{api}");
    let log = server.stop();
    assert!(log.contains("chmod 700"), "{log}");
    assert!(!log.contains("neither https"), "{log}");

    open(0o777);
    let refused = Command::new(BINARY)
        .args(["serve", "--demo", "--listen", "127.0.0.1:0", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    let reason = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && reason.contains("chmod 700"),
        "{reason}"
    );
    open(0o700);
    let server = Server::demo(&folder, &["--set", "http.hsts=0s"]);
    assert_eq!(status(&get(&server, "/-/sign_in", "")), 200);
    server.stop();
}
