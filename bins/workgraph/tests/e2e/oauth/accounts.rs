//! Accounts: the access that a new password ends, and the access that a switched-off account loses for good.
use super::{App, Browser, FORM, demo, form, hidden, works};
use crate::common::{Folder, Server, admin, binary, command, nodes};
use std::io::Write;
use std::process::Stdio;

const ACCOUNT: &str = "/-/console/account";

/// Runs an admin command that reads a password from its standard input.
fn admin_with(folder: &Folder, arguments: &[&str], line: &str) -> serde_json::Value {
    let mut child = command(&binary())
        .args(["admin", "--json"])
        .args(arguments)
        .arg("--data")
        .arg(folder.data())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(line.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Signs in with an address and password. Returns true if that worked.
fn sign_in(server: &Server, email: &str, password: &str) -> bool {
    let mut browser = Browser::new(server);
    let page = browser.get("/-/sign_in");
    let typed = [("email", email), ("password", password)];
    browser.submit("/-/sign_in", &page, &typed).status == 303
}

fn is_in(browser: &mut Browser<'_>) -> bool {
    browser.get(ACCOUNT).status == 200
}

/// B71. B74. An operator gives a password, to users without one as well; all sessions end, and tokens if
/// that is asked for.
#[test]
fn an_operator_gives_a_password_and_ends_sessions() {
    let (folder, server) = demo("oauth-password");
    let email = server.demo("/users/0/email");
    let (mut one, mut two) = (
        Browser::signed_in(&server, 0),
        Browser::signed_in(&server, 0),
    );
    let all = admin(&folder, &["user", "sessions", "list", &email]);
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 2);
    for session in all {
        assert_eq!(session["address"], "127.0.0.1");
        assert!(session["last_used_at"].is_string(), "{session}");
    }
    let id = all[0]["id"].as_str().unwrap();
    let ended = admin(&folder, &["user", "sessions", "end", &email, id]);
    assert_eq!(ended["ended"], 1);
    assert_eq!((is_in(&mut one), is_in(&mut two)), (false, true));
    let ended = admin(&folder, &["user", "sessions", "end", &email]);
    assert_eq!((ended["ended"].as_u64(), is_in(&mut two)), (Some(1), false));

    let mut ann = Browser::signed_in(&server, 0);
    let app = App::of(&server, 0);
    let [access, _] = app.tokens(&mut ann, &[]);
    let command = ["user", "password", &email, "--password-stdin"];
    let shown = admin_with(&folder, &command, "correct horse\r\n");
    assert!(shown.get("password").is_none(), "{shown}");
    assert!(!is_in(&mut ann));
    assert!(
        works(&server, &access),
        "tokens go on unless they are revoked"
    );
    assert!(!sign_in(&server, &email, &server.demo("/users/0/password")));
    assert!(sign_in(&server, &email, "correct horse"));
    let made_up = admin(&folder, &["user", "password", &email, "--revoke-tokens"]);
    assert!(made_up["revoked"].as_u64().unwrap() >= 2, "{made_up}");
    assert!(!works(&server, &access) && !works(&server, server.token()));
    assert!(sign_in(
        &server,
        &email,
        made_up["password"].as_str().unwrap()
    ));

    // A user who was only invited has no login until then.
    let workspace = server.workspace("paid");
    let guest = serde_json::json!({"data": {"user": "guest@example.com"}});
    let token = admin(&folder, &["token", "create", "--user", &email]);
    let bytes = crate::common::request(
        "POST",
        &format!("/workspaces/{workspace}/addUser"),
        token["token"].as_str().unwrap(),
        Some(&guest),
    );
    assert_eq!(server.raw_connection().ask(&bytes).unwrap().status, 200);
    let command = ["user", "password", "guest@example.com", "--password-stdin"];
    admin_with(&folder, &command, "battery staple\n");
    assert!(sign_in(&server, "Guest@example.com", "battery staple"));
}

/// B71. The cookie and the tokens of an account that was switched off stay dead when it is on again.
#[test]
fn what_was_switched_off_stays_dead() {
    let (folder, server) = demo("oauth-off");
    let email = server.demo("/users/0/email");
    let mut ann = Browser::signed_in(&server, 0);
    let app = App::of(&server, 0);
    let [access, refresh] = app.tokens(&mut ann, &[]);
    let own = server.token().to_owned();
    assert!(works(&server, &access) && works(&server, &own));
    for word in ["disable", "enable"] {
        admin(&folder, &["user", word, &email]);
        assert!(!is_in(&mut ann), "{word}");
        assert!(!works(&server, &access) && !works(&server, &own), "{word}");
        assert_eq!(app.refresh(&server, &refresh, &[]).status, 400, "{word}");
    }
    let mut again = Browser::signed_in(&server, 0);
    let [access, _] = app.tokens(&mut again, &[]);
    assert!(works(&server, &access), "it begins anew");
}

/// B68. B74. In a demo a password stays in the file until it is changed.
#[test]
fn a_password_is_changed_on_its_page() {
    let (folder, server) = demo("oauth-own-password");
    let (mut here, mut there) = (
        Browser::signed_in(&server, 1),
        Browser::signed_in(&server, 1),
    );
    let old = server.demo("/users/1/password");
    let boot = || std::fs::read_to_string(folder.data().join("bootstrap.json")).unwrap();
    assert!(boot().contains(&old));
    let page = here.get(ACCOUNT).text();
    let csrf = hidden(&page)
        .into_iter()
        .find(|(name, _)| name == "csrf")
        .unwrap();
    let typed = [
        ("csrf", csrf.1.as_str()),
        ("current", &old),
        ("new", "correct horse"),
        ("again", "correct horse"),
    ];
    let origin = here.origin();
    let headers = [FORM, ("Origin", &origin)];
    let reply = here.ask(
        "POST",
        &format!("{ACCOUNT}/password"),
        &headers,
        &form(&typed),
    );
    assert_eq!(reply.status, 303, "{}", reply.text());
    assert_eq!((is_in(&mut here), is_in(&mut there)), (true, false));
    let email = server.demo("/users/1/email");
    assert!(sign_in(&server, &email, "correct horse"));
    // The file of the first node does not hear of a change that another one made.
    if nodes() == 1 {
        assert!(!boot().contains(&old), "it is nobody's password now");
    }
    assert!(boot().contains(&server.demo("/users/0/password")));
}
