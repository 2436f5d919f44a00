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
    let archive = format!("archive.folder={}", folder.0.join("archive").display());
    let server = Server::demo(&folder, &["--set", &archive]);
    let metrics = get(&server, "/-/metrics", "");
    assert_eq!(status(&metrics), 200);
    for family in [
        "archive_lag_seconds ",
        "archive_failures_total 0",
        "store_database_bytes ",
        "store_wal_bytes ",
        "jobs_ended_total{kind=\"export\",outcome=\"failed\"} 0",
    ] {
        let line = format!("\nworkgraph_{family}");
        assert!(metrics.contains(&line), "{family} is not in {metrics}");
    }
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

/// Sends a GET to a host with a token, and more headers. Returns the status and the whole reply.
fn ask(server: &Server, host: &str, path: &str, token: &str, more: &str) -> (u16, String) {
    let text = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
    );
    let reply = server.raw(text.as_bytes());
    (status(&reply), reply)
}

/// Without `public_url` no reply to a request for another host names the address of the listener: what each kind of reply has
/// for links follows the host. The replies of all operations are compared with the transcripts, in the tests of the API.
#[test]
fn links_follow_the_host_that_a_client_used() {
    let folder = Folder::new("own-address");
    let server = Server::demo(&folder, &[]);
    let boot = folder.bootstrap();
    let token = boot["personal_access_token"].as_str().unwrap();
    let workspace = boot["workspaces"][0]["gid"].as_str().unwrap();
    let own = format!("127.0.0.1:{}", server.port);
    let host = "tasks.lan:8443";
    let root = format!("http://{host}");
    let projects =
        format!("/api/1.0/projects?workspace={workspace}&limit=1&opt_fields=permalink_url");
    for (path, expected, has_link) in [
        (&*projects, 200, true),
        ("/api/1.0/tasks/1", 404, true),
        ("/api/1.0/nothing", 404, true),
        ("/api/1.0/.well-known/openid-configuration", 200, true),
        ("/.well-known/oauth-authorization-server/api/1.0", 200, true),
        ("/api/1.0/openapi.json", 200, false),
        ("/", 200, true),
        ("/-/errors", 200, true),
        ("/-/docs", 200, false),
        ("/-/limits", 200, false),
        ("/-/sign_in", 200, false),
        ("/-/console/requests", 303, false),
    ] {
        let (status, reply) = ask(&server, host, path, token, "");
        assert_eq!(status, expected, "{path}: {reply}");
        assert!(!reply.contains("127.0.0.1"), "{path}: {reply}");
        assert_eq!(reply.contains(&root), has_link, "{path}: {reply}");
        // The same request, again and under the server's own address, has links of its own.
        let (_, reply) = ask(&server, &own, path, token, "");
        assert_eq!(
            reply.contains(&format!("http://{own}")),
            has_link,
            "{path}: {reply}"
        );
        assert!(!reply.contains(host), "{path}: {reply}");
    }
    let me = "/api/1.0/users/me";
    for wrong in [
        "a b",
        "evil.example/x",
        "u@evil.example",
        "evil.example:0",
        "[::1",
    ] {
        let (status, reply) = ask(&server, wrong, me, token, "");
        assert_eq!(status, 400, "{wrong}");
        assert!(
            reply.contains("Host: it must be a name or an address"),
            "{reply}"
        );
    }
    // A proxy that is not named is not believed.
    let forged = "X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\n";
    let (_, reply) = ask(&server, host, &projects, token, forged);
    assert!(reply.contains(&root) && !reply.contains("evil"), "{reply}");
    server.stop();

    let folder = Folder::new("own-address-proxied");
    let server = Server::demo(&folder, &["--set", "http.trusted_proxies=127.0.0.1"]);
    let token = folder.bootstrap()["personal_access_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let told = "X-Forwarded-Host: evil.example, work.example\r\nX-Forwarded-Proto: https\r\n";
    let (_, reply) = ask(&server, &own, "/api/1.0/tasks/1", &token, told);
    assert!(reply.contains("https://work.example/-/errors"), "{reply}");
    let (_, reply) = ask(&server, &own, "/-/sign_in", &token, told);
    assert!(
        reply.contains("__Host-workgraph-form=") && reply.contains("; Secure"),
        "{reply}"
    );
    server.stop();
}

/// A server that other machines reach says what to set; with `public_url` no request changes a link.
#[test]
fn the_start_says_what_to_set_for_links() {
    let folder = Folder::new("far-address");
    let open = ["--listen", "0.0.0.0:0"];
    let server = Server::demo(&folder, &open);
    let log = server.stop();
    assert!(
        log.contains("set public_url to the address that people use"),
        "{log}"
    );
    let named = [&open[..], &["--public-url", "https://work.example"]].concat();
    let server = Server::demo(&folder, &named);
    let token = folder.bootstrap()["personal_access_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let (_, reply) = ask(&server, "evil.example", "/api/1.0/tasks/1", &token, "");
    assert!(
        reply.contains("https://work.example/-/errors") && !reply.contains("evil"),
        "{reply}"
    );
    let log = server.stop();
    assert!(!log.contains("set public_url"), "{log}");
}

/// Returns the id of the request that a reply has.
fn request_id(reply: &str) -> &str {
    let line = reply
        .lines()
        .find_map(|line| line.strip_prefix("x-request-id: "));
    line.unwrap_or_else(|| panic!("{reply}"))
}

/// The id of a request is a UUID of version 7, or the one that a trusted proxy gave; it is in the log and in the inspector too.
#[test]
fn a_request_has_the_id_that_a_trusted_proxy_gave_it_or_one_with_its_time() {
    const GIVEN: &str = "7c1d5f3e2ab94d0c8e6f102938475645";
    let sent = format!("X-Request-Id: {GIVEN}\r\n");
    let folder = Folder::new("request-ids");
    let server = Server::demo(&folder, &[]);
    let [first, second] = [(); 2].map(|()| get(&server, "/-/livez", &sent));
    for reply in [&first, &second] {
        let id = request_id(reply);
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
        assert_eq!(id.as_bytes()[14], b'7', "{id}");
    }
    assert_ne!(request_id(&first), request_id(&second));
    server.stop();
    let trusting = [
        "--set",
        "http.trusted_proxies=127.0.0.1",
        "--set",
        "log.requests=true",
    ];
    let server = Server::demo(&folder, &trusting);
    assert_eq!(request_id(&get(&server, "/-/livez", &sent)), GIVEN);
    let forged = get(&server, "/-/livez", "X-Request-Id: a\"b\r\n");
    assert_eq!(request_id(&forged).len(), 36, "{forged}");
    let log = server.stop();
    assert!(
        log.contains(&format!("\"request_id\":\"{GIVEN}\"")),
        "{log}"
    );
}
