//! Triggers of rules, which the operator makes.
use crate::common::{Folder, Server, json, run};
use serde_json::Value;

/// S275. A trigger that the operator makes is run by a web request, until it is deleted.
#[test]
fn the_operator_makes_the_triggers_that_requests_run() {
    let folder = Folder::new("rule-triggers");
    let server = Server::demo(&folder, &[]);
    let data = folder.data();
    let admin = |args: &[&str]| {
        let start = ["admin", "--json", "--data", &data, "rule-trigger"];
        let (ok, text) = run(&[&start[..], args].concat());
        if ok {
            Ok(serde_json::from_str::<Value>(&text).unwrap())
        } else {
            Err(text)
        }
    };
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let boot = folder.bootstrap();
    let token = text(&boot["personal_access_token"]);
    let workspace = text(&boot["workspaces"][0]["gid"]);
    let first = |path: &str| {
        let list = server.request(&format!("GET /api/1.0{path}"), &token, "").1;
        text(&json(&list)["data"][0]["gid"])
    };
    let project = first(&format!("/workspaces/{workspace}/projects"));
    let task = first(&format!("/projects/{project}/tasks"));
    let refused = admin(&["create", "--name", "Deploy", "--project", &task]);
    assert!(refused.unwrap_err().contains("there is no project"));
    let nameless = admin(&["create", "--name", " ", "--project", &project]);
    assert!(nameless.unwrap_err().contains("a name has"));
    let made = admin(&["create", "--name", "Deploy", "--project", &project]).unwrap();
    let trigger = text(&made["gid"]);
    assert_eq!(admin(&["list", "--project", &project]).unwrap()[0], made);
    let body = format!(r#"{{"data":{{"resource":"{task}","action_data":{{"branch":"main"}}}}}}"#);
    let path = format!("POST /api/1.0/rule_triggers/{trigger}/run");
    let (status, reply) = server.request(&path, &token, &body);
    assert_eq!(status, 200, "{reply}");
    let stories = server.request(&format!("GET /api/1.0/tasks/{task}/stories"), &token, "");
    let sentence = r#"ran the rule trigger \"Deploy\" with {\"branch\":\"main\"}"#;
    assert!(stories.1.contains(sentence), "{}", stories.1);
    assert_eq!(admin(&["delete", &trigger]).unwrap()["deleted"], true);
    assert_eq!(server.request(&path, &token, &body).0, 404);
    assert!(admin(&["delete", &trigger]).is_err());
    let left = admin(&["list", "--project", &project]).unwrap();
    assert_eq!(left, serde_json::json!([]));
    let checked = run(&["check", "--data", &data]);
    assert_eq!(checked, (true, "no problems\n".to_owned()));
}
