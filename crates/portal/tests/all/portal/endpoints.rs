//! The endpoints that apps' servers call.
use bytes::Bytes;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{App, OAuthStore};

use super::browser::{Browser, form, header, request, text};
use super::fixtures::{ADA, APP, Town};

const TOKEN: &str = "/-/oauth_token";

fn refresh(
    town: &Town,
    from: [u8; 4],
    client: &str,
    secret: &str,
    token: &str,
) -> workgraph_api::ApiResponse {
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", client),
        ("client_secret", secret),
        ("refresh_token", token),
    ];
    town.call(from, TOKEN, &fields)
}

fn member(body: &str, name: &str) -> String {
    let after = body.split(&format!("\"{name}\":\"")).nth(1);
    after
        .unwrap_or_else(|| panic!("no {name} in {body}"))
        .split('"')
        .next()
        .unwrap()
        .to_owned()
}

/// Returns the refresh token of a user's authorization.
fn connected(town: &Town) -> String {
    let code = Browser::of(town, ADA).allow("tasks:read");
    let reply = town.redeem(&code);
    assert_eq!(reply.status, 200, "{}", text(&reply));
    member(&text(&reply), "refresh_token")
}

/// B32. S28. Parameters count in a form and nowhere else; after every refusal the token works.
#[test]
fn parameters_belong_into_a_form() {
    let town = Town::new();
    let token = connected(&town);
    let secret = town.secret.expose();
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", "40"),
        ("client_secret", secret),
        ("refresh_token", &*token),
    ];
    for at in 0..fields.len() {
        let mut body = fields.to_vec();
        let moved = body.remove(at);
        let path = format!("{TOKEN}?{}", form(&[moved]));
        let reply = town.call([9, 9, 9, 9], &path, &body);
        assert_eq!(reply.status, 400, "{}: {}", moved.0, text(&reply));
        assert!(text(&reply).starts_with(r#"{"error":"invalid_request""#));
    }
    let json = format!(
        r#"{{"grant_type":"refresh_token","client_id":"40","client_secret":"{secret}","refresh_token":"{token}"}}"#
    );
    for (kind, body) in [
        (Some("application/json"), json),
        (Some("text/plain"), form(&fields)),
        (Some("multipart/form-data; boundary=x"), form(&fields)),
        (None, form(&fields)),
    ] {
        let mut sent = request("POST", TOKEN, [9, 9, 9, 9]);
        sent.content_type = kind.map(str::to_owned);
        sent.body = Bytes::from(body);
        assert_eq!(town.send(&sent).status, 400, "{kind:?}");
    }
    assert_eq!(
        refresh(&town, [9, 9, 9, 9], "40", secret, &token).status,
        200
    );
}

/// B34. B35. An unknown app, a wrong secret and a disabled app get the same answer, whatever they send.
#[test]
fn apps_that_are_not_who_they_say_get_one_answer() {
    let town = Town::new();
    let token = connected(&town);
    let secret = town.secret.expose();
    let ask = |client: &str, secret: &str, token: &str| {
        let reply = refresh(&town, [9, 9, 9, 9], client, secret, token);
        (reply.status, text(&reply), format!("{:?}", reply.headers))
    };
    let wrong = ask("40", "wrong", &token);
    assert_eq!(wrong.0, 401);
    assert_eq!(ask("41", secret, &token), wrong);
    assert_eq!(ask("40", "wrong", "garbage"), wrong);
    let app = block_on(town.store.app(APP)).unwrap().unwrap();
    let off = App {
        disabled_at: Some(app.created_at),
        ..App::clone(&app)
    };
    block_on(town.store.put_app(off.clone(), Some(&app))).unwrap();
    assert_eq!(ask("40", secret, &token), wrong);
    block_on(town.store.put_app(App::clone(&app), Some(&off))).unwrap();
    assert_eq!(ask("40", secret, &token).0, 200);
}

/// B48. Every client can call introspection, up to a limit; its answers are not cached.
#[test]
fn guesses_at_introspection_are_limited_by_address() {
    let town = Town::new();
    let ask = |from, token: &str| town.call(from, "/-/token_info", &[("token", token)]);
    let mut statuses = Vec::new();
    for n in 0..200 {
        let reply = ask([6, 6, 6, 6], &format!("wga_{n}"));
        assert_eq!(header(&reply, "Cache-Control"), Some("no-store"));
        if reply.status == 200 {
            assert_eq!(text(&reply), r#"{"active":false}"#);
        } else {
            assert!(
                header(&reply, "Retry-After")
                    .unwrap()
                    .parse::<u64>()
                    .unwrap()
                    >= 1
            );
        }
        statuses.push(reply.status);
    }
    assert_eq!(statuses.iter().filter(|s| **s == 200).count(), 60);
    assert!(statuses.iter().skip(60).all(|s| *s == 429));
    let token = connected(&town);
    assert!(text(&ask([7, 7, 7, 7], &token)).contains(r#""active":true"#));
}

/// B64. An address that guesses client secrets is slowed down; another one with the right secret,
/// and even the same one, is not.
#[test]
fn a_flood_of_wrong_secrets_is_nobody_elses() {
    let town = Town::new();
    let token = connected(&town);
    let statuses: Vec<u16> = (0..200)
        .map(|n| refresh(&town, [6, 6, 6, 6], "40", &format!("wgk_{n}"), &token).status)
        .collect();
    assert_eq!(statuses.iter().filter(|s| **s == 401).count(), 60);
    assert_eq!(statuses.last(), Some(&429));
    for from in [[7, 7, 7, 7], [6, 6, 6, 6]] {
        assert_eq!(
            refresh(&town, from, "40", town.secret.expose(), &token).status,
            200
        );
    }
}
