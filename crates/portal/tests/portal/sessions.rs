//! Signing in and out.
use std::sync::atomic::Ordering::Relaxed;

use crate::town::{ADA, BOB, Browser, Town, form, header, hidden, leads, text};

/// B25. B62. The cookie of a session is bound to this host and out of reach of scripts and other
/// sites; signing in is answered with 303 and always starts a session of its own.
#[test]
fn a_session_is_new_at_each_sign_in() {
    let town = Town::new();
    let mut ada = Browser::new(&town);
    // What somebody planted is not taken over.
    ada.cookies
        .push(("__Host-workgraph".to_owned(), "planted".to_owned()));
    let reply = ada.sign_in(ADA, "pass-1");
    assert_eq!(leads(&reply), "/-/connected_apps");
    assert_eq!(header(&reply, "Referrer-Policy"), Some("no-referrer"));
    let set: Vec<&String> = reply
        .headers
        .iter()
        .filter(|h| h.0 == "Set-Cookie")
        .map(|h| &h.1)
        .collect();
    let session = set
        .iter()
        .find(|c| c.starts_with("__Host-workgraph="))
        .unwrap();
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Lax", "; Secure"] {
        assert!(session.contains(part), "{session}");
    }
    assert!(!session.contains("Domain"), "{session}");
    let first = ada.cookie().to_owned();
    assert_ne!(first, "planted");
    assert_eq!(ada.get("/-/console/apps").status, 200);
    // Again: another one, and the first is over.
    ada.sign_in(ADA, "pass-1");
    assert_ne!(ada.cookie(), first);
    let mut old = Browser::new(&town);
    old.cookies.push(("__Host-workgraph".to_owned(), first));
    assert!(leads(&old.get("/-/console/apps")).starts_with("/-/sign_in?next="));
}

/// Over plain `http` a cookie cannot have the name or the mark that browsers keep for `https`.
#[test]
fn over_plain_http_a_cookie_is_not_marked_secure() {
    let town = Town::with(|settings| settings.auth_url = "http://127.0.0.1:8080".to_owned());
    let mut ada = Browser::new(&town);
    let reply = ada.sign_in(ADA, "pass-1");
    let set = header(&reply, "Set-Cookie").unwrap();
    assert!(
        set.starts_with("workgraph=") && !set.contains("Secure"),
        "{set}"
    );
}

#[test]
fn signing_out_ends_the_session_everywhere() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let mut copy = Browser::new(&town);
    copy.cookies.clone_from(&ada.cookies);
    let page = text(&ada.get("/-/sign_out"));
    let guard = form(&[("csrf", &hidden(&page, "csrf"))]);
    assert_eq!(
        ada.send(
            |r| r.origin = Some("https://evil.example".to_owned()),
            "POST",
            "/-/sign_out",
            &guard
        )
        .status,
        403
    );
    assert_eq!(ada.post("/-/sign_out", "csrf=x").status, 403);
    assert_eq!(copy.get("/-/console/apps").status, 200);
    assert!(leads(&ada.post("/-/sign_out", &guard)).starts_with("/-/sign_in"));
    assert!(leads(&copy.get("/-/console/apps")).starts_with("/-/sign_in"));
    assert!(
        ada.cookies
            .iter()
            .all(|(name, _)| name != "__Host-workgraph")
    );
}

/// B20. Nobody is signed in by a foreign page: as somebody else, they would work in an account that
/// is not theirs.
#[test]
fn the_sign_in_form_is_guarded_too() {
    let town = Town::new();
    let mut ada = Browser::new(&town);
    let page = text(&ada.get("/-/sign_in"));
    let guard = hidden(&page, "csrf");
    let fields = |guard: &str| {
        form(&[
            ("csrf", guard),
            ("email", "2@example.com"),
            ("password", "pass-2"),
        ])
    };
    assert_eq!(
        Browser::new(&town)
            .post("/-/sign_in", &fields(&guard))
            .status,
        403,
        "without the cookie"
    );
    assert_eq!(ada.post("/-/sign_in", &fields("")).status, 403);
    let mut other = Browser::new(&town);
    let foreign = hidden(&text(&other.get("/-/sign_in")), "csrf");
    assert_eq!(ada.post("/-/sign_in", &fields(&foreign)).status, 403);
    for (origin, site) in [
        ("https://evil.example", None),
        ("null", Some("cross-site")),
        ("null", None),
    ] {
        let reply = ada.send(
            |r| {
                r.origin = Some(origin.to_owned());
                r.fetch_site = site.map(str::to_owned);
            },
            "POST",
            "/-/sign_in",
            &fields(&guard),
        );
        assert_eq!(reply.status, 403, "{origin} {site:?}");
    }
    assert_eq!(
        leads(&ada.post("/-/sign_in", &fields(&guard))),
        "/-/connected_apps"
    );
}

/// B35. B61. An unknown address and a wrong password take the same way and get the same answer; a
/// full queue is 503; failures back off by account and address, and nobody else waits for them.
#[test]
fn sign_ins_take_the_same_way_and_back_off() {
    let town = Town::new();
    let mut page = Browser::new(&town);
    let strip = |page: String, email: &str| page.replace(email, "E");
    let known = page.sign_in(ADA, "wrong");
    let unknown = page.sign_in(99, "wrong");
    assert_eq!((known.status, unknown.status), (400, 400));
    assert_eq!(
        strip(text(&known), "1@example.com"),
        strip(text(&unknown), "99@example.com")
    );
    assert_eq!(*town.locks.known.lock().unwrap(), [true, false]);

    town.locks.busy.store(true, Relaxed);
    let busy = page.sign_in(BOB, "pass-2");
    assert_eq!(
        (busy.status, header(&busy, "Retry-After")),
        (503, Some("5"))
    );
    town.locks.busy.store(false, Relaxed);

    let mut thief = Browser::new(&town);
    thief.from = [6, 6, 6, 6].into();
    let statuses: Vec<u16> = (0..7).map(|_| thief.sign_in(ADA, "guess").status).collect();
    assert_eq!(statuses, [400, 400, 400, 400, 400, 429, 429]);
    let wait = thief.sign_in(ADA, "pass-1");
    assert_eq!(
        (wait.status, header(&wait, "Retry-After")),
        (429, Some("1"))
    );
    assert_eq!(
        town.locks.known.lock().unwrap().len(),
        7,
        "no password is looked at meanwhile"
    );
    Browser::of(&town, ADA);
    Browser::of(&town, BOB);
    town.pass(1);
    assert_eq!(leads(&thief.sign_in(ADA, "pass-1")), "/-/connected_apps");
}

/// B61. Whoever has one address of an IPv6 network has all of them.
#[test]
fn guesses_from_all_over_a_network_are_those_of_one() {
    let town = Town::new();
    let mut thief = Browser::new(&town);
    let mut guess = |network: u16, n: u16| {
        thief.from = [0x2001, 0xdb8, 0, network, 0, 0, 0, n].into();
        thief.sign_in(ADA, "guess").status
    };
    let statuses: Vec<u16> = (0..7).map(|n| guess(0, n)).collect();
    assert_eq!(statuses, [400, 400, 400, 400, 400, 429, 429]);
    assert_eq!(guess(1, 0), 400, "another network has attempts of its own");
}

/// B64. What one address does wrong, with as many accounts as it likes, is not another's.
#[test]
fn an_address_that_fails_often_waits_alone() {
    let town = Town::with(|settings| settings.failures_per_minute = Some(10));
    let mut flood = Browser::new(&town);
    let limited = (0..30)
        .filter(|n| flood.sign_in(100 + n, "x").status == 429)
        .count();
    assert_eq!(limited, 20);
    let mut ada = Browser::new(&town);
    ada.from = [2, 2, 2, 2].into();
    assert_eq!(leads(&ada.sign_in(ADA, "pass-1")), "/-/connected_apps");
    town.pass(60);
    assert_eq!(leads(&flood.sign_in(ADA, "pass-1")), "/-/connected_apps");
}
