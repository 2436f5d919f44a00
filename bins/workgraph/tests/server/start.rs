//! First and later starts, the admin commands beside a server and without one, backup and check.
use crate::common::{Folder, Server, json, run};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// S133. With every request in the log.
#[test]
fn the_demo_is_made_once_and_its_file_tells_what_is_in_it() {
    let folder = Folder::new("demo");
    let server = Server::demo(&folder, &["--set", "log.requests=true"]);
    let boot = folder.bootstrap();
    let named = [
        "base_url",
        "auth_url",
        "users",
        "workspaces",
        "teams",
        "personal_access_token",
        "rate_token",
        "free_token",
        "apps",
    ];
    assert_eq!(keys(&boot), named);
    assert_eq!(
        keys(&boot["users"][1]),
        ["gid", "name", "email", "password"]
    );
    assert_eq!(keys(&boot["workspaces"][0]), ["gid", "name", "plan"]);
    assert_eq!(keys(&boot["teams"][0]), ["gid", "name", "workspace"]);
    for file in [
        "bootstrap.json",
        "keys.json",
        "workgraph.db",
        "admin.sock",
        "lock",
    ] {
        let mode = std::fs::metadata(folder.0.join("data").join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let token = |name: &str| boot[name].as_str().unwrap().to_owned();
    let me = server
        .request("GET /api/1.0/users/me", &token("personal_access_token"), "")
        .1;
    assert_eq!(json(&me)["data"]["gid"], boot["users"][0]["gid"]);
    let places = |name: &str| {
        json(
            &server
                .request("GET /api/1.0/workspaces?opt_fields=name", &token(name), "")
                .1,
        )["data"]
            .clone()
    };
    assert_eq!(places("personal_access_token").as_array().unwrap().len(), 1);
    assert_eq!(places("free_token")[0]["gid"], boot["workspaces"][1]["gid"]);
    assert_eq!(places("rate_token")[0]["gid"], boot["workspaces"][0]["gid"]);
    let url = format!(
        "GET /api/1.0/users?team={}",
        boot["teams"][0]["gid"].as_str().unwrap()
    );
    let members = json(&server.request(&url, &token("personal_access_token"), "").1);
    assert!(
        members["data"]
            .as_array()
            .unwrap()
            .iter()
            .any(|u| u["gid"] == boot["users"][1]["gid"]),
        "{members}"
    );
    // A token in the query is in no log, taken or not.
    for (end, status) in [("", "HTTP/1.1 200"), ("x", "HTTP/1.1 401")] {
        let target = format!(
            "/api/1.0/users/me?access_token={}{end}",
            token("rate_token")
        );
        let head = "HTTP/1.1\r\nHost: x\r\nConnection: close";
        let reply = server.raw(format!("GET {target} {head}\r\n\r\n").as_bytes());
        assert!(reply.starts_with(status), "{reply}");
        assert!(reply.contains("private, no-store"), "{reply}");
    }
    let log = server.stop();
    assert!(log.contains("\"operation\":\"getUser\""), "{log}");
    for secret in [
        token("personal_access_token"),
        token("rate_token"),
        token("free_token"),
    ] {
        assert!(!log.contains(&secret), "a token is in the log");
    }
    // The second start keeps everything; only the addresses are new.
    let server = Server::demo(&folder, &["--quiet"]);
    let again = folder.bootstrap();
    assert_ne!(again["base_url"], boot["base_url"]);
    assert_eq!(
        (&again["users"], &again["personal_access_token"]),
        (&boot["users"], &boot["personal_access_token"])
    );
    assert_eq!(
        server
            .request("GET /api/1.0/users/me", &token("rate_token"), "")
            .0,
        200
    );
    assert!(!server.stop().contains("getUser"));
}

#[test]
fn without_demo_there_is_an_admin_and_an_empty_workspace() {
    let folder = Folder::new("plain");
    let server = Server::start(
        &folder,
        false,
        &["--public-url", "https://work.example/x/"],
        &[("WORKGRAPH_ADMIN_PASSWORD", "let me in please")],
    );
    let boot = folder.bootstrap();
    assert_eq!(
        (&boot["base_url"], &boot["auth_url"]),
        (
            &"https://work.example/x/api/1.0".into(),
            &"https://work.example/x".into()
        )
    );
    assert_eq!(
        (
            boot["users"][0]["password"].as_str(),
            boot["workspaces"][0]["plan"].as_str()
        ),
        (Some("let me in please"), Some("paid"))
    );
    assert!(boot.get("free_token").is_none());
    let token = boot["personal_access_token"].as_str().unwrap();
    let workspace = boot["workspaces"][0]["gid"].as_str().unwrap();
    let projects = server
        .request(
            &format!("GET /api/1.0/workspaces/{workspace}/projects"),
            token,
            "",
        )
        .1;
    assert_eq!(json(&projects)["data"], serde_json::json!([]));
    // Another process is kept out.
    let (ok, says) = run(&["serve", "--data", &folder.data(), "--listen", "127.0.0.1:0"]);
    assert!(!ok && says.contains("open"), "{says}");
}

#[test]
fn admin_commands_work_beside_a_server_and_without_one() {
    let folder = Folder::new("admin");
    let server = Server::demo(&folder, &[]);
    let data = folder.data();
    let admin = |args: &[&str]| {
        let all: Vec<&str> = ["admin", "--json", "--data", &data]
            .into_iter()
            .chain(args.iter().copied())
            .collect();
        let (ok, text) = run(&all);
        if ok {
            Ok(serde_json::from_str::<Value>(&text).unwrap())
        } else {
            Err(text)
        }
    };
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let workspace =
        text(&admin(&["workspace", "create", "--name", "New", "--plan", "free"]).unwrap()["gid"]);
    let user = admin(&[
        "user",
        "create",
        "--name",
        "Dan",
        "--email",
        "Dan@Example.com",
        "--workspace",
        &workspace,
        "--role",
        "admin",
    ])
    .unwrap();
    assert_eq!(
        (
            user["email"].as_str(),
            user["password"].as_str().unwrap().len()
        ),
        (Some("dan@example.com"), 24)
    );
    assert!(
        admin(&[
            "user",
            "create",
            "--name",
            "D",
            "--email",
            "dan@example.com"
        ])
        .unwrap_err()
        .contains("another user")
    );
    assert!(
        admin(&["user", "create", "--name", "D", "--email", "dan"])
            .unwrap_err()
            .contains("not an e-mail")
    );
    let made = admin(&[
        "token",
        "create",
        "--user",
        "DAN@example.com",
        "--scopes",
        "users:read",
        "--expires-days",
        "1",
    ])
    .unwrap();
    let token = text(&made["token"]);
    let me_by = |token: &str| server.request("GET /api/1.0/users/me", token, "").0;
    let me = || me_by(&token);
    assert_eq!(
        (
            me(),
            server.request("GET /api/1.0/workspaces", &token, "").0
        ),
        (200, 403)
    );
    let owner = text(&admin(&["token", "create", "--user", "dan@example.com"]).unwrap()["token"]);
    let path = format!("POST /api/1.0/workspaces/{workspace}/addUser");
    let squatted = server.request(&path, &owner, r#"{"data":{"user":"ceo@corp.example"}}"#);
    let squatted = text(&json(&squatted.1)["data"]["gid"]);
    let adopt = || {
        admin(&[
            "user",
            "create",
            "--name",
            "Zoe",
            "--email",
            "CEO@corp.example",
            "--workspace",
            &workspace,
            "--role",
            "guest",
        ])
    };
    let cleo = adopt().unwrap();
    assert_eq!(
        (
            text(&cleo["gid"]),
            cleo["adopted"].as_bool(),
            text(&cleo["role"])
        ),
        (squatted, Some(true), "guest".to_owned())
    );
    assert_eq!(text(&cleo["workspaces"][0]), workspace);
    assert_eq!(text(&cleo["password"]).len(), 24);
    assert!(adopt().unwrap_err().contains("another user"));
    let listed = admin(&["user", "list", "--workspace", &workspace]).unwrap();
    let row = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["name"] == "Zoe");
    assert_eq!(row.unwrap()["role"], "guest");
    let domains =
        |more: &[&str]| admin(&[&["workspace", "domains", &workspace][..], more].concat());
    let tied = serde_json::json!(["corp.example", "corp.test"]);
    assert_eq!(
        domains(&["Corp.Example", "corp.test", "corp.test"]).unwrap()["email_domains"],
        tied
    );
    assert_eq!(domains(&[]).unwrap()["email_domains"], tied);
    assert!(domains(&["corp@x"]).unwrap_err().contains("not a domain"));
    assert_eq!(
        domains(&["--none"]).unwrap()["email_domains"],
        serde_json::json!([])
    );
    admin(&["user", "disable", "dan@example.com"]).unwrap();
    assert_eq!(me(), 401);
    let refused = admin(&["token", "create", "--user", "dan@example.com"]).unwrap_err();
    assert!(refused.contains("switched off"), "{refused}");
    admin(&["user", "enable", &text(&user["gid"])]).unwrap();
    assert_eq!(me(), 401, "what was switched off does not come back");
    let made = admin(&["token", "create", "--user", "dan@example.com"]).unwrap();
    let token = text(&made["token"]);
    let me = || me_by(&token);
    assert_eq!(me(), 200);
    let team = text(
        &admin(&["team", "create", "--name", "Ops", "--workspace", &workspace]).unwrap()["gid"],
    );
    admin(&[
        "team",
        "add-user",
        "--team",
        &team,
        "--user",
        "dan@example.com",
    ])
    .unwrap();
    assert!(
        admin(&[
            "team",
            "add-user",
            "--team",
            &team,
            "--user",
            "dan@example.com"
        ])
        .unwrap_err()
        .contains("already")
    );
    assert!(
        admin(&[
            "team",
            "add-user",
            "--team",
            &team,
            "--user",
            "ann@example.com"
        ])
        .unwrap_err()
        .contains("does not belong")
    );
    let robot = admin(&[
        "service-account",
        "create",
        "--workspace",
        &workspace,
        "--name",
        "Robot",
    ])
    .unwrap();
    let users = server.request(
        &format!("GET /api/1.0/workspaces/{workspace}/users"),
        robot["token"].as_str().unwrap(),
        "",
    );
    assert_eq!(
        (users.0, json(&users.1)["data"][0]["name"].as_str()),
        (200, Some("Dan"))
    );
    admin(&["user", "disable", "dan@example.com"]).unwrap();
    assert_eq!(
        admin(&["workspace", "plan", &workspace, "paid"]).unwrap()["plan"],
        "paid"
    );
    assert_eq!(
        me(),
        401,
        "a change of plan leaves a disabled account disabled"
    );
    let copy = folder.0.join("copy.db").to_str().unwrap().to_owned();
    assert!(run(&["backup", &copy, "--data", &data]).0);
    assert_eq!(
        run(&["check", "--data", &data]),
        (true, "no problems\n".to_owned())
    );
    server.stop();
    // Without a server the same commands open the store themselves.
    assert_eq!(
        admin(&["workspace", "list"])
            .unwrap()
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        admin(&["user", "list", "--workspace", &workspace]).unwrap()[0]["role"],
        "admin"
    );
    let id = made["id"].to_string();
    assert!(admin(&["token", "revoke", &id]).is_err(), "dead already");
    admin(&["user", "enable", "dan@example.com"]).unwrap();
    let made = admin(&["token", "create", "--user", "dan@example.com"]).unwrap();
    let id = made["id"].to_string();
    assert_eq!(admin(&["token", "revoke", &id]).unwrap()["revoked"], true);
    assert!(admin(&["token", "revoke", &id]).is_err());
    assert!(
        admin(&["token", "list", "--user", "dan@example.com"]).unwrap()[0]["revoked_at"]
            .is_string()
    );
    assert!(
        run(&["admin", "workspace", "list", "--data", "/nonexistent/x"])
            .1
            .contains("no such data folder")
    );
}

#[test]
fn a_log_that_cannot_be_written_is_dropped_and_counted_and_the_server_goes_on() {
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        std::process::Stdio::from(writer)
    };
    let full = || {
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
            .into()
    };
    let logs: [(&str, &dyn Fn() -> std::process::Stdio); 2] =
        [("full", &full), ("closed", &closed)];
    for (name, log) in logs {
        let folder = Folder::new(&format!("log-{name}"));
        let port_file = folder.0.join("port");
        let mut child = std::process::Command::new(crate::common::BINARY)
            .args([
                "serve",
                "--demo",
                "--data",
                &folder.data(),
                "--listen",
                "127.0.0.1:0",
            ])
            .args(["--set", "log.requests=true", "--port-file"])
            .arg(&port_file)
            .stdout(std::process::Stdio::null())
            .stderr(log())
            .spawn()
            .unwrap();
        while !port_file.exists() {
            assert!(child.try_wait().unwrap().is_none(), "{name}: it ended");
            std::thread::yield_now();
        }
        let port = std::fs::read_to_string(&port_file).unwrap();
        let server = Server {
            child,
            port: port.trim().parse().unwrap(),
            log: folder.0.join("log"),
        };
        for _ in 0..3 {
            assert_eq!(server.request("GET /api/1.0/users/me", "none", "").0, 401);
        }
        let (code, text) = server.request("GET /-/metrics", "none", "");
        assert_eq!(code, 200);
        let dropped = text
            .lines()
            .find_map(|line| line.strip_prefix("workgraph_log_lines_dropped_total "));
        assert!(
            dropped.unwrap().parse::<u64>().unwrap() >= 4,
            "{name}: {text}"
        );
        server.terminate();
        let mut server = server;
        assert!(server.child.wait().unwrap().success(), "{name}");
    }
}
