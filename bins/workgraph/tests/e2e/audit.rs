//! The audit log of a real server: the actions of pages and commands are in it, it is signed, and checked.
use crate::common::{Folder, Server, WIDE, admin, is_about_one_node, pause, request, run};
use crate::oauth::{App, Browser};
use crate::sdk::{passed, python};
use serde_json::Value;
use std::collections::BTreeSet;

/// Makes a service account of the paid workspace. Returns its token.
fn service(folder: &Folder, server: &Server) -> String {
    let workspace = server.workspace("paid");
    let make = [
        "service-account",
        "create",
        "--workspace",
        &workspace,
        "--name",
        "SIEM",
    ];
    admin(folder, &make)["token"].as_str().unwrap().to_owned()
}

/// Returns the rows of a type.
fn rows(server: &Server, token: &str, kind: &str) -> Vec<Value> {
    let workspace = server.workspace("paid");
    let path = format!("/workspaces/{workspace}/audit_log_events?event_type={kind}");
    let reply = server
        .raw_connection()
        .ask(&request("GET", &path, token, None));
    let reply = reply.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["data"].as_array().unwrap().clone()
}

#[test]
fn the_python_sdk_follows_the_audit_log() {
    let Some((clients, mut script)) = python("clients/python/audit.py") else {
        return;
    };
    let folder = Folder::new("python-audit");
    let server = Server::start(&folder, WIDE);
    script
        .env("BASE_URL", server.demo("/base_url"))
        .env("TOKEN", server.token())
        .env("SERVICE", service(&folder, &server))
        .env("WORKSPACE", server.workspace("paid"))
        .env("CLIENTS", &clients)
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    passed(script, &folder);
}

#[test]
fn what_pages_and_commands_do_is_told() {
    let folder = Folder::new("audit-acts");
    let server = Server::start(&folder, WIDE);
    let token = service(&folder, &server);
    let mut browser = Browser::new(&server);
    let page = browser.get("/-/sign_in");
    let email = server.demo("/users/0/email");
    browser.submit(
        "/-/sign_in",
        &page,
        &[("email", &email), ("password", "guessed wrong")],
    );
    let page = browser.get("/-/sign_in");
    browser.sign_in(0, &page);
    browser.allow(&App::of(&server, 0), &[]);
    let page = browser.get("/-/console/tokens");
    let typed = [
        ("description", "for a script"),
        ("days", "30"),
        ("permissions", "full"),
    ];
    let made = browser.submit("/-/console/tokens", &page, &typed);
    assert_eq!(made.status, 303, "{}", made.text());
    let page = browser.get("/-/sign_out");
    browser.submit("/-/sign_out", &page, &[]);
    for (kind, actor) in [
        ("user_login_failed", "anonymous"),
        ("user_login_succeeded", "user"),
        ("user_app_authorized", "user"),
        ("user_personal_access_token_authorized", "user"),
        ("user_logged_out", "user"),
    ] {
        let all = rows(&server, &token, kind);
        let row = all
            .iter()
            .find(|row| row["context"]["context_type"] == "web")
            .unwrap_or_else(|| panic!("{kind}: {all:?}"));
        assert_eq!(row["actor"]["actor_type"], actor, "{row}");
        assert_eq!(row["resource"]["email"], email.as_str(), "{row}");
        assert_eq!(row["context"]["client_ip_address"], "127.0.0.1", "{row}");
    }
    let workspace = server.workspace("paid");
    let app = server.demo("/apps/0/client_id");
    admin(
        &folder,
        &["app", "disable", &app, "--workspace", &workspace],
    );
    admin(&folder, &["user", "disable", &email]);
    for kind in [
        "service_account_created",
        "workspace_app_admin_approval_setting_changed",
        "user_deprovisioned",
    ] {
        let all = rows(&server, &token, kind);
        let actors: BTreeSet<&str> = all
            .iter()
            .filter_map(|row| row["actor"]["actor_type"].as_str())
            .collect();
        assert_eq!(
            Vec::from_iter(actors),
            ["external_administrator"],
            "{all:?}"
        );
    }
}

/// B65. The log of a real server: signed while it runs and when it stops, checked beside it and after it.
#[test]
fn the_log_is_signed_and_whoever_edits_the_file_is_found_out() {
    if is_about_one_node("the file with the log is edited") {
        return;
    }
    let folder = Folder::new("audit-check");
    let mut server = Server::start(&folder, WIDE);
    // A new log is signed first and anchored next; between the two it looks as if its anchors were lost.
    let anchors = folder.data().join("audit-anchors");
    let is_anchored = (0..5_000).any(|_| {
        pause(1);
        anchors.metadata().is_ok_and(|file| file.len() > 0)
    });
    assert!(is_anchored, "the log was not anchored");
    let before = run(&folder, &["check", "--audit"]);
    assert!(before.status.success(), "{before:?}");
    service(&folder, &server);
    assert_eq!(server.stop(), Some(0));
    let report = |arguments: &[&str]| {
        let output = run(
            &folder,
            &[&["check", "--audit", "--json"], arguments].concat(),
        );
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.success(), json["sound"] == true, "{json}");
        json
    };
    let sound = report(&[]);
    assert_eq!(sound["sound"], true, "{sound}");
    assert!(sound["rows"].as_u64().unwrap() > 10, "{sound}");
    assert_eq!(sound["last_signed_row"], sound["last_row"], "{sound}");
    assert_eq!(sound["rows"], sound["last_row"], "{sound}");
    // The lines of the server's log are anchors, too.
    let lines: String = folder
        .log()
        .lines()
        .filter_map(|line| line.find("audit-checkpoint ").and_then(|at| line.get(at..)))
        .map(|line| line.split(['"', '}']).next().unwrap().to_owned() + "\n")
        .map(|line| line.split(" rows=").next().unwrap().trim_end().to_owned() + "\n")
        .collect();
    let logged = folder.path().join("anchors-of-the-log");
    std::fs::write(&logged, &lines).unwrap();
    let by_log = report(&["--anchor", logged.to_str().unwrap()]);
    assert_eq!(by_log["sound"], true, "{by_log}: {lines}");
    // Without anchors the check can't tell, and says so.
    let none = folder.path().join("none");
    let unknown = report(&["--anchor", none.to_str().unwrap()]);
    assert!(
        unknown["findings"][0]
            .as_str()
            .unwrap()
            .contains("no anchored checkpoints")
    );

    let file = folder.data().join("workgraph.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let name = b"\"name\":\"SIEM\"";
    let hits: Vec<usize> = (0..bytes.len() - name.len())
        .filter(|at| bytes[*at..].starts_with(name))
        .collect();
    for at in hits {
        bytes[at + 8] = b'C';
    }
    std::fs::write(&file, &bytes).unwrap();
    let edited = run(&folder, &["check", "--audit"]);
    let text = String::from_utf8_lossy(&edited.stdout).into_owned();
    assert_eq!(edited.status.code(), Some(1), "{text}");
    assert!(text.contains(" was changed: its digest"), "{text}");
    assert!(text.contains("was tampered with"), "{text}");
}
