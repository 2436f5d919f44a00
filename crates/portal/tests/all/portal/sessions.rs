//! Signing in and out.
use std::sync::atomic::Ordering::Relaxed;

use workgraph_auth::conformance::block_on;
use workgraph_auth::{OAuthStore, PasswordChange, Secret, TokenStore};

use super::browser::{Browser, form, header, hidden, leads, text};
use super::fixtures::{ADA, BOB, Town};

/// B25. B62. The cookie of a session is bound to this host and out of reach of scripts and other
/// sites; signing in is answered with 303 and always starts a session of its own.
#[test]
fn a_session_is_new_at_each_sign_in() {
    let town = Town::new();
    let mut ada = Browser::new(&town);
    // A secret that a cookie brought along is not taken over.
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
    // At a second sign-in the session is another one, and the first is over.
    ada.sign_in(ADA, "pass-1");
    assert_ne!(ada.cookie(), first);
    let mut old = Browser::new(&town);
    old.cookies.push(("__Host-workgraph".to_owned(), first));
    assert!(leads(&old.get("/-/console/apps")).starts_with("/-/sign_in?next="));
}

/// B68. The service learns that a password was used.
#[test]
fn a_sign_in_tells_that_the_password_was_used() {
    let town = Town::new();
    Browser::new(&town).sign_in(ADA, "wrong");
    assert_eq!(town.notified(), []);
    Browser::of(&town, ADA);
    assert_eq!(town.notified(), [(ADA, "used")]);
}

/// A password that was right when it was checked, and replaced before the session began, starts no session.
#[test]
fn a_password_that_is_replaced_meanwhile_starts_no_session() {
    let town = Town::new();
    let hash = |password: &str| Secret::new(format!("hash of {password}"));
    town.store.change_meanwhile(PasswordChange {
        user: ADA,
        before: hash("pass-1"),
        after: hash("correct horse"),
        keep_session: None,
        revoke_tokens_at: None,
    });
    let mut thief = Browser::new(&town);
    let reply = thief.sign_in(ADA, "pass-1");
    assert_eq!(reply.status, 400, "{}", text(&reply));
    assert!(leads(&thief.get("/-/console/apps")).starts_with("/-/sign_in"));
    assert_eq!(block_on(town.store.sessions(ADA)).unwrap(), []);
    assert_eq!(town.notified(), []);
    let failed = town.acts.1.lock().unwrap().clone();
    assert_eq!(failed, [ADA], "the audit log is told");
    let mut ada = Browser::new(&town);
    assert_eq!(
        leads(&ada.sign_in(ADA, "correct horse")),
        "/-/connected_apps"
    );
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

/// B20. A foreign page signs no browser in: as another user, a person would work in an account that is not theirs.
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

/// B35. B61. An unknown address and a wrong password take the same way and get the same answer; a full queue is 503;
/// failures back off by account and address, and other clients do not wait for them.
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

/// B73. B35. The calls of the store are the same for known and unknown accounts, and nothing is waited for besides; a
/// failure at an account that exists is recorded in the audit log without a wait.
#[test]
fn a_failed_sign_in_awaits_the_same_calls_for_all_accounts() {
    let town = Town::new();
    let mut browser = Browser::new(&town);
    let mut fails = |user, password: &str| {
        town.store.calls();
        assert_eq!(browser.sign_in(user, password).status, 400);
        town.store.calls()
    };
    let unknown = fails(99, "wrong");
    assert_eq!(unknown, ["attempt_login", "login"]);
    assert_eq!(fails(ADA, "wrong"), unknown);
    block_on(town.store.set_disabled(BOB, true, town.now())).unwrap();
    assert_eq!(fails(BOB, "pass-2"), unknown);
    assert_eq!(*town.acts.1.lock().unwrap(), [ADA, BOB]);
}

/// B69, B70. Without a slot for the password nothing is written, and the attempt counts.
#[test]
fn a_busy_server_keeps_nothing_of_an_attempt_but_its_count() {
    let town = Town::with(|settings| settings.failures_per_minute = Some(10));
    let mut flood = Browser::new(&town);
    town.locks.busy.store(true, Relaxed);
    town.store.calls();
    let statuses: Vec<u16> = (0..12).map(|_| flood.sign_in(ADA, "x").status).collect();
    assert_eq!(statuses[..10], [503; 10]);
    assert_eq!(statuses[10..], [429; 2]);
    assert_eq!(town.store.calls(), [""; 0]);
    town.locks.busy.store(false, Relaxed);
    let mut ada = Browser::new(&town);
    ada.from = [2, 2, 2, 2].into();
    for _ in 0..30 {
        let reply = ada.sign_in(ADA, "pass-1");
        assert_eq!(
            leads(&reply),
            "/-/connected_apps",
            "a success does not count"
        );
    }
    assert_eq!(
        town.locks.taken.load(Relaxed),
        0,
        "all slots are given back"
    );
}

/// B72. Guesses from all addresses count together against the account; a browser that its owner signed in with before
/// is not held up by them, nor by a full queue.
#[test]
fn an_account_is_guarded_over_all_addresses_but_not_locked() {
    let town = Town::with(|settings| settings.account_failures_per_minute = Some(8));
    let mut ada = Browser::of(&town, ADA);
    let guess = |n: u8, user| {
        let mut thief = Browser::new(&town);
        thief.from = [9, 9, 9, n].into();
        thief.sign_in(user, "guess").status
    };
    let statuses: Vec<u16> = (0..10).map(|n| guess(n, ADA)).collect();
    assert_eq!(statuses[..8], [400; 8]);
    assert_eq!(statuses[8..], [429; 2]);
    assert_eq!(guess(50, BOB), 400, "other accounts are not concerned");
    let unknown: Vec<u16> = (100..110).map(|n| guess(n, 77)).collect();
    assert_eq!(unknown, statuses, "nor is it told which accounts there are");
    let mut new = Browser::new(&town);
    new.from = [8, 8, 8, 8].into();
    assert_eq!(new.sign_in(ADA, "pass-1").status, 429);
    town.locks.crowded.store(true, Relaxed);
    assert_eq!(leads(&ada.sign_in(ADA, "pass-1")), "/-/connected_apps");
    assert_eq!(
        ada.sign_in(BOB, "pass-2").status,
        503,
        "it is known for Ada"
    );
    town.locks.crowded.store(false, Relaxed);
    // The ticket of a known browser is sealed, and guesses in it back off like any.
    let cookie = ada.cookies.iter().find(|c| c.0.ends_with("-known"));
    let (name, value) = cookie.unwrap().clone();
    new.cookies.push((name, format!("{value}x")));
    assert_eq!(new.sign_in(ADA, "pass-1").status, 429);
    let statuses: Vec<u16> = (0..6).map(|_| ada.sign_in(ADA, "guess").status).collect();
    assert_eq!(statuses, [400, 400, 400, 400, 400, 429]);
    town.pass(60);
    assert_eq!(leads(&new.sign_in(ADA, "pass-1")), "/-/connected_apps");
}

/// An account at its limit refuses every attempt; these do not count for their addresses.
#[test]
fn attempts_that_an_account_refuses_do_not_count_against_their_address() {
    let town = Town::with(|settings| {
        settings.failures_per_minute = Some(10);
        settings.account_failures_per_minute = Some(8);
    });
    for n in 0..8 {
        let mut thief = Browser::new(&town);
        thief.from = [9, 9, 9, n].into();
        assert_eq!(thief.sign_in(ADA, "guess").status, 400);
    }
    let mut office = Browser::new(&town);
    for _ in 0..12 {
        assert_eq!(office.sign_in(ADA, "pass-1").status, 429);
    }
    assert_eq!(leads(&office.sign_in(BOB, "pass-2")), "/-/connected_apps");
}

/// B61. A client with one address of an IPv6 network has all of them.
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

/// B64. Failures of one address, with any number of accounts, do not count for another.
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
