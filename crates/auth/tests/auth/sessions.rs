//! Sessions, the tickets of consent forms, anti-forgery texts, and the waits after failed logins.
use std::time::Duration;

use workgraph_auth::authorization::browser_session::{
    LoginAttempts, TICKET_LIFETIME, consent_ticket, csrf, csrf_matches, verify_consent_ticket,
};
use workgraph_auth::{BrowserSession, Secret};

use crate::oauth::{asks, with};
use crate::{at, random};

fn session(seed: u64) -> Secret {
    BrowserSession::start(12, &random(seed), at(0)).0
}

#[test]
fn b20_a_ticket_fits_one_session_user_and_request() {
    let (mine, other) = (session(1), session(2));
    let text = consent_ticket(&mine, 12, &asks(), &random(9), at(0));
    let open = |text: &str, session, user, request: &[_], ms| {
        verify_consent_ticket(text, session, user, request, at(ms))
    };
    let end = TICKET_LIFETIME.as_millis() as u64;
    let id = open(&text, &mine, 12, &asks(), 0);
    assert!(id.is_some() && id == open(&text, &mine, 12, &asks(), end - 1));
    assert_eq!(open(&text, &mine, 12, &asks(), end), None);
    assert_eq!(open(&text, &other, 12, &asks(), 0), None);
    assert_eq!(open(&text, &mine, 13, &asks(), 0), None);
    let mut moved = asks();
    moved.swap(0, 1);
    let mut glued = asks();
    let (name, value) = glued.remove(0);
    glued.insert(0, (format!("{name}{value}"), String::new()));
    for request in [
        with(&asks(), "scope", Some("tasks:write")),
        with(&asks(), "state", None),
        moved,
        glued,
        Vec::new(),
    ] {
        assert_eq!(open(&text, &mine, 12, &request, 0), None, "{request:?}");
    }
    for at in 0..text.len() {
        let other = if text.as_bytes()[at] == b'1' {
            "2"
        } else {
            "1"
        };
        let near = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        assert_eq!(open(&near, &mine, 12, &asks(), 0), None, "{near}");
        assert_eq!(open(&text[..at], &mine, 12, &asks(), 0), None);
    }
    for text in ["", "..", "a.1.b", "é"] {
        assert_eq!(open(text, &mine, 12, &asks(), 0), None);
    }
    let second = consent_ticket(&mine, 12, &asks(), &random(10), at(0));
    assert_ne!(open(&second, &mine, 12, &asks(), 0), id);
}

#[test]
fn a_form_is_its_sessions_and_its_purposes() {
    let (mine, other) = (session(1), session(2));
    let text = csrf(&mine, "revoke app");
    assert!(csrf_matches(&mine, "revoke app", &text));
    assert!(!csrf_matches(&other, "revoke app", &text) && !csrf_matches(&mine, "sign out", &text));
    for wrong in ["", "AAAA", &text[1..], &format!("{text}A")] {
        assert!(!csrf_matches(&mine, "revoke app", wrong));
    }
}

#[test]
fn b62_a_session_has_an_end_and_a_secret_that_is_not_kept() {
    let (secret, session) = BrowserSession::start(12, &random(1), at(0));
    assert!(session.is_live(at(0)) && !session.is_live(session.expires_at));
    assert!(!format!("{session:?} {secret:?}").contains(&secret.expose()[4..12]));
    assert_ne!(
        BrowserSession::start(12, &random(2), at(0)).1.digest,
        session.digest
    );
}

#[test]
fn b61_logins_back_off() {
    let mut strikes = None;
    let mut now = 0;
    let mut waits = Vec::new();
    for _ in 0..20 {
        if let Err(wait) = LoginAttempts::attempt(strikes, at(now)) {
            waits.push(wait.as_secs());
            let early = at(now) + wait - Duration::from_millis(1);
            assert_eq!(
                LoginAttempts::attempt(strikes, early),
                Err(Duration::from_millis(1))
            );
            now += wait.as_millis() as u64;
        }
        strikes = Some(LoginAttempts::attempt(strikes, at(now)).unwrap());
    }
    assert_eq!(
        waits,
        [
            1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900, 900
        ]
    );
    assert_eq!(
        LoginAttempts::attempt(strikes, at(now + 86_400_000))
            .unwrap()
            .count,
        1
    );
    assert!(LoginAttempts::attempt(strikes, at(now - 1000)).is_err());
    let key = LoginAttempts::key("Ada@example.com ", "192.0.2.1");
    assert_eq!(key, LoginAttempts::key("ada@example.com", "192.0.2.1"));
    assert_ne!(key, LoginAttempts::key("ada@example.com", "192.0.2.2"));
    assert_ne!(
        LoginAttempts::key("a b", "c"),
        LoginAttempts::key("a", "b c")
    );
}
