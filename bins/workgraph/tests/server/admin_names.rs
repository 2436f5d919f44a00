//! Lists, other names and ends of the objects that `workgraph admin` makes.
use crate::common::{Folder, Server, json, run};
use serde_json::{Value, json};

#[test]
fn what_the_operator_makes_is_listed_renamed_and_taken_back() {
    let folder = Folder::new("admin-names");
    let server = Server::demo(&folder, &[]);
    let data = folder.data();
    let admin = |args: &str| {
        let start = ["admin", "--json", "--data", &data];
        let args: Vec<&str> = start.into_iter().chain(args.split(' ')).collect();
        let (ok, text) = run(&args);
        match ok {
            true => Ok(serde_json::from_str::<Value>(&text).unwrap()),
            false => Err(text),
        }
    };
    let done = |args: &str| admin(args).unwrap_or_else(|error| panic!("{args}: {error}"));
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let boot = folder.bootstrap();
    let token = text(&boot["personal_access_token"]);
    let email = text(&boot["users"][0]["email"]);
    let workspace = text(&boot["workspaces"][0]["gid"]);
    let first = |path: &str| {
        let list = server.request(&format!("GET /api/1.0{path}"), &token, "").1;
        text(&json(&list)["data"][0]["gid"])
    };
    let project = first(&format!("/workspaces/{workspace}/projects"));

    let teams = || done(&format!("team list --workspace {workspace}"));
    let before = teams().as_array().unwrap().len();
    let made = done(&format!("team create --name Ops --workspace {workspace}"));
    let team = text(&made["gid"]);
    done(&format!("team rename {team} --name Operations"));
    let listed = teams();
    assert_eq!(listed.as_array().unwrap().len(), before + 1);
    let expected = json!({"gid": team, "name": "Operations", "workspace": workspace});
    assert!(listed.as_array().unwrap().contains(&expected), "{listed}");
    let users = || done(&format!("team list-users --team {team}"));
    assert_eq!(users(), json!([]));
    done(&format!(
        "team add-user --team {team} --user {email} --admin"
    ));
    assert_eq!(
        (&users()[0]["email"], &users()[0]["admin"]),
        (&json!(email), &json!(true))
    );
    done(&format!("team remove-user --team {team} --user {email}"));
    assert_eq!(users(), json!([]));
    let absent = admin(&format!("team remove-user --team {team} --user {email}"));
    assert!(absent.unwrap_err().contains("is not in the team"));

    let renamed = done(&format!("user rename {email} --name Adele"));
    assert_eq!(
        (&renamed["name"], &renamed["email"]),
        (&json!("Adele"), &json!(email))
    );
    let robot = done(&format!(
        "service-account create --name Robot --workspace {workspace}"
    ));
    let robot = text(&robot["gid"]);
    done(&format!("service-account rename {robot} --name Bot"));
    let accounts = done(&format!("service-account list --workspace {workspace}"));
    let expected = json!({"gid": robot, "name": "Bot"});
    assert!(
        accounts.as_array().unwrap().contains(&expected),
        "{accounts}"
    );
    let app = done(&format!(
        "app create --name One --redirect-uri https://one.example/cb --owner {email}"
    ));
    let app = text(&app["client_id"]);
    assert_eq!(done(&format!("app rename {app} --name Two"))["name"], "Two");

    let kind = done(&format!(
        "custom-type create --name Bug --project {project} --status Open:incomplete --status Done:complete"
    ));
    let renamed = done(&format!(
        "custom-type rename {} --name Defect",
        text(&kind["gid"])
    ));
    assert_eq!(renamed["name"], "Defect");
    let kinds = done(&format!("custom-type list --project {project}"));
    assert!(kinds.as_array().unwrap().contains(&renamed), "{kinds}");
    let trigger = done(&format!(
        "rule-trigger create --name Deploy --project {project}"
    ));
    let trigger = text(&trigger["gid"]);
    done(&format!("rule-trigger rename {trigger} --name Release"));
    let triggers = done(&format!("rule-trigger list --project {project}"));
    assert_eq!(triggers[0]["name"], "Release");

    assert!(
        admin("webhook delete 123")
            .unwrap_err()
            .contains("there is no webhook")
    );
    server.stop();
    // Without a server the same commands open the store themselves.
    assert_eq!(teams().as_array().unwrap().len(), before + 1);
    assert_eq!(
        run(&["check", "--data", &data]),
        (true, "no problems\n".to_owned())
    );
}

#[test]
fn the_operator_enters_what_the_console_accepts() {
    let folder = Folder::new("admin-entries");
    let server = Server::demo(&folder, &[]);
    let data = folder.data();
    let admin = |args: &[&str]| {
        let all = [&["admin", "--json", "--data", &data][..], args].concat();
        let (ok, text) = run(&all);
        match ok {
            true => Ok(serde_json::from_str::<Value>(&text).unwrap()),
            false => Err(text),
        }
    };
    let boot = folder.bootstrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let email = text(&boot["users"][0]["email"]);
    let person = text(&boot["users"][0]["gid"]);
    let workspace = text(&boot["workspaces"][0]["gid"]);
    let new_account = ["service-account", "create", "--workspace", &workspace];
    let robot = admin(&[&new_account[..], &["--name", "Robot"]].concat()).unwrap();
    let robot = text(&robot["gid"]);
    let hidden = "Ro\u{202e}bot";
    let new_token = ["token", "create", "--user", &email];
    let new_app = [
        "app",
        "create",
        "--owner",
        &email,
        "--name",
        "One",
        "--redirect-uri",
    ];
    let twice = [
        "https://one.example/cb",
        "--redirect-uri",
        "https://one.example/cb",
    ];
    let app = admin(&[&new_app[..], &twice].concat()).unwrap();
    assert_eq!(app["redirect_uris"], json!(["https://one.example/cb"]));
    let urls: Vec<String> = (0..21)
        .map(|n| format!("https://one.example/{n}"))
        .collect();
    let mut too_many = new_app.to_vec();
    too_many.push(&urls[0]);
    for url in &urls[1..] {
        too_many.extend(["--redirect-uri", url]);
    }
    for (args, reason) in [
        (too_many, "at most 20 redirect URLs"),
        (
            [&new_account[..], &["--name", hidden]].concat(),
            "without invisible characters",
        ),
        (
            vec!["service-account", "rename", &robot, "--name", hidden],
            "without invisible characters",
        ),
        (
            vec!["service-account", "rename", &person, "--name", "Bot"],
            "no service account",
        ),
        (
            [&new_token[..], &["--description", hidden]].concat(),
            "without invisible characters",
        ),
        (
            [&new_token[..], &["--scopes", ""]].concat(),
            "at least one scope",
        ),
        (
            vec!["token", "create", "--user", &robot],
            "is a service account",
        ),
        (
            vec!["limits", "app", "123", "search=3"],
            "no app with this client ID",
        ),
    ] {
        let refused = admin(&args).unwrap_err();
        assert!(refused.contains(reason), "{args:?}: {refused}");
    }
    server.stop();
}
