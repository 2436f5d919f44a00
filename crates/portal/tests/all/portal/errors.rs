//! Errors of authorization requests, and the users who are sent to the app with them.
use workgraph_api::ApiResponse;
use workgraph_api::SCOPES;

use super::browser::{Browser, authorize, form, header, hidden, leads, text};
use super::fixtures::{ADA, BOB, REDIRECT, Town};

const DECIDE: &str = "/-/oauth_authorize";
const BACK: &str = "https://planner.example/cb?error=";

/// Returns requests by the app that get an error without a session.
fn refused() -> Vec<(String, &'static str)> {
    let good = authorize("tasks:read");
    vec![
        (
            good.replace("response_type=code", "response_type=bogus"),
            "unsupported_response_type",
        ),
        (authorize("projects:write"), "forbidden_scopes"),
        (format!("{good}&request=e30."), "request_not_supported"),
        (format!("{good}&prompt=none%20login"), "invalid_request"),
        (format!("{good}&prompt=none"), "login_required"),
    ]
}

/// Returns the form that the button of the page sends.
fn go_on(page: &str) -> String {
    form(&[
        ("request", &hidden(page, "request")),
        ("csrf", &hidden(page, "csrf")),
        ("decision", "continue"),
    ])
}

/// Returns true if a link, followed without a session, ends on a page of this server.
fn stays(reply: &ApiResponse) -> bool {
    let page = text(reply);
    let shown = ["Continue to planner.example", "<strong>Planner</strong>"];
    reply.status == 200
        && header(reply, "Location").is_none()
        && shown.iter().all(|words| page.contains(words))
}

/// B78. A user without a session is shown the host of the app's site, and arrives there, with error and state, only
/// after going on.
#[test]
fn a_link_to_an_error_leads_nobody_away() {
    for (path, error) in refused() {
        let town = Town::new();
        let mut visitor = Browser::new(&town);
        let reply = visitor.get(&path);
        assert!(stays(&reply), "{path}: {}", text(&reply));
        assert!(text(&reply).contains(error), "{error}");
        assert!(
            header(&reply, "content-security-policy")
                .unwrap()
                .contains("form-action 'self' https://planner.example;")
        );
        let sent = go_on(&text(&reply));
        // Not from another page, not in another browser, and not for another request.
        let forged = visitor.send(
            |r| r.origin = Some("https://evil.example".to_owned()),
            "POST",
            DECIDE,
            &sent,
        );
        assert_eq!(forged.status, 403);
        assert_eq!(Browser::new(&town).post(DECIDE, &sent).status, 403);
        let other = sent.replace("xyz", "zyx");
        assert_ne!(other, sent);
        assert_eq!(visitor.post(DECIDE, &other).status, 403);
        let to = visitor.post(DECIDE, &sent);
        assert!(leads(&to).starts_with(&format!("{BACK}{error}&")), "{path}");
        assert!(leads(&to).ends_with("&state=xyz"), "{}", leads(&to));
    }
}

/// B78. A check that follows links by hand notices a server that redirects at once.
#[test]
fn a_redirect_at_once_is_noticed() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    for (path, _) in refused().iter().filter(|(_, e)| *e != "login_required") {
        assert!(!stays(&ada.get(path)), "{path}");
    }
}

/// B05. B78. A user who is signed in is sent back at once, in whatever workspace; so is a frame, in which the browser's
/// page stays. A response that is no redirect needs no page before it.
#[test]
fn a_visitor_with_a_session_is_sent_back_at_once() {
    let town = Town::new();
    for user in [ADA, BOB] {
        let mut browser = Browser::of(&town, user);
        for (path, error) in refused() {
            let error = if error == "login_required" {
                "consent_required"
            } else {
                error
            };
            let reply = browser.get(&path);
            assert!(leads(&reply).starts_with(&format!("{BACK}{error}&")));
        }
    }
    for (dest, at_once) in [("iframe", true), ("document", false)] {
        let reply = Browser::new(&town).send(
            |r| r.fetch_dest = Some(dest.to_owned()),
            "GET",
            &format!("{}&prompt=none", authorize("tasks:read")),
            "",
        );
        assert_eq!(reply.status == 303, at_once, "{dest}");
    }
    let posted = format!("{}&response_mode=form_post", authorize("projects:write"));
    let page = text(&Browser::new(&town).get(&posted));
    for shown in [
        format!("action=\"{REDIRECT}\""),
        "<strong>https://planner.example</strong>".to_owned(),
    ] {
        assert!(page.contains(&shown), "{page}");
    }
}

/// B78. What was refused before may be in order once the visitor goes on: then it starts again.
#[test]
fn a_request_that_is_in_order_again_starts_again() {
    use workgraph_auth::conformance::block_on;
    use workgraph_auth::{App, OAuthStore, RegisteredScopes};
    let town = Town::new();
    let mut visitor = Browser::new(&town);
    let path = authorize("projects:write");
    let sent = go_on(&text(&visitor.get(&path)));
    let app = block_on(town.store.app(super::fixtures::APP))
        .unwrap()
        .unwrap();
    let wider = App {
        scopes: RegisteredScopes::Only(SCOPES.parse("projects:write").unwrap()),
        ..App::clone(&app)
    };
    block_on(town.store.put_app(wider.clone(), Some(&app))).unwrap();
    assert_eq!(leads(&visitor.post(DECIDE, &sent)), path);
    // A request of an app that is gone sends the browser nowhere.
    let gone = App {
        disabled_at: Some(app.created_at),
        ..wider.clone()
    };
    block_on(town.store.put_app(gone, Some(&wider))).unwrap();
    assert_eq!(visitor.post(DECIDE, &sent).status, 400);
}
