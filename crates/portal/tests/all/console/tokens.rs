//! Personal access tokens and service accounts.
use super::harness::{ADA, BOB, Desk, html, leads, now};
use std::time::Duration;
use workgraph_api::SCOPES;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{ScopeSet, SecretDigest, TokenKind, TokenRefusal, TokenStore, check_token};

const TOKENS: &str = "/-/console/tokens";
const SERVICES: &str = "/-/console/service_accounts";

fn allowed(desk: &Desk, secret: &str) -> Result<ScopeSet, TokenRefusal> {
    let (record, account) = block_on(desk.store.find_token(&SecretDigest::of(secret)))
        .unwrap()
        .ok_or(TokenRefusal::Unknown)?;
    check_token(&record, &account, now()).map(|grant| grant.scopes)
}

/// B75.
#[test]
fn a_token_is_made_shown_once_and_revoked() {
    let desk = Desk::new();
    let ada = desk.browser(ADA);
    let all = desk.secret(&ada, TOKENS, "description=Export&days=0&permissions=full");
    let some = desk.secret(
        &ada,
        TOKENS,
        "description=Import&days=30&permissions=scopes&scope=tasks:read",
    );
    assert!(all.starts_with("wgp_"));
    assert!(allowed(&desk, &all).unwrap().is_full());
    assert_eq!(
        allowed(&desk, &some),
        Ok(SCOPES.parse("tasks:read").unwrap())
    );
    let records = block_on(desk.store.list(ADA)).unwrap();
    assert_eq!(
        records.iter().map(|r| r.expires_at).collect::<Vec<_>>(),
        [None, Some(now() + Duration::from_secs(30 * 86_400))]
    );
    block_on(
        desk.store
            .record_token_uses(&[(records.first().unwrap().id, now())]),
    )
    .unwrap();
    let page = html(&desk.get(&ada, TOKENS), 200);
    for words in [
        "Export",
        "Import",
        "does not expire",
        "21 Dec 2026",
        "last used never",
        r#"last used <time datetime="2026-11-21">"#,
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains(&all));
    let to = leads(&desk.post(
        &ada,
        &format!("{TOKENS}/{}/revoke", records.first().unwrap().id),
        "",
    ));
    assert!(html(&desk.get(&ada, &to), 200).contains("The token is revoked."));
    assert_eq!(allowed(&desk, &all), Err(TokenRefusal::Revoked));
    assert!(!html(&desk.get(&ada, TOKENS), 200).contains("Export"));
}

#[test]
fn a_token_is_its_owners_alone() {
    let desk = Desk::new();
    let (ada, bob) = (desk.browser(ADA), desk.browser(BOB));
    let secret = desk.secret(&ada, TOKENS, "description=Export&days=90&permissions=full");
    let id = block_on(desk.store.list(ADA)).unwrap().first().unwrap().id;
    html(&desk.post(&bob, &format!("{TOKENS}/{id}/revoke"), ""), 404);
    html(&desk.post(&ada, &format!("{TOKENS}/0{id}/revoke"), ""), 404);
    assert!(allowed(&desk, &secret).is_ok());
}

#[test]
fn wrong_fields_make_no_token() {
    let desk = Desk::new();
    let ada = desk.browser(ADA);
    for (form, id) in [
        ("description=&days=0&permissions=full", "description-wrong"),
        ("description=x&days=12&permissions=full", "days-wrong"),
        ("description=x&days=&permissions=full", "days-wrong"),
        ("description=x&days=30&permissions=scopes", "scopes-wrong"),
        ("description=x&days=30", "scopes-wrong"),
    ] {
        let page = html(&desk.post(&ada, TOKENS, form), 400);
        assert!(page.contains(&format!("id=\"{id}\"")), "{form}: {page}");
    }
    assert!(block_on(desk.store.list(ADA)).unwrap().is_empty());
}

#[test]
fn the_number_of_tokens_is_bounded() {
    let desk = Desk::new();
    let ada = desk.browser(ADA);
    for _ in 0..100 {
        leads(&desk.post(&ada, TOKENS, "description=x&days=30&permissions=full"));
    }
    let page = html(
        &desk.post(&ada, TOKENS, "description=x&days=30&permissions=full"),
        400,
    );
    assert!(page.contains("revoke one first"));
}

#[test]
fn admins_make_service_accounts_in_their_workspaces() {
    let desk = Desk::new();
    let (ada, bob) = (desk.browser(ADA), desk.browser(BOB));
    let first = desk.secret(&ada, SERVICES, "name=Nightly export&workspace=7");
    assert!(first.starts_with("wgs_") && allowed(&desk, &first).is_ok());
    let page = html(&desk.get(&ada, SERVICES), 200);
    assert!(
        page.contains("Nightly export") && page.contains("Acme") && !page.contains("Example Ltd")
    );
    let account = block_on(desk.store.find_token(&SecretDigest::of(&first)))
        .unwrap()
        .unwrap()
        .0;
    assert_eq!(
        (account.kind, account.workspace),
        (TokenKind::Service, Some(7))
    );
    let path = format!("{SERVICES}/7/{}", account.user);
    let second = desk.secret(&ada, &format!("{path}/tokens"), "");
    leads(&desk.post(&ada, &format!("{path}/{}/revoke", account.id), ""));
    assert_eq!(allowed(&desk, &first), Err(TokenRefusal::Revoked));
    assert!(allowed(&desk, &second).is_ok());

    // A user who administers no workspace gets 404.
    html(&desk.get(&bob, SERVICES), 404);
    assert!(!html(&desk.get(&bob, TOKENS), 200).contains("Service accounts"));
    html(&desk.post(&bob, SERVICES, "name=x&workspace=8"), 404);
    html(&desk.post(&bob, &format!("{path}/tokens"), ""), 404);
    html(
        &desk.post(&ada, &format!("{SERVICES}/8/{}/tokens", account.user), ""),
        404,
    );
    html(&desk.post(&ada, SERVICES, "name=x&workspace=8"), 400);
    html(&desk.post(&ada, SERVICES, "name=&workspace=7"), 400);
}

#[test]
fn a_service_account_that_is_switched_off_gets_no_token_and_the_page_says_so() {
    let desk = Desk::new();
    let ada = desk.browser(ADA);
    let first = desk.secret(&ada, SERVICES, "name=Nightly export&workspace=7");
    let found = block_on(desk.store.find_token(&SecretDigest::of(&first)));
    let account = found.unwrap().unwrap().0.user;
    block_on(desk.store.set_disabled(account, true, now())).unwrap();
    let page = html(
        &desk.post(&ada, &format!("{SERVICES}/7/{account}/tokens"), ""),
        400,
    );
    assert!(page.contains("Nightly export is switched off"), "{page}");
    assert_eq!(block_on(desk.store.list(account)).unwrap().len(), 1);
}
