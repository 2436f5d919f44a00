//! New secrets, from the form that makes them to the page that shows them.
use super::browser::{Browser, header, hidden, leads, text};
use super::fixtures::{ADA, BOB, Town};

const TOKENS: &str = "/-/console/tokens";
const COOKIE: &str = "__Host-workgraph-secret";

/// Makes a personal token; returns the address of the page that shows it.
fn make_token(browser: &mut Browser<'_>) -> String {
    let guard = hidden(&text(&browser.get(TOKENS)), "csrf");
    let made = format!("csrf={guard}&description=Nightly&days=30&permissions=full");
    leads(&browser.post(TOKENS, &made)).to_owned()
}

/// Returns the value of the cookie that carries a secret.
fn carried(browser: &Browser<'_>) -> Option<String> {
    let mut cookies = browser.cookies.iter();
    let found = cookies.find(|(name, _)| name == COOKIE);
    found.map(|(_, value)| value.clone())
}

/// Returns the secret on a page.
fn shown(page: &str) -> Option<&str> {
    page.split(r#"id="secret">"#).nth(1)?.split('<').next()
}

/// B60. B75. The node that shows a new secret need not be the one that made it.
#[test]
fn a_new_secret_is_shown_once_by_any_node() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let page = make_token(&mut ada);
    let sealed = carried(&ada).unwrap();
    town.go_to_node(1);
    // A foreign link does not have the key, and does not spend the showing.
    for foreign in ["/-/console/secret", "/-/console/secret?key=AAAA"] {
        assert_eq!(ada.get(foreign).status, 410);
    }
    let answer = ada.get(&page);
    let text = text(&answer);
    assert_eq!(answer.status, 200, "{text}");
    let secret = shown(&text).unwrap();
    assert!(
        !sealed.contains(secret) && text.contains("Nightly"),
        "{text}"
    );
    for part in ["Max-Age=0", "HttpOnly", "Secure"] {
        let cookie = header(&answer, "Set-Cookie").unwrap();
        assert!(
            cookie.starts_with(COOKIE) && cookie.contains(part),
            "{cookie}"
        );
    }
    assert_eq!(carried(&ada), None);
    for node in [0, 1] {
        town.go_to_node(node);
        assert_eq!(ada.get(&page).status, 410);
    }
}

/// B60. What a browser carries opens for its session alone, and for five minutes.
#[test]
fn a_carried_secret_is_of_its_session_and_ends() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let page = make_token(&mut ada);
    let sealed = carried(&ada).unwrap();
    let mut bob = Browser::of(&town, BOB);
    let own = make_token(&mut bob);
    for foreign in [sealed.clone(), sealed.replace("sealed:1:", ""), "x".into()] {
        bob.cookies.retain(|(name, _)| name != COOKIE);
        bob.cookies.push((COOKIE.to_owned(), foreign));
        assert_eq!(bob.get(&own).status, 410);
        assert_eq!(carried(&bob), None, "it is of no use, and goes");
    }
    town.pass(301);
    assert_eq!(ada.get(&page).status, 410);
    assert_eq!(carried(&ada), None);
}
