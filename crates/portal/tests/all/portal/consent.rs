//! The way to an app and back.
use workgraph_auth::conformance::block_on;
use workgraph_auth::{OAuthStore, TokenStore};

use super::browser::{Browser, answer, authorize, header, leads, text};
use super::fixtures::{ADA, APP, BOB, REDIRECT, Town};

const DECIDE: &str = "/-/oauth_authorize";

fn stands(town: &Town, user: u64) -> Option<String> {
    let standing = block_on(town.store.authorization(user, APP)).unwrap();
    standing.map(|standing| standing.scopes.to_string())
}

/// B22. S25. S48. The page shows the app, the scopes, and the host the answer goes to; without a session it is the page
/// for signing in, which leads back.
#[test]
fn the_page_says_what_is_asked() {
    let town = Town::new();
    let mut ada = Browser::new(&town);
    let first = ada.get(&authorize("tasks:read openid"));
    assert!(text(&first).contains("<strong>Planner</strong>"));
    assert!(
        header(&first, "content-security-policy")
            .unwrap()
            .contains("form-action 'self' https://planner.example;")
    );
    ada.sign_in(ADA, "pass-1");
    let page = text(&ada.get(&authorize("tasks:read openid")));
    for words in [
        "Planner",
        "planner.example",
        "See tasks",
        "Confirm who you are",
        "1@example.com",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("Create and change tasks"));
    ada.allow("tasks:read openid");
    let page = text(&ada.get(&authorize("tasks:read tasks:write")));
    for words in [
        "New: it will also be able to",
        "It will still be able to",
        "It will no longer be able to",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

/// B20. A form is answered once, by the session and user it was made for, as it was made, in time,
/// and from our own page.
#[test]
fn a_consent_form_fits_once() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let (request, ticket) = ada.ask("tasks:read");
    let yes = answer(&request, &ticket, "allow");

    // The session of another user, or another session of the same user; a wider request; half a form.
    for user in [ADA, BOB] {
        assert_eq!(Browser::of(&town, user).post(DECIDE, &yes).status, 403);
    }
    let wider = request.replace("tasks%3Aread", "tasks%3Aread%20tasks%3Awrite");
    assert_ne!(wider, request);
    for forged in [
        answer(&wider, &ticket, "allow"),
        answer(&request, "", "allow"),
        answer(&request, &ticket, ""),
        answer(&request, &format!("{ticket}A"), "allow"),
    ] {
        assert_eq!(ada.post(DECIDE, &forged).status, 403, "{forged}");
    }
    assert_eq!(
        ada.send(
            |r| r.origin = Some("https://evil.example".to_owned()),
            "POST",
            DECIDE,
            &yes
        )
        .status,
        403
    );
    assert_eq!(Browser::new(&town).post(DECIDE, &yes).status, 403);
    assert_eq!(stands(&town, ADA), None);

    assert!(leads(&ada.post(DECIDE, &yes)).starts_with(REDIRECT));
    assert_eq!(stands(&town, ADA).as_deref(), Some("tasks:read"));
    assert_eq!(ada.post(DECIDE, &yes).status, 403, "a second time");

    let (request, ticket) = ada.ask("tasks:write");
    town.pass(600);
    assert_eq!(
        ada.post(DECIDE, &answer(&request, &ticket, "allow")).status,
        403,
        "too late"
    );
    assert_eq!(stands(&town, ADA).as_deref(), Some("tasks:read"));
}

/// B05. S25. A refusal goes back to the app and stores nothing.
#[test]
fn a_no_keeps_nothing() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let (request, ticket) = ada.ask("tasks:read");
    let reply = ada.post(DECIDE, &answer(&request, &ticket, "deny"));
    let to = leads(&reply);
    assert!(
        to.starts_with("https://planner.example/cb?error=access_denied&"),
        "{to}"
    );
    assert!(to.ends_with("&state=xyz"), "{to}");
    // An app that asks for `openid` knows the issuer.
    let (request, ticket) = ada.ask("openid");
    let reply = ada.post(DECIDE, &answer(&request, &ticket, "deny"));
    let to = leads(&reply);
    assert!(
        to.contains("&state=xyz&iss=https%3A%2F%2Fwork.example%2Fapi%2F1.0"),
        "{to}"
    );
    assert_eq!(stands(&town, ADA), None);
}

/// B19. S51. An app that is in none of the user's workspaces gets no code from them, and no page asks.
#[test]
fn a_user_of_another_workspace_is_not_asked() {
    let town = Town::new();
    let mut bob = Browser::of(&town, BOB);
    let to = bob.get(&authorize("tasks:read"));
    assert!(leads(&to).starts_with("https://planner.example/cb?error=access_denied&"));
    assert_eq!(stands(&town, BOB), None);
    // No code either if the app was taken away between question and answer.
    let mut ada = Browser::of(&town, ADA);
    let (request, ticket) = ada.ask("tasks:read");
    let app = block_on(town.store.app(APP)).unwrap().unwrap();
    let gone = workgraph_auth::App {
        distribution: vec![8],
        ..workgraph_auth::App::clone(&app)
    };
    block_on(town.store.put_app(gone, Some(&app))).unwrap();
    let to = ada.post(DECIDE, &answer(&request, &ticket, "allow"));
    assert!(leads(&to).starts_with("https://planner.example/cb?error=access_denied&"));
    assert_eq!(stands(&town, ADA), None);
}

/// B66. Without random bytes nothing is made: no session, no code, no token, no secret.
#[test]
fn without_random_bytes_nothing_is_issued() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let code = ada.allow("tasks:read");
    let (request, ticket) = ada.ask("tasks:write");
    let page = text(&ada.get("/-/console/tokens"));
    let guard = super::browser::hidden(&page, "csrf");
    let mut other = Browser::new(&town);
    other.get("/-/sign_in");
    town.switch_entropy(false);
    assert_eq!(town.redeem(&code).status, 500);
    let yes = answer(&request, &ticket, "allow");
    assert_eq!(ada.post(DECIDE, &yes).status, 500);
    let made = format!("csrf={guard}&description=x&days=30&permissions=full");
    assert_eq!(ada.post("/-/console/tokens", &made).status, 500);
    assert_eq!(other.sign_in(ADA, "pass-1").status, 500);
    assert_eq!(stands(&town, ADA).as_deref(), Some("tasks:read"));
    assert!(block_on(town.store.list(ADA)).unwrap().is_empty());
    town.switch_entropy(true);
    assert_eq!(town.redeem(&code).status, 200, "nothing was spent");
}
