//! The request inspector: who sees which requests, and what of them.
use bytes::Bytes;
use std::time::Duration;
use workgraph_api::ApiRequest;
use workgraph_api::operations::Method;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{TokenKind, TokenRecord, TokenStore, mint_token};

use super::browser::{Browser, form, hidden, leads, text};
use super::fixtures::{ADA, APP, BOB, Town};

const REQUESTS: &str = "/-/console/requests";
const MEMORY: usize = 1 << 20;

/// Returns a portal with an inspector, and personal tokens of Ada and Bob.
fn town(bytes: usize) -> (Town, [String; 2]) {
    let town = Town::with_inspector(bytes, |_| {});
    let tokens = [ADA, BOB].map(|user| {
        let (secret, digest) = mint_token(TokenKind::Personal, &[user as u8; 32]);
        let record = TokenRecord::personal(900 + user, digest, user, town.now());
        block_on(town.store.insert_token(record)).unwrap();
        secret.expose().to_owned()
    });
    (town, tokens)
}

/// Sends a request of the API, as the server does: its record is pushed when it has ended. Returns false if it has none.
fn call(town: &Town, token: &str, target: &str, body: &str, id: &str) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request = ApiRequest {
        method: Some(if body.is_empty() {
            Method::Get
        } else {
            Method::Post
        }),
        path: path.to_owned(),
        query: query.to_owned(),
        authorization: vec![format!("Bearer {token}")],
        content_type: Some("application/json".to_owned()),
        body: Bytes::from(body.to_owned()),
        ..ApiRequest::default()
    };
    let reply = block_on(town.api.handle(&request));
    let Some(record) = reply.record else {
        return false;
    };
    town.api
        .inspector()
        .push(*record, id, Duration::from_micros(12_340));
    true
}

/// Returns the page at a path, whose status must be this one.
fn page(browser: &mut Browser<'_>, path: &str, status: u16) -> String {
    let reply = browser.get(path);
    assert_eq!(reply.status, status, "{path}");
    text(&reply)
}

fn record_bodies(browser: &mut Browser<'_>, owner: &str, on: &str) -> workgraph_api::ApiResponse {
    let guard = hidden(&text(&browser.get("/-/console/account")), "csrf");
    let body = form(&[("csrf", &guard), ("owner", owner), ("on", on)]);
    browser.post(&format!("{REQUESTS}/recording"), &body)
}

/// S294. A user sees the requests of their own tokens and of their own apps, and nobody else's, in a list, by id and with
/// any search; of those that an app made for others they see no values of the query.
#[test]
fn requests_are_seen_by_the_owner_of_their_token_alone() {
    let (town, [ada_token, bob_token]) = town(MEMORY);
    assert!(call(
        &town,
        &ada_token,
        "/users/me?opt_fields=ada_asks",
        "",
        "aa-1"
    ));
    assert!(call(
        &town,
        &bob_token,
        "/users/me?opt_fields=bob_asks",
        "",
        "bb-1"
    ));
    assert!(
        !call(&town, "wgp_unknown", "/users/me", "", "xx-1"),
        "it belongs to nobody"
    );
    for (id, user) in [("pa-1", ADA), ("pb-1", BOB)] {
        let (secret, digest) = mint_token(TokenKind::Access, &[100 + user as u8; 32]);
        let mut record = TokenRecord::personal(950 + user, digest, user, town.now());
        record.kind = TokenKind::Access;
        record.app = Some(APP);
        record.grant = Some(1);
        record.expires_at = Some(town.now() + Duration::from_secs(3_600));
        block_on(town.store.insert_token(record)).unwrap();
        call(
            &town,
            secret.expose(),
            "/users/me?opt_fields=app_asks",
            "",
            id,
        );
    }
    let (mut ada, mut bob) = (Browser::of(&town, ADA), Browser::of(&town, BOB));
    let shown = page(&mut ada, REQUESTS, 200);
    assert!(
        shown.contains("ada_asks") && shown.contains("aa-1"),
        "{shown}"
    );
    assert!(
        !shown.contains("bob_asks") && !shown.contains("bb-1"),
        "{shown}"
    );
    let shown = page(&mut bob, REQUESTS, 200);
    assert!(
        shown.contains("bob_asks") && !shown.contains("ada_asks"),
        "{shown}"
    );
    assert!(
        !shown.contains("pa-1") && !shown.contains("pb-1"),
        "the app is Ada's: {shown}"
    );
    for query in [
        "id=aa-1",
        "owner=tokens&id=aa-1",
        "owner=app-40",
        "owner=service-7-1",
        "operation=zzz",
    ] {
        let shown = page(&mut bob, &format!("{REQUESTS}?{query}"), 200);
        assert!(
            !shown.contains("ada_asks") && !shown.contains("app_asks"),
            "{query}: {shown}"
        );
    }
    for id in ["aa-1", "pa-1", "pb-1", "none"] {
        page(&mut bob, &format!("{REQUESTS}/{id}"), 404);
    }
    page(&mut ada, &format!("{REQUESTS}/bb-1"), 404);
    for owner in ["app-40", "service-7-1", "nobody"] {
        assert_eq!(record_bodies(&mut bob, owner, "1").status, 404, "{owner}");
    }
    let mut nobody = Browser::new(&town);
    assert!(leads(&nobody.get(REQUESTS)).starts_with("/-/sign_in"));
}

/// The owner of an app builds it, and is not to read what its users do.
#[test]
fn the_owner_of_an_app_sees_of_requests_for_others_no_value_that_they_sent_or_got() {
    let (town, _) = town(MEMORY);
    for (id, user) in [("pa", ADA), ("pb", BOB)] {
        let (secret, digest) = mint_token(TokenKind::Access, &[100 + user as u8; 32]);
        let mut record = TokenRecord::personal(950 + user, digest, user, town.now());
        record.kind = TokenKind::Access;
        record.app = Some(APP);
        record.grant = Some(1);
        record.expires_at = Some(town.now() + Duration::from_secs(3_600));
        block_on(town.store.insert_token(record)).unwrap();
        for (n, (target, body)) in [
            ("/tasks/4242424242?opt_fields=name", ""),
            ("/tasks?project=5353535353&text=whispered", ""),
            ("/users/hidden.person@secret.example", ""),
            (
                "/tasks/4242424242/stories",
                r#"{"data": {"text": "whispered"}}"#,
            ),
            ("/no/such/path/whispered", ""),
        ]
        .into_iter()
        .enumerate()
        {
            call(&town, secret.expose(), target, body, &format!("{id}-{n}"));
        }
    }
    let said = [
        "4242424242",
        "5353535353",
        "whispered",
        "hidden.person",
        "secret.example",
    ];
    let mut ada = Browser::of(&town, ADA);
    let list = page(&mut ada, &format!("{REQUESTS}?owner=app-40"), 200);
    assert!(
        list.contains("requests/pb-0") && list.contains("requests/pa-0"),
        "{list}"
    );
    for n in 0..4 {
        let shown = page(&mut ada, &format!("{REQUESTS}/pb-{n}"), 200);
        for secret in said {
            assert!(!shown.contains(secret), "{n}: {secret}: {shown}");
        }
        for fact in ["12.3 ms", "<dt>Status</dt>", "<dt>Reason</dt>", "{"] {
            assert!(
                shown.contains(fact) || n == 1 && fact == "{",
                "{n}: {fact}: {shown}"
            );
        }
        assert!(!shown.contains("As curl"), "{shown}");
    }
    // No search tells what is not shown.
    for secret in said {
        let found = page(&mut ada, &format!("{REQUESTS}?operation={secret}"), 200);
        assert!(!found.contains("requests/pb-"), "{secret}: {found}");
    }
    let found = page(
        &mut ada,
        &format!("{REQUESTS}?operation=%7Btask_gid%7D"),
        200,
    );
    assert!(found.contains("requests/pb-0"), "{found}");
    // Of the requests for themselves they see all.
    let own = page(&mut ada, &format!("{REQUESTS}/pa-0"), 200);
    assert!(own.contains("/tasks/4242424242?opt_fields=name"), "{own}");
}

/// S295. A request has time, operation, status, duration, cost, limits, error and id; the search finds it by each of
/// operation, path, status, class of status and id; as curl it has a placeholder for the token.
#[test]
fn a_request_is_found_and_shown_as_curl() {
    let (town, [ada_token, _]) = town(MEMORY);
    call(&town, &ada_token, "/users/me?opt_fields=name", "", "aa-1");
    call(&town, &ada_token, "/tasks", r#"{"data": 7}"#, "aa-2");
    call(&town, &ada_token, "/nothing", "", "aa-3");
    let mut ada = Browser::of(&town, ADA);
    for (query, found) in [
        ("", [true, true]),
        ("operation=getuser", [true, false]),
        ("operation=%2Ftasks", [false, true]),
        ("status=400", [false, true]),
        ("status=5xx", [false, false]),
        ("id=aa-2", [false, true]),
        ("owner=tokens", [true, true]),
    ] {
        let shown = page(&mut ada, &format!("{REQUESTS}?{query}"), 200);
        let both = ["requests/aa-1", "requests/aa-2"].map(|id| shown.contains(id));
        assert_eq!(both, found, "{query}: {shown}");
        assert!(!shown.contains("requests/aa-3"), "it is no operation's");
    }
    let shown = page(&mut ada, &format!("{REQUESTS}/aa-2"), 200);
    for part in [
        "POST createTask",
        "<dd>400</dd>",
        "12.3 ms",
        "148 of 150 requests",
        "<code>aa-2</code>",
        "curl -X POST &#39;https://work.example/api/1.0/tasks&#39;",
        "Bearer $TOKEN",
        "They were not recorded.",
    ] {
        assert!(
            shown
                .replace("&quot;", "\"")
                .replace('\'', "&#39;")
                .contains(part),
            "{part}: {shown}"
        );
    }
    assert!(!shown.contains(&ada_token));
}

/// S296. S297. Bodies are recorded only where the owner asked for it, for an hour, with secrets masked.
#[test]
fn bodies_are_recorded_on_demand_for_an_hour_without_secrets() {
    let (town, [ada_token, bob_token]) = town(MEMORY);
    let mut ada = Browser::of(&town, ADA);
    let body = format!(
        r#"{{"data": {{"name": "Plan", "client_secret": "HUSH", "notes": "{bob_token}"}}}}"#
    );
    let send = |id: &str| assert!(call(&town, &ada_token, "/tasks", &body, id));
    send("aa-1");
    let to = record_bodies(&mut ada, "tokens", "1");
    assert!(page(&mut ada, leads(&to), 200).contains("Bodies are recorded"));
    send("aa-2");
    call(&town, &bob_token, "/tasks", &body, "bb-1");
    town.pass(3_599);
    send("aa-3");
    town.pass(1);
    send("aa-4");
    let mut ada = Browser::of(&town, ADA);
    for (id, has_bodies) in [
        ("aa-1", false),
        ("aa-2", true),
        ("aa-3", true),
        ("aa-4", false),
    ] {
        let shown = page(&mut ada, &format!("{REQUESTS}/{id}"), 200);
        assert_eq!(shown.contains("Plan"), has_bodies, "{id}: {shown}");
        assert!(
            !shown.contains("HUSH") && !shown.contains(&bob_token),
            "{id}: {shown}"
        );
    }
    let mut bob = Browser::of(&town, BOB);
    assert!(!page(&mut bob, &format!("{REQUESTS}/bb-1"), 200).contains("Plan"));
    record_bodies(&mut ada, "tokens", "1");
    record_bodies(&mut ada, "tokens", "0");
    send("aa-5");
    assert!(!page(&mut ada, &format!("{REQUESTS}/aa-5"), 200).contains("Plan"));
}

/// S298. Without memory nothing is recorded, and the page says so; with little the oldest requests make room.
#[test]
fn memory_is_bounded_and_none_records_nothing() {
    let (off, [token, _]) = town(0);
    assert!(!call(&off, &token, "/users/me", "", "aa-1"));
    let mut ada = Browser::of(&off, ADA);
    assert!(page(&mut ada, REQUESTS, 200).contains("inspector.bytes"));
    assert_eq!(record_bodies(&mut ada, "tokens", "1").status, 404);
    let small = 128 << 10;
    let (town, [ada_token, bob_token]) = town(small);
    for number in 0..500 {
        call(
            &town,
            &ada_token,
            &format!("/users/me?opt_fields={}", "x".repeat(900)),
            "",
            &format!("aa-{number}"),
        );
        call(&town, &bob_token, "/users/me", "", &format!("bb-{number}"));
        assert!(town.api.inspector().bytes() <= small);
        town.pass(1);
    }
    let mut ada = Browser::of(&town, ADA);
    let shown = page(&mut ada, REQUESTS, 200);
    assert!(
        shown.contains("requests/aa-499") && !shown.contains("requests/aa-0\""),
        "{shown}"
    );
    assert!(shown.len() < 60 << 10, "{} bytes", shown.len());
}

/// S904. A request with a token that was revoked or has expired is its owner's, too: they look for the reason why their
/// integration stopped. One with an unknown token is nobody's.
#[test]
fn requests_with_a_token_that_is_not_valid_any_more_are_recorded() {
    let (town, [token, _]) = town(MEMORY);
    let (old, digest) = mint_token(TokenKind::Personal, &[77; 32]);
    let mut record = TokenRecord::personal(977, digest, ADA, town.now());
    record.expires_at = Some(town.now());
    block_on(town.store.insert_token(record)).unwrap();
    assert!(call(&town, old.expose(), "/users/me", "", "aa-1"));
    assert!(call(&town, &token, "/tasks", r#"{"data": 7}"#, "aa-2"));
    block_on(town.store.revoke(900 + ADA, town.now())).unwrap();
    assert!(call(
        &town,
        &token,
        "/users/me?opt_fields=ada_asks",
        "",
        "aa-3"
    ));
    assert!(!call(&town, "wgp_unknown", "/users/me", "", "xx-1"));
    let mut ada = Browser::of(&town, ADA);
    let shown = page(&mut ada, &format!("{REQUESTS}?status=401"), 200);
    for (id, found) in [
        ("aa-1", true),
        ("aa-2", false),
        ("aa-3", true),
        ("xx-1", false),
    ] {
        assert_eq!(
            shown.contains(&format!("requests/{id}")),
            found,
            "{id}: {shown}"
        );
    }
    let shown = page(&mut ada, &format!("{REQUESTS}/aa-3"), 200);
    assert!(
        shown.contains("ada_asks") && shown.contains("Not Authorized"),
        "{shown}"
    );
    page(
        &mut Browser::of(&town, BOB),
        &format!("{REQUESTS}/aa-3"),
        404,
    );
}
