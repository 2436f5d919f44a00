//! `workgraph laws`, among others on the server's own lists.
use crate::common::{Folder, Server, json, run};

/// The tasks of a project, walked in pages while tasks are made, deleted and changed, keep every law of pagination.
#[test]
fn the_servers_own_lists_keep_the_laws_of_pagination() {
    let folder = Folder::new("laws");
    let server = Server::demo(&folder, &["--set", "limits.standard_paid=1000000"]);
    let boot = folder.bootstrap();
    let token = boot["personal_access_token"].as_str().unwrap();
    let workspace = boot["workspaces"][0]["gid"].as_str().unwrap();
    let path = format!("GET /api/1.0/workspaces/{workspace}/teams");
    let teams = json(&server.request(&path, token, "").1);
    let team = teams["data"][0]["gid"].as_str().unwrap();
    let body = format!(
        r#"{{"data":{{"name":"Laws","team":"{team}","workspace":"{workspace}","privacy_setting":"private"}}}}"#
    );
    let (status, reply) = server.request("POST /api/1.0/projects", token, &body);
    assert_eq!(status, 201, "{reply}");
    let project = json(&reply)["data"]["gid"].as_str().unwrap().to_owned();
    let base = format!("http://127.0.0.1:{}/api/1.0", server.port);
    let config = folder.0.join("pages.toml");
    let text = format!(
        r#"
list = "GET {base}/tasks?project={project}&limit={{limit}}&offset={{cursor}}"
items = "/data"
id = "/gid"
next = "/next_page/offset"
max_limit = 100
create = {{ request = "POST {base}/tasks", body = '{{"data":{{"name":"same","projects":["{project}"]}}}}', id = "/data/gid" }}
delete = "DELETE {base}/tasks/{{id}}"
change = {{ request = "PUT {base}/tasks/{{id}}", body = '{{"data":{{"name":"{{random}}"}}}}' }}
headers = {{ Authorization = "Bearer {token}" }}
"#
    );
    std::fs::write(&config, text).unwrap();
    let file = config.to_str().unwrap();
    let (ok, report) = run(&[
        "laws",
        "pagination",
        "--config",
        file,
        "--operations",
        "40",
        "--json",
    ]);
    assert!(ok, "{report}");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let laws = report["laws"].as_array().unwrap();
    assert_eq!(laws.len(), 10);
    assert!(laws.iter().all(|law| law["verdict"] == "holds"), "{report}");
}

/// A subject that can't be judged is neither right nor wrong, and says why.
#[test]
fn a_subject_that_can_not_be_judged_is_no_verdict() {
    let (ok, text) = run(&["laws", "limiter", "--", "/nowhere"]);
    assert!(!ok && text.contains("/nowhere does not start"), "{text}");
    let (ok, text) = run(&["laws", "limiter"]);
    assert!(!ok && text.contains("name the limiter"), "{text}");
}
