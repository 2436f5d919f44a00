//! The account of a user: the password, the sessions, and the revocation of all access.
use std::sync::atomic::Ordering::Relaxed;

use workgraph_auth::conformance::block_on;
use workgraph_auth::{OAuthStore, SecretDigest, TokenKind, TokenRecord, TokenStore, mint_token};

use super::browser::{Browser, authorize, form, header, hidden, leads, text};
use super::fixtures::{ADA, BOB, Town};

const ACCOUNT: &str = "/-/console/account";

/// Sends the form that changes the password, from the page that has it.
fn change(browser: &mut Browser<'_>, fields: &[(&str, &str)]) -> workgraph_api::ApiResponse {
    let guard = hidden(&text(&browser.get(ACCOUNT)), "csrf");
    let body = form(&[&[("csrf", &*guard)], fields].concat());
    browser.post(&format!("{ACCOUNT}/password"), &body)
}

fn fields<'a>(current: &'a str, new: &'a str) -> [(&'static str, &'a str); 3] {
    [("current", current), ("new", new), ("again", new)]
}

/// B71. B74.
#[test]
fn a_changed_password_is_the_only_one_and_ends_the_other_sessions() {
    let town = Town::new();
    let (mut ada, mut thief) = (Browser::of(&town, ADA), Browser::of(&town, ADA));
    let mut bob = Browser::of(&town, BOB);
    let reply = change(&mut ada, &fields("pass-1", "correct horse"));
    let page = text(&ada.get(leads(&reply)));
    assert!(page.contains("Your password is changed"), "{page}");
    assert_eq!(town.notified().last(), Some(&(ADA, "changed")));
    assert!(leads(&thief.get(ACCOUNT)).starts_with("/-/sign_in"));
    assert_eq!(bob.get(ACCOUNT).status, 200, "nobody else is concerned");
    let mut new = Browser::new(&town);
    assert_eq!(new.sign_in(ADA, "pass-1").status, 400);
    assert_eq!(
        leads(&new.sign_in(ADA, "correct horse")),
        "/-/connected_apps"
    );
}

/// B71. Tokens and apps go on unless they are to be revoked.
#[test]
fn access_is_revoked_with_the_password_or_alone() {
    let town = Town::new();
    for (number, path, fields) in [
        (1, "password", fields("pass-1", "correct horse").to_vec()),
        (2, "password", {
            let mut fields = fields("correct horse", "battery staple").to_vec();
            fields.push(("revoke", "yes"));
            fields
        }),
        (3, "revoke", vec![]),
    ] {
        let password = ["pass-1", "correct horse", "battery staple"][number - 1];
        let mut ada = Browser::new(&town);
        ada.sign_in(ADA, password);
        ada.allow("tasks:read");
        let digest = mint_token(TokenKind::Personal, &[number as u8; 32]).1;
        let record = TokenRecord::personal(number as u64, digest, ADA, town.now());
        block_on(town.store.insert_token(record)).unwrap();
        let guard = hidden(&text(&ada.get(ACCOUNT)), "csrf");
        let body = form(&[&[("csrf", &*guard)], &fields[..]].concat());
        let reply = ada.post(&format!("{ACCOUNT}/{path}"), &body);
        assert_eq!(ada.get(leads(&reply)).status, 200);
        let found = block_on(town.store.find_token(&digest)).unwrap().unwrap().0;
        let goes_on = number == 1;
        assert_eq!(found.revoked_at.is_none(), goes_on, "{path} {number}");
        let apps = block_on(town.store.authorizations(ADA)).unwrap();
        assert_eq!(!apps.is_empty(), goes_on, "{path} {number}");
    }
}

/// B74. A problem is shown at its field, before any password is checked, and nothing is changed.
#[test]
fn a_password_is_changed_by_who_knows_it_and_to_a_good_one() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let looked = |town: &Town| town.locks.known.lock().unwrap().len();
    let before = looked(&town);
    let good = "correct horse";
    for (current, new, again, wrong) in [
        ("", good, good, "current"),
        ("pass-1", "short", "short", "new"),
        ("pass-1", &"x".repeat(1025), &"x".repeat(1025), "new"),
        ("pass-1", good, "correct horsf", "again"),
        ("correct horse", good, good, "new"),
    ] {
        let sent = [("current", current), ("new", new), ("again", again)];
        let reply = change(&mut ada, &sent);
        assert_eq!(reply.status, 400, "{wrong}");
        let page = text(&reply);
        assert!(page.contains(&format!("id=\"{wrong}-wrong\"")), "{page}");
    }
    assert_eq!(looked(&town), before);
    let reply = change(&mut ada, &fields("guess", good));
    assert_eq!(reply.status, 400);
    assert!(text(&reply).contains("This is not your password"));
    let bare = form(&fields("pass-1", good));
    assert_eq!(ada.post(&format!("{ACCOUNT}/password"), &bare).status, 403);
    let guard = hidden(&text(&ada.get(ACCOUNT)), "csrf");
    let body = form(&[&[("csrf", &*guard)], &fields("pass-1", good)[..]].concat());
    let foreign = ada.send(
        |r| r.fetch_site = Some("cross-site".to_owned()),
        "POST",
        &format!("{ACCOUNT}/password"),
        &body,
    );
    assert_eq!(foreign.status, 403);
    town.locks.busy.store(true, Relaxed);
    let busy = change(&mut ada, &fields("pass-1", good));
    assert_eq!(
        (busy.status, header(&busy, "Retry-After")),
        (503, Some("5"))
    );
    town.locks.busy.store(false, Relaxed);
    Browser::of(&town, ADA);
}

/// B72. A browser with a session, and without the password, guesses no faster than at the sign-in.
#[test]
fn guesses_at_the_current_password_back_off() {
    let town = Town::new();
    let mut thief = Browser::of(&town, ADA);
    let guess = |thief: &mut Browser<'_>| change(thief, &fields("guess", "correct horse")).status;
    let statuses: Vec<u16> = (0..7).map(|_| guess(&mut thief)).collect();
    assert_eq!(statuses, [400, 400, 400, 400, 400, 429, 429]);
    let mut ada = Browser::of(&town, ADA);
    let reply = change(&mut ada, &fields("pass-1", "correct horse"));
    assert!(
        leads(&reply).starts_with(ACCOUNT),
        "the owner is not held up"
    );
}

/// B74. Each session is shown with its address and last use, and ends by itself or with all others.
#[test]
fn sessions_are_listed_and_ended() {
    let town = Town::new();
    let mut here = Browser::of(&town, ADA);
    let mut others: Vec<Browser<'_>> = (2..5)
        .map(|n| {
            town.pass(60);
            let mut other = Browser::new(&town);
            other.from = [n, n, n, n].into();
            other.sign_in(ADA, "pass-1");
            other
        })
        .collect();
    let mut bob = Browser::of(&town, BOB);
    let page = text(&here.get(ACCOUNT));
    assert!(page.contains("This browser"), "{page}");
    for address in ["2.2.2.2", "3.3.3.3", "4.4.4.4"] {
        assert!(page.contains(address), "{address}: {page}");
    }
    let own = block_on(town.store.sessions(ADA)).unwrap();
    assert_eq!(own.len(), 4);
    let guard = hidden(&page, "csrf");
    let guarded = form(&[("csrf", &*guard)]);
    let end = |id: &str| format!("{ACCOUNT}/sessions/{id}/end");
    let second = own.get(1).unwrap();
    let theirs = block_on(town.store.sessions(BOB)).unwrap();
    here.post(&end(&theirs.first().unwrap().id()), &guarded);
    assert_eq!(bob.get(ACCOUNT).status, 200, "somebody else's is not ended");
    assert_eq!(here.post(&end(&second.id()), "csrf=x").status, 403);
    assert_eq!(others[0].get(ACCOUNT).status, 200);
    let reply = here.post(&end(&second.id()), &guarded);
    let page = text(&here.get(leads(&reply)));
    assert!(
        page.contains("Signed out there") && !page.contains("2.2.2.2"),
        "{page}"
    );
    assert!(leads(&others[0].get(ACCOUNT)).starts_with("/-/sign_in"));
    assert_eq!(others[1].get(ACCOUNT).status, 200);
    here.post(&format!("{ACCOUNT}/sessions/end"), &guarded);
    for other in &mut others {
        assert!(leads(&other.get(ACCOUNT)).starts_with("/-/sign_in"));
    }
    let page = text(&here.get(ACCOUNT));
    assert!(!page.contains("Sign out everywhere else"), "{page}");
}

/// B74. A use is noted every few minutes, so that pages are no writes.
#[test]
fn the_last_use_is_noted_now_and_then() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let digest = SecretDigest::of(ada.cookie());
    let used = || block_on(town.store.session(&digest)).unwrap().unwrap().0;
    let begun = used();
    town.store.calls();
    for (seconds, noted) in [
        (200, false),
        (99, false),
        (1, true),
        (299, false),
        (1, true),
    ] {
        town.pass(seconds);
        ada.from = [7, 7, 7, 7].into();
        ada.get(ACCOUNT);
        let calls = town.store.calls();
        assert_eq!(calls.contains(&"touch_session"), noted, "{calls:?}");
    }
    let last = used();
    assert_eq!(last.created_at, begun.created_at);
    assert_eq!(last.last_used_at, town.now());
    assert_eq!(last.address, Some([7, 7, 7, 7].into()));
}

/// B71. An account that was switched off and on again: the cookie from before leads to signing in, and
/// apps ask anew.
#[test]
fn what_was_switched_off_does_not_come_back() {
    let town = Town::new();
    let mut ada = Browser::of(&town, ADA);
    let code = ada.allow("tasks:read");
    let tokens: String = text(&town.redeem(&code));
    let access = tokens.split("\"access_token\":\"").nth(1).unwrap();
    let access = access.split('"').next().unwrap();
    let waiting = ada.allow("tasks:read");
    for disabled in [true, false] {
        block_on(town.store.set_disabled(ADA, disabled, town.now())).unwrap();
        assert!(leads(&ada.get(ACCOUNT)).starts_with("/-/sign_in"));
        let reply = town.call([9, 9, 9, 9], "/-/token_info", &[("token", access)]);
        assert_eq!(text(&reply), "{\"active\":false}");
    }
    assert_eq!(town.redeem(&waiting).status, 400);
    let mut ada = Browser::of(&town, ADA);
    let page = text(&ada.get(&authorize("tasks:read")));
    assert!(page.contains("asks for access"), "{page}");
}
