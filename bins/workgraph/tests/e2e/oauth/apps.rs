//! Apps that are switched off, narrowed, taken back: each counts from the next request.
use super::{
    AUTHORIZE, App, Browser, FORM, admin_app, demo, error, form, hidden, post, query, status, text,
    works,
};
use crate::common::{admin, request};
use serde_json::json;

/// B18. S67.
#[test]
fn an_app_works_where_it_is_distributed_and_not_disabled() {
    let (folder, server) = demo("oauth-places");
    let app = App::of(&server, 0);
    let mut browser = Browser::signed_in(&server, 0);
    let [access, refresh] = app.tokens(&mut browser, &[]);
    let (acme, side) = (server.workspace("paid"), server.workspace("free"));
    // Ann is in both workspaces, the app for now in one.
    let email = server.demo("/users/0/email");
    let fay = server.demo("/free_token");
    let added = json!({"data": {"user": email}});
    let bytes = request(
        "POST",
        &format!("/workspaces/{side}/addUser"),
        &fay,
        Some(&added),
    );
    assert_eq!(server.raw_connection().ask(&bytes).unwrap().status, 200);
    let at = |workspace: &str| status(&server, &access, &format!("/workspaces/{workspace}"));
    assert_eq!(at(&side), 403, "she was not asked yet");
    let page = browser.get("/-/connected_apps");
    let text_of_page = page.text();
    let accept = text_of_page
        .split('"')
        .find(|part| part.ends_with("/accept"))
        .expect("the invitation is shown");
    let done = browser.submit(accept, &page, &[]);
    assert_eq!(done.status, 303);
    assert_eq!((at(&acme), at(&side)), (200, 200));
    admin_app(
        &folder,
        &["distribute", &app.id, "--workspace", &side, "--remove"],
    );
    assert_eq!((at(&acme), at(&side)), (200, 401));
    let bytes = request("GET", "/workspaces", &access, None);
    let all = server.raw_connection().ask(&bytes).unwrap().json();
    let gids: Vec<_> = all["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| text(w, "gid"))
        .collect();
    assert_eq!(gids, [acme.as_str()], "what is out of reach is not listed");
    let mine = request("GET", &format!("/workspaces/{side}"), server.token(), None);
    assert_eq!(
        server.raw_connection().ask(&mine).unwrap().status,
        200,
        "her own token is no app's"
    );

    admin_app(&folder, &["disable", &app.id, "--workspace", &acme]);
    assert_eq!(at(&acme), 401);
    let bytes = request("GET", &format!("/workspaces/{acme}"), &access, None);
    let reply = server.raw_connection().ask(&bytes).unwrap();
    assert_eq!(
        reply.message(),
        "Not Authorized: the app is disabled in this workspace"
    );
    // A user who is in no workspace of the app's cannot authorize it any more.
    let page = browser.get(&app.asks(&[]));
    assert_eq!(query(&page)["error"], "access_denied");
    admin_app(
        &folder,
        &["disable", &app.id, "--workspace", &acme, "--undo"],
    );
    assert_eq!(at(&acme), 200);

    admin_app(&folder, &["disable", &app.id]);
    assert!(!works(&server, &access));
    let reply = app.refresh(&server, &refresh, &[]);
    assert_eq!(
        (reply.status, error(&reply).as_str()),
        (401, "invalid_client")
    );
    assert_eq!(browser.get(&app.asks(&[])).status, 400, "plain text");
    admin_app(&folder, &["disable", &app.id, "--undo"]);
    assert!(works(&server, &access));

    admin(&folder, &["user", "disable", &email]);
    assert!(!works(&server, &access));
    assert_eq!(browser.get(&app.asks(&[])).status, 200);
    assert!(browser.get(&app.asks(&[])).text().contains("Sign in"));
}

/// B17. B60. S57.
#[test]
fn a_later_authorization_replaces_scopes_and_a_reset_secret_is_dead() {
    let (folder, server) = demo("oauth-later");
    let app = App::of(&server, 1);
    let mut browser = Browser::signed_in(&server, 0);
    let [access, refresh] = app.tokens(&mut browser, &[("scope", "tasks:read users:read")]);
    assert!(works(&server, &access));
    let page = browser
        .get(&app.asks(&[("scope", "tasks:read openid")]))
        .text();
    assert!(page.contains("It will no longer be able to"), "{page}");
    app.tokens(&mut browser, &[("scope", "tasks:read openid")]);
    assert_eq!(
        status(&server, &access, "/users/me"),
        403,
        "narrowed at once"
    );
    let reply = app.refresh(&server, &refresh, &[]);
    let bought = text(&reply.json(), "access_token");
    let info = post(&server, "/-/token_info", &[("token", &bought)]).json();
    assert_eq!(text(&info, "scope"), "tasks:read");

    let connected = browser.get("/-/connected_apps").text();
    let at = connected.find("/-/connected_apps/").unwrap();
    let path: String = connected[at..].chars().take_while(|c| *c != '"').collect();
    let page = browser.get("/-/connected_apps");
    let csrf = hidden(&page.text())
        .into_iter()
        .find(|(n, _)| n == "csrf")
        .unwrap()
        .1;
    let gone = browser.ask("POST", &path, &[FORM], &form(&[("csrf", &csrf)]));
    assert_eq!(gone.status, 303, "{}", gone.text());
    assert_eq!(status(&server, &access, "/tasks"), 401);
    assert_eq!(error(&app.refresh(&server, &refresh, &[])), "invalid_grant");

    let code = browser.allow(&app, &[("scope", "openid")]);
    let new = admin_app(&folder, &["reset-secret", &app.id]);
    assert_eq!(error(&app.redeem(&server, &code, &[])), "invalid_client");
    let fresh = App {
        secret: text(&new, "client_secret"),
        ..app
    };
    let reply = fresh.redeem(&server, &code, &[]);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(text(&reply.json(), "id_token").split('.').count() == 3);
    let listed = admin_app(&folder, &["list"]);
    assert!(!listed.to_string().contains("secret"), "{listed}");
}

/// B20, B25, B62.
#[test]
fn signing_in_makes_a_new_session_and_signing_out_ends_it() {
    let (_folder, server) = demo("oauth-session");
    let mut browser = Browser::new(&server);
    browser
        .cookies
        .insert("workgraph".to_owned(), "wgb_planted".to_owned());
    let page = browser.get("/-/console/apps");
    assert_eq!(
        page.header("location"),
        Some("/-/sign_in?next=%2F-%2Fconsole%2Fapps")
    );
    let page = browser.get("/-/sign_in?next=%2F-%2Fconsole%2Fapps");
    let guard = browser.cookies["workgraph-form"].clone();
    let reply = browser.sign_in(0, &page);
    assert_eq!(
        (reply.status, reply.header("location")),
        (303, Some("/-/console/apps"))
    );
    let cookie = reply.header("set-cookie").unwrap();
    assert!(
        cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Max-Age=1209600"),
        "{cookie}"
    );
    assert_ne!(browser.cookies["workgraph"], "wgb_planted");
    assert!(
        !browser.cookies.contains_key("workgraph-form"),
        "its day is over"
    );
    let apps = browser.get("/-/console/apps");
    assert_eq!(apps.status, 200);
    for (name, value) in [
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(apps.header(name), Some(value), "{name}");
    }
    assert!(
        apps.header("content-security-policy")
            .unwrap()
            .contains("frame-ancestors 'none'")
    );
    // The form of another browser is not this one's.
    browser
        .cookies
        .insert("workgraph-form".to_owned(), format!("{guard}x"));
    assert_eq!(browser.sign_in(0, &page).status, 403);
    let old = browser.cookies["workgraph"].clone();
    let forged = browser.ask("POST", "/-/sign_out", &[FORM], "csrf=AAAA");
    assert_eq!(forged.status, 403);
    let left = browser.submit("/-/sign_out", &apps, &[]);
    assert_eq!(left.status, 303);
    browser.cookies.insert("workgraph".to_owned(), old);
    assert_eq!(
        browser.get("/-/console/apps").status,
        303,
        "the session is over, not just its cookie"
    );
}

/// B61, B64.
#[test]
fn wrong_passwords_wait_longer_each_time() {
    let (_folder, server) = demo("oauth-strikes");
    let mut browser = Browser::new(&server);
    let page = browser.get("/-/sign_in");
    let mut attempt = |email: &str, password: &str| {
        browser.submit(
            "/-/sign_in",
            &page,
            &[("email", email), ("password", password)],
        )
    };
    for _ in 0..5 {
        assert_eq!(attempt("ann@example.com", "wrong password").status, 400);
    }
    let late = attempt("ANN@example.com", &server.demo("/users/0/password"));
    assert_eq!(late.status, 429, "{}", late.text());
    assert!(late.header("retry-after").is_some());
    let (known, unknown) = (
        attempt("ben@example.com", "wrong"),
        attempt("nobody@example.com", "wrong"),
    );
    assert_eq!((known.status, unknown.status), (400, 400));
    let but = |reply: &crate::common::Reply, email: &str| reply.text().replace(email, "");
    assert_eq!(
        but(&known, "ben@example.com"),
        but(&unknown, "nobody@example.com")
    );
    let right = attempt("ben@example.com", &server.demo("/users/1/password"));
    assert_eq!(right.status, 303, "others are not held up");
}

/// `prompt=login` and `max_age` ask for a fresh sign-in, and `prompt=none` shows no page.
#[test]
fn prompts_are_heeded() {
    let (_folder, server) = demo("oauth-prompt");
    let app = App::of(&server, 0);
    let mut browser = Browser::new(&server);
    let page = browser.get(&app.asks(&[("prompt", "none")]));
    let none = browser.submit(AUTHORIZE, &page, &[("decision", "continue")]);
    assert_eq!(query(&none)["error"], "login_required");
    let page = browser.get(&app.asks(&[]));
    assert!(page.text().contains("Demo app"), "{}", page.text());
    let reply = browser.sign_in(0, &page);
    let back = reply.header("location").unwrap().to_owned();
    assert!(back.starts_with(AUTHORIZE), "{back}");
    let consent = browser.get(&back);
    let none = browser.get(&app.asks(&[("prompt", "none")]));
    assert_eq!(query(&none)["error"], "consent_required");
    let answer = browser.submit(AUTHORIZE, &consent, &[("decision", "allow")]);
    assert!(query(&answer).contains_key("code"));
    let silent = browser.get(&app.asks(&[("prompt", "none")]));
    assert!(
        query(&silent).contains_key("code"),
        "{:?}",
        silent.header("location")
    );
    let page = browser.get(&app.asks(&[("prompt", "login")]));
    assert!(page.text().contains("Sign in"));
    let reply = browser.sign_in(0, &page);
    let back = reply.header("location").unwrap().to_owned();
    assert!(browser.get(&back).text().contains("asks for access"));
    let (start, _) = back.rsplit_once("&signed_in=").unwrap();
    let again = browser.get(&format!("{start}&signed_in=AAAA"));
    assert!(
        again.text().contains("Sign in"),
        "a proof cannot be made up"
    );
}
