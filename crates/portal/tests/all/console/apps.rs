//! Apps and connections.
use super::harness::{ADA, BOB, Desk, html, leads, now};
use workgraph_api::SCOPES;
use workgraph_auth::authorization::browser_session::csrf;
use workgraph_auth::authorization::registered_app;
use workgraph_auth::conformance::block_on;
use workgraph_auth::{
    App, Authorization, ConsentRecord, LoopbackPolicy, OAuthStore, RegisteredScopes, SecretDigest,
};
use workgraph_portal::console::PURPOSE;

const APP: &str = "name=Planner&redirects=https://planner.example/cb&permissions=scopes&scope=tasks:read&scope=openid&workspace=7";

/// Returns the owner's only app.
fn only(desk: &Desk, owner: u64) -> App {
    let mut apps = block_on(desk.store.apps(Some(owner))).unwrap();
    assert_eq!(apps.len(), 1);
    apps.remove(0)
}

/// B60. S50. The client secret is shown once and kept as a digest; a reset kills the old one.
#[test]
fn an_app_is_registered_and_its_secret_reset() {
    let desk = Desk::new();
    let ada = desk.browser(ADA);
    let first = desk.secret(&ada, "/-/console/apps/new", APP);
    let app = only(&desk, ADA);
    assert!(registered_app::authenticate(Some(&app), &first).is_some());
    assert_eq!(
        app.scopes,
        RegisteredScopes::Only(SCOPES.parse("tasks:read openid").unwrap())
    );
    assert_eq!(
        (app.distribution.as_slice(), app.redirects.len()),
        ([7].as_slice(), 1)
    );
    assert!(html(&desk.get(&ada, "/-/console/apps"), 200).contains("Planner"));
    let page = html(&desk.get(&ada, &format!("/-/console/apps/{}", app.id)), 200);
    assert!(page.contains("https://planner.example/cb") && !page.contains(&first));

    let second = desk.secret(&ada, &format!("/-/console/apps/{}/secret", app.id), "");
    let app = only(&desk, ADA);
    assert_ne!(first, second);
    assert!(registered_app::authenticate(Some(&app), &first).is_none());
    assert!(registered_app::authenticate(Some(&app), &second).is_some());
}

/// A secret waits for the session that made it, not for another of the same user.
#[test]
fn another_session_does_not_see_a_new_secret() {
    let desk = Desk::new();
    let (ada, other) = (desk.browser(ADA), desk.browser(ADA));
    let shown = leads(&desk.post(&ada, "/-/console/apps/new", APP));
    html(&desk.get(&other, &shown), 410);
    assert!(html(&desk.get(&ada, &shown), 200).contains("wgk_"));
}

/// B22. B23. Values that cannot be registered come back with their field marked, and nothing is kept.
#[test]
fn wrong_fields_come_back_marked() {
    let desk = Desk::new();
    let ada = desk.browser(ADA);
    for (form, id) in [
        (
            "name=&redirects=https://a.example/&permissions=full&workspace=7",
            "name-wrong",
        ),
        (
            "name=a\u{202e}b&redirects=https://a.example/&permissions=full&workspace=7",
            "name-wrong",
        ),
        (
            "name=x&redirects=&permissions=full&workspace=7",
            "redirects-wrong",
        ),
        (
            "name=x&redirects=http://a.example/&permissions=full&workspace=7",
            "redirects-wrong",
        ),
        (
            "name=x&redirects=http://127.0.0.1/&permissions=full&workspace=7",
            "redirects-wrong",
        ),
        (
            "name=x&redirects=JavaScript:alert(1)&permissions=full&workspace=7",
            "redirects-wrong",
        ),
        (
            "name=x&redirects=data:text/html,x&permissions=full&workspace=7",
            "redirects-wrong",
        ),
        (
            "name=x&redirects=https://a@b.example/&permissions=full&workspace=7",
            "redirects-wrong",
        ),
        (
            "name=x&redirects=https://*.example/&permissions=full&workspace=7",
            "redirects-wrong",
        ),
        (
            "name=x&redirects=https://a.example/#x&permissions=full&workspace=7",
            "redirects-wrong",
        ),
        (
            "name=x&redirects=https://a.example/&permissions=scopes&workspace=7",
            "scopes-wrong",
        ),
        (
            "name=x&redirects=https://a.example/&permissions=scopes&scope=tasks:all&workspace=7",
            "scopes-wrong",
        ),
        (
            "name=x&redirects=https://a.example/&permissions=scopes&scope=default&workspace=7",
            "scopes-wrong",
        ),
        (
            "name=x&redirects=https://a.example/&workspace=7",
            "scopes-wrong",
        ),
        (
            "name=x&redirects=https://a.example/&permissions=full",
            "distribution-wrong",
        ),
        (
            "name=x&redirects=https://a.example/&permissions=full&workspace=9",
            "distribution-wrong",
        ),
    ] {
        let page = html(&desk.post(&ada, "/-/console/apps/new", form), 400);
        assert!(page.contains(&format!("id=\"{id}\"")), "{form}: {page}");
        assert!(page.contains(r#"role="alert""#), "{form}");
    }
    assert!(block_on(desk.store.apps(None)).unwrap().is_empty());
}

#[test]
fn loopback_urls_are_let_in_where_the_setting_says_so() {
    let mut desk = Desk::new();
    desk.loopback = LoopbackPolicy::Allowed;
    let ada = desk.browser(ADA);
    desk.secret(&ada, "/-/console/apps/new", "name=x&redirects=http://127.0.0.1:8099/callback\nurn:ietf:wg:oauth:2.0:oob&permissions=full&workspace=7&workspace=8");
    let app = only(&desk, ADA);
    assert_eq!(
        (app.redirects.len(), app.scopes),
        (2, RegisteredScopes::Full)
    );
    // A registered URL stays when the setting no longer allows it.
    desk.loopback = LoopbackPolicy::Refused;
    let path = format!("/-/console/apps/{}", app.id);
    let form = "name=y&redirects=http://127.0.0.1:8099/callback&permissions=full&workspace=7";
    assert_eq!(
        leads(&desk.post(&ada, &path, form)),
        format!("{path}?done=saved")
    );
    assert_eq!(only(&desk, ADA).name, "y");
}

/// B18. S48. Settings, the switch: each is kept, and said on the page after.
#[test]
fn an_app_is_changed_and_switched() {
    let desk = Desk::new();
    let ada = desk.browser(ADA);
    desk.secret(&ada, "/-/console/apps/new", APP);
    let before = only(&desk, ADA);
    let path = format!("/-/console/apps/{}", before.id);
    let form = "name=Plans&redirects=https://planner.example/two&permissions=scopes&scope=tasks:read&workspace=8";
    let to = leads(&desk.post(&ada, &path, form));
    assert!(html(&desk.get(&ada, &to), 200).contains("Your changes are saved."));
    let after = only(&desk, ADA);
    assert_eq!(
        (after.name.as_str(), after.distribution.as_slice()),
        ("Plans", [8].as_slice())
    );
    assert_eq!(
        (after.secret, after.created_at),
        (before.secret, before.created_at)
    );
    let to = leads(&desk.post(&ada, &format!("{path}/state"), "state=off"));
    assert!(html(&desk.get(&ada, &to), 200).contains("Switched off"));
    assert_eq!(only(&desk, ADA).disabled_at, Some(now()));
    leads(&desk.post(&ada, &format!("{path}/state"), "state=on"));
    assert_eq!(only(&desk, ADA).disabled_at, None);
    html(
        &desk.post(&ada, &format!("{path}/state"), "state=half"),
        404,
    );
}

#[test]
fn an_app_is_its_owners_alone() {
    let desk = Desk::new();
    let (ada, bob) = (desk.browser(ADA), desk.browser(BOB));
    let secret = desk.secret(&ada, "/-/console/apps/new", APP);
    let path = format!("/-/console/apps/{}", only(&desk, ADA).id);
    assert!(!html(&desk.get(&bob, "/-/console/apps"), 200).contains("Planner"));
    html(&desk.get(&bob, &path), 404);
    html(&desk.post(&bob, &path, APP), 404);
    html(&desk.post(&bob, &format!("{path}/secret"), ""), 404);
    html(&desk.post(&bob, &format!("{path}/state"), "state=off"), 404);
    let app = only(&desk, ADA);
    assert!(registered_app::authenticate(Some(&app), &secret).is_some());
    for odd in [
        "/-/console/apps/0x1",
        "/-/console/apps/+101",
        "/-/console/apps/",
        "/-/console/apps/1/2/3",
        "/-/console/apps//",
    ] {
        html(&desk.get(&ada, odd), 404);
    }
}

/// B20. No form does anything without the text that guards it, nor with another session's.
#[test]
fn forms_are_guarded() {
    let desk = Desk::new();
    let (ada, bob) = (desk.browser(ADA), desk.browser(BOB));
    desk.secret(&ada, "/-/console/apps/new", APP);
    let app = only(&desk, ADA);
    let paths = [
        "/-/console/apps/new".to_owned(),
        format!("/-/console/apps/{}", app.id),
        format!("/-/console/apps/{}/secret", app.id),
        format!("/-/console/apps/{}/state", app.id),
        "/-/console/tokens".to_owned(),
        "/-/console/tokens/1/revoke".to_owned(),
        "/-/console/service_accounts".to_owned(),
        "/-/console/service_accounts/7/1/tokens".to_owned(),
        "/-/console/service_accounts/7/1/1/revoke".to_owned(),
        "/-/connected_apps/1/revoke".to_owned(),
        format!("/-/console/workspace_apps/7/{}", app.id),
    ];
    for path in &paths {
        for guard in [
            String::new(),
            csrf(&bob.secret, PURPOSE),
            csrf(&ada.secret, "other"),
            "x".to_owned(),
        ] {
            let form = vec![
                ("csrf".to_owned(), guard),
                ("state".to_owned(), "off".to_owned()),
            ];
            let page = html(&desk.post_bare(&ada, path, &form), 403);
            assert!(page.contains("no longer valid"), "{path}");
        }
    }
    assert_eq!(only(&desk, ADA), app);
}

/// The text above a page is never the address's.
#[test]
fn the_notice_is_one_of_ours() {
    let desk = Desk::new();
    let ada = desk.browser(ADA);
    assert!(
        html(&desk.get(&ada, "/-/console/tokens?done=revoked"), 200)
            .contains("The token is revoked.")
    );
    let page = html(&desk.get(&ada, "/-/console/tokens?done=<b>you won"), 200);
    assert!(!page.contains("you won") && !page.contains(r#"role="status""#));
}

/// B17. The page of connected apps shows the scopes of an authorization that are still in force, and ends it.
#[test]
fn an_app_is_disconnected_by_its_user() {
    let desk = Desk::new();
    let (ada, bob) = (desk.browser(ADA), desk.browser(BOB));
    desk.secret(
        &ada,
        "/-/console/apps/new",
        &APP.replace("workspace=7", "workspace=8"),
    );
    let app = only(&desk, ADA);
    let authorization = Authorization {
        id: 900,
        user: BOB,
        app: app.id,
        scopes: SCOPES.parse("tasks:read users:read").unwrap(),
        created_at: now(),
        revoked_at: None,
    };
    let yes = ConsentRecord {
        ticket: SecretDigest::of("t"),
        time: now(),
        authorization,
        code: None,
    };
    block_on(desk.store.keep_consent(yes)).unwrap();
    let page = html(&desk.get(&bob, "/-/connected_apps"), 200);
    assert!(
        page.contains("Planner") && page.contains("planner.example") && page.contains("See tasks")
    );
    assert!(!page.contains("See the people"), "not registered");
    assert!(!html(&desk.get(&ada, "/-/connected_apps"), 200).contains("planner.example"));
    // The form of another user changes nothing.
    leads(&desk.post(&ada, "/-/connected_apps/900/revoke", ""));
    assert!(
        block_on(desk.store.authorization(BOB, app.id))
            .unwrap()
            .is_some()
    );
    let to = leads(&desk.post(&bob, "/-/connected_apps/900/revoke", ""));
    assert!(html(&desk.get(&bob, &to), 200).contains("disconnected"));
    assert!(
        block_on(desk.store.authorization(BOB, app.id))
            .unwrap()
            .is_none()
    );
}

/// B18. Users who administer a workspace switch an app off there, and no other user does.
#[test]
fn admins_switch_apps_off_in_their_workspaces() {
    let desk = Desk::new();
    let (ada, bob) = (desk.browser(ADA), desk.browser(BOB));
    // Bob's app, for his workspace; then for Ada's too, as if he had been a member.
    desk.secret(
        &bob,
        "/-/console/apps/new",
        &APP.replace("workspace=7", "workspace=8"),
    );
    let before = only(&desk, BOB);
    let path = format!("/-/console/workspace_apps/7/{}", before.id);
    html(&desk.post(&ada, &path, "state=off"), 404);
    let shared = App {
        distribution: vec![7, 8],
        ..before.clone()
    };
    block_on(desk.store.put_app(shared, Some(&before))).unwrap();
    let page = html(&desk.get(&ada, "/-/console/workspace_apps"), 200);
    assert!(page.contains("Planner") && page.contains("Acme") && !page.contains("Example Ltd"));
    let to = leads(&desk.post(&ada, &path, "state=off"));
    assert!(html(&desk.get(&ada, &to), 200).contains("Switched off"));
    let app = only(&desk, BOB);
    assert!(!app.works_in(7) && app.works_in(8));
    leads(&desk.post(&ada, &path, "state=off"));
    assert_eq!(only(&desk, BOB).disabled_in, [7]);
    // Its owner sees it, and cannot undo it.
    let page = html(&desk.get(&bob, &format!("/-/console/apps/{}", app.id)), 200);
    assert!(page.contains("switched this app off"));
    html(&desk.post(&bob, &path, "state=on"), 404);
    html(&desk.get(&bob, "/-/console/workspace_apps"), 404);
    html(
        &desk.post(&ada, &path.replace("/7/", "/8/"), "state=off"),
        404,
    );
    html(&desk.post(&ada, &path, "state=half"), 404);
    leads(&desk.post(&ada, &path, "state=on"));
    assert!(only(&desk, BOB).works_in(7));
}

/// S117. An invitation is answered by the person it is for, once, with a form of their session.
#[test]
fn an_invitation_is_answered_by_whom_it_is_for() {
    let desk = Desk::new();
    let (ada, bob) = (desk.browser(ADA), desk.browser(BOB));
    let waiting = [
        (BOB, 31, "Orchard".to_owned()),
        (BOB, 32, "Quarry".to_owned()),
    ];
    desk.invitations.lock().unwrap().extend(waiting);
    let page = html(&desk.get(&bob, "/-/connected_apps"), 200);
    assert!(page.contains("Orchard") && page.contains("/invitations/31/accept"));
    assert!(!html(&desk.get(&ada, "/-/connected_apps"), 200).contains("Orchard"));
    let at = |id: u64, answer: &str| format!("/-/connected_apps/invitations/{id}/{answer}");
    html(&desk.post(&ada, &at(31, "accept"), ""), 404);
    html(&desk.post(&bob, &at(31, "ignore"), ""), 404);
    html(
        &desk.post(&bob, "/-/connected_apps/invitations/x/accept", ""),
        404,
    );
    assert!(desk.answers.lock().unwrap().is_empty());
    let to = leads(&desk.post(&bob, &at(31, "accept"), ""));
    assert!(html(&desk.get(&bob, &to), 200).contains("You belong to the workspace now"));
    let to = leads(&desk.post(&bob, &at(32, "decline"), ""));
    assert!(html(&desk.get(&bob, &to), 200).contains("You declined the invitation"));
    html(&desk.post(&bob, &at(32, "accept"), ""), 404);
    let answers = desk.answers.lock().unwrap().clone();
    assert_eq!(answers, [(BOB, 31, true), (BOB, 32, false)]);
}
