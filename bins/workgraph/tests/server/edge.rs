//! HTTP connections: bounds, refusals, timeouts and the end of the server, on raw sockets.
use crate::common::{Folder, Server, json, rest, status};
use std::io::{Read, Write};

#[test]
fn what_is_too_large_or_malformed_is_refused_in_the_envelope() {
    let folder = Folder::new("bounds");
    let server = Server::demo(&folder, &["--set", "http.cors=false"]);
    let token = folder.bootstrap()["personal_access_token"]
        .as_str()
        .unwrap()
        .to_owned();
    let get = |target: &str, headers: &str| {
        server.raw(format!("GET {target} HTTP/1.1\r\n{headers}\r\n").as_bytes())
    };
    let end = "Host: x\r\nConnection: close\r\n";
    let many: String = (0..101).map(|i| format!("X-{i}: 1\r\n")).collect();
    for (reply, expected) in [
        (
            get(
                &format!("/api/1.0/users/me?x={}", "a".repeat(8200)),
                "Host: x\r\n",
            ),
            414,
        ),
        (
            get(
                "/api/1.0/users/me",
                &format!("Host: x\r\nX: {}\r\n", "a".repeat(17 << 10)),
            ),
            431,
        ),
        (get("/api/1.0/users/me", ""), 400),
        (get("/api/1.0/users/me", "Host: x\r\nHost: y\r\n"), 400),
        (get("/api/1.0/users/me", end), 401),
        (get("/api/1.0", end), 404),
        (get("/api/1.00/users/me", end), 404),
        (get("/nothing", end), 404),
        (get("/-/nothing", end), 404),
        (
            server.raw(
                format!("OPTIONS /api/1.0/users/me HTTP/1.1\r\nOrigin: https://a\r\n{end}\r\n")
                    .as_bytes(),
            ),
            404,
        ),
        (
            server.raw(format!("PATCH /api/1.0/users/me HTTP/1.1\r\n{end}\r\n").as_bytes()),
            404,
        ),
    ] {
        assert_eq!(status(&reply), expected, "{reply}");
        assert!(
            json(&reply)["errors"][0]["message"].is_string()
                && json(&reply)["errors"][0]["help"].is_string()
        );
        for header in [
            "content-type: application/json; charset=UTF-8",
            "x-content-type-options: nosniff",
            "x-frame-options: DENY",
            "x-request-id: ",
        ] {
            assert!(reply.contains(header), "{header} is not in {reply}");
        }
    }
    // hyper itself reads no more headers than these, and refuses without a body.
    let crowded = get("/api/1.0/users/me", &format!("Host: x\r\n{many}"));
    assert_eq!(status(&crowded), 431, "{crowded}");
    let (code, reply) = server.request("POST /api/1.0/tasks", &token, &" ".repeat((1 << 20) + 1));
    assert_eq!(
        (code, reply.contains("connection: close")),
        (413, true),
        "{reply}"
    );
    let mut stream = server.connect();
    let head = format!(
        "POST /api/1.0/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..17 {
        stream
            .write_all(format!("10000\r\n{}\r\n", " ".repeat(1 << 16)).as_bytes())
            .unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    assert_eq!(status(&rest(&mut stream)), 413);
    let body = "{\"data\":{\"name\":\"x\",\"workspace\":\"W\"}}".replace(
        'W',
        folder.bootstrap()["workspaces"][0]["gid"].as_str().unwrap(),
    );
    let made = server.raw(
        format!("POST /api/1.0/tasks HTTP/1.1\r\nHost: tasks.lan\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes(),
    );
    assert_eq!(status(&made), 201, "{made}");
    assert!(made.contains("http://tasks.lan/api/1.0/tasks/"), "{made}");
}

#[test]
fn slow_heads_idle_connections_and_slow_bodies_end_and_the_number_is_bounded() {
    let folder = Folder::new("slow");
    let settings = [
        "http.header_timeout=1s",
        "http.idle_timeout=5s",
        "http.body_timeout=1s",
        "http.connections_per_ip=4",
    ];
    let set: Vec<&str> = settings.iter().flat_map(|s| ["--set", s]).collect();
    let server = Server::demo(&folder, &set);
    let (mut slow, idle, mut body) = (server.connect(), server.answered(), server.connect());
    slow.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
    let boot = folder.bootstrap();
    let token = boot["personal_access_token"].as_str().unwrap();
    let head = format!(
        "POST /api/1.0/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 9\r\n\r\n{{"
    );
    body.write_all(head.as_bytes()).unwrap();
    assert_eq!(rest(&mut slow), "");
    assert_eq!(status(&rest(&mut body)), 408);
    // The idle one is still there: it makes one of four.
    let more: Vec<_> = (0..3).map(|_| server.wait_for_room()).collect();
    assert!(server.answered().is_none());
    let closed = idle.unwrap().read_to_end(&mut Vec::new());
    assert!(closed.is_ok(), "{closed:?}");
    drop(more);
    server.wait_for_room();
}

#[test]
fn idle_connections_end_even_while_there_are_no_descriptors_for_new_ones() {
    let folder = Folder::new("descriptors");
    let server = Server::demo(&folder, &["--set", "http.idle_timeout=1s"]);
    let mut idle = server.answered().unwrap();
    server.leave_descriptors(1);
    // Those that are not accepted wait, so that the listener is always ready.
    let waiting: Vec<_> = (0..8).map(|_| server.connect()).collect();
    let closed = idle.read_to_end(&mut Vec::new());
    assert!(closed.is_ok(), "{closed:?}");
    drop(waiting);
    server.wait_for_room();
    assert!(server.stop().contains("a connection was not accepted"));
}

#[test]
fn the_listener_of_the_metrics_has_health_and_metrics_and_nothing_else() {
    let folder = Folder::new("metrics");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let listen = format!("metrics_listen={address}");
    let server = Server::demo(&folder, &["--set", &listen]);
    for (path, here, there) in [
        ("/-/livez", 200, 200),
        ("/-/readyz", 200, 200),
        ("/-/metrics", 200, 404),
        ("/-/limits", 404, 401),
        ("/api/1.0/users/me", 404, 401),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let reply = rest(&mut stream);
        assert_eq!(status(&reply), here, "{reply}");
        assert!(
            reply.contains("cache-control: private, no-store"),
            "{reply}"
        );
        assert!(!reply.contains("x-request-id"), "{reply}");
        assert_eq!(status(&server.raw(request.as_bytes())), there, "{path}");
    }
}

#[test]
fn at_the_end_what_was_begun_is_finished_and_nothing_new_is_taken() {
    let folder = Folder::new("drain");
    let mut server = Server::demo(&folder, &[]);
    let boot = folder.bootstrap();
    let body = format!(
        "{{\"data\":{{\"name\":\"late\",\"workspace\":{}}}}}",
        boot["workspaces"][0]["gid"]
    );
    let mut stream = server.connect();
    let token = boot["personal_access_token"].as_str().unwrap();
    let head = format!(
        "POST /api/1.0/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut begun = [0; 25];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n");
    let _idle = server.answered().unwrap();
    server.terminate();
    let address = ("127.0.0.1", server.port);
    let refused = (0..100_000).any(|_| std::net::TcpStream::connect(address).is_err());
    assert!(refused);
    stream.write_all(body.as_bytes()).unwrap();
    let reply = rest(&mut stream);
    assert_eq!(status(&reply), 201, "{reply}");
    assert!(server.child.wait().unwrap().success());
    // The write was kept.
    let server = Server::demo(&folder, &[]);
    let gid = json(&reply)["data"]["gid"].as_str().unwrap().to_owned();
    assert_eq!(
        server
            .request(&format!("GET /api/1.0/tasks/{gid}"), token, "")
            .0,
        200
    );
}

#[test]
fn limits_and_cors_are_settings() {
    let folder = Folder::new("limits");
    let env = [
        ("WORKGRAPH_LIMITS_STANDARD_PAID", "3"),
        ("WORKGRAPH_LIMITS_STANDARD_FREE", "1"),
        ("WORKGRAPH_HTTP_CORS", "true"),
    ];
    let server = Server::start(&folder, true, &[], &env);
    let boot = folder.bootstrap();
    for (name, most) in [
        ("rate_token", 3),
        ("free_token", 1),
        ("personal_access_token", 3),
    ] {
        for i in 0..=most {
            let (code, reply) =
                server.request("GET /api/1.0/users/me", boot[name].as_str().unwrap(), "");
            assert_eq!(code, if i < most { 200 } else { 429 }, "{name} {i}");
            assert_eq!(reply.contains("retry-after: "), i == most);
        }
    }
    let reply = server.raw(b"OPTIONS /api/1.0/tasks HTTP/1.1\r\nHost: x\r\nOrigin: https://a\r\nAccess-Control-Request-Headers: authorization,x-of-a-client\r\nConnection: close\r\n\r\n");
    assert_eq!(status(&reply), 204);
    for header in [
        "access-control-allow-origin: *",
        "access-control-allow-headers: authorization,x-of-a-client",
        "vary: Access-Control-Request-Headers",
    ] {
        assert!(reply.contains(header), "{header}: {reply}");
    }
    let exposed = reply
        .lines()
        .find(|line| line.starts_with("access-control-expose-headers: "));
    for name in [
        "Retry-After",
        "Asana-Change",
        "X-Request-Id",
        "Location",
        "RateLimit",
    ] {
        assert!(exposed.is_some_and(|line| line.contains(name)), "{reply}");
    }
}
