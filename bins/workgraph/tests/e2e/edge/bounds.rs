//! The bounds of a head and of a connection.
use super::*;

#[test]
fn a_slow_head_ends_its_connection_and_an_idle_one_too() {
    let (_folder, server) = server(
        "slow",
        &[
            ("http.header_timeout", "1s"),
            ("http.idle_timeout", "2s"),
            ("http.body_timeout", "1s"),
        ],
    );
    // 94: a byte now and then does not keep a connection.
    let mut connection = server.raw_connection();
    let began = clock();
    let mut alive = true;
    for byte in SECOND.bytes().cycle().take(400).filter(|b| *b != b'\n') {
        alive = connection.send(&[byte]).is_ok()
            && !connection.closes_within(Duration::from_millis(50));
        if !alive || began.elapsed() > Duration::from_secs(10) {
            break;
        }
    }
    let took = began.elapsed();
    assert!(
        !alive && took > Duration::from_millis(700) && took < Duration::from_secs(4),
        "94: alive: {alive} after {took:?}"
    );

    // 94: nor does silence, before or after a request.
    let began = clock();
    let mut fresh = server.raw_connection();
    let mut used = server.raw_connection();
    assert_eq!(used.ask(SECOND.as_bytes()).unwrap().status, 404);
    assert!(
        fresh.closes_within(Duration::from_secs(8)) && used.closes_within(Duration::from_secs(8)),
        "94: idle connections stay"
    );
    assert!(
        began.elapsed() > Duration::from_millis(1500),
        "94: an idle connection ends too early"
    );

    // A body that does not come is given up.
    let mut connection = server.raw_connection();
    let bearer = format!("Bearer {}", server.token());
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Content-Length", "100"),
    ];
    let reply = connection
        .ask(&plain("POST", "/tasks", &headers, b"{\"data\":"))
        .unwrap();
    assert_eq!(reply.status, 408, "94: {}", reply.text());
    assert!(connection.closes_within(Duration::from_secs(5)));
}

#[test]
fn heads_have_bounds() {
    let (_folder, server) = server("heads", &[]);
    let get = |path: &str, more: &str| {
        format!("GET /api/1.0{path} HTTP/1.1\r\nHost: x\r\n{more}\r\n").into_bytes()
    };
    let many = |count: usize| {
        (0..count)
            .map(|i| format!("X-{i}: 1\r\n"))
            .collect::<String>()
    };
    let rows = [
        ("95a", "100 headers", get("/nothing", &many(99)), 404),
        ("95b", "101 headers", get("/nothing", &many(100)), 431),
        ("95c", "1,000 headers", get("/nothing", &many(1000)), 431),
        (
            "95d",
            "a head of 17 KiB",
            get("/nothing", &format!("X-Long: {}\r\n", "a".repeat(17 << 10))),
            431,
        ),
        (
            "95e",
            "a head of 15 KiB",
            get("/nothing", &format!("X-Long: {}\r\n", "a".repeat(15 << 10))),
            404,
        ),
        (
            "95f",
            "an address over 8 KiB",
            get(&format!("/nothing?{}", "a".repeat(8 << 10)), ""),
            414,
        ),
        (
            "95g",
            "an address under 8 KiB",
            get(&format!("/nothing?{}", "a".repeat(8000)), ""),
            404,
        ),
        (
            "95h",
            "an address of 60 KiB",
            get(&format!("/nothing?{}", "a".repeat(60 << 10)), ""),
            414,
        ),
    ];
    let mut complaints = Vec::new();
    for (number, rule, bytes, status) in rows {
        let (replies, _) = replies(&server, &bytes);
        let statuses: Vec<_> = replies.iter().map(|r| r.status).collect();
        if statuses != [status] {
            complaints.push(format!(
                "{number} ({rule}): {statuses:?} instead of {status}"
            ));
        }
    }
    // A head without end is cut off.
    let endless = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}", "a".repeat(4 << 20));
    let (endless, closed) = replies(&server, endless.as_bytes());
    if endless.len() > 1 || !closed {
        complaints.push(format!(
            "95i (a head without end): {endless:?}, closed: {closed}"
        ));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
