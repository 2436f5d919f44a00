//! The pages of records, over a socket: what they show is what the API shows to the same person.
use crate::common::{Folder, Server, WIDE};
use crate::pages::Browser;
use serde_json::{Value, json};

fn signed_in(server: &Server, user: usize) -> Browser<'_> {
    let mut browser = Browser::new(server);
    let email = server.demo(&format!("/users/{user}/email"));
    let password = server.demo(&format!("/users/{user}/password"));
    assert_eq!(browser.try_sign_in(&email, &password).status, 303);
    browser
}

/// Returns the path of a record's `permalink_url`.
fn permalink(server: &Server, record: &Value) -> String {
    let address = record["permalink_url"].as_str().unwrap();
    let root = server.demo("/auth_url");
    address.strip_prefix(&root).unwrap().to_owned()
}

#[test]
fn the_permalink_of_every_record_leads_to_its_page_for_who_may_see_it() {
    let folder = Folder::new("record-page");
    let server = Server::start(&folder, WIDE);
    let workspace = server.workspace("paid");
    let make = |path: &str, data: Value| server.data("POST", path, Some(&json!({ "data": data })));
    let team = make(
        "/teams",
        json!({"name": "Pilots", "organization": workspace}),
    );
    let project = make(
        "/projects",
        json!({"name": "Moon landing", "workspace": workspace, "team": team["gid"], "privacy_setting": "private"}),
    );
    let project_gid = project["gid"].as_str().unwrap();
    let notes = "<body>Mind the <strong>fuel</strong> &lt;script&gt;</body>";
    let task = make(
        "/tasks",
        json!({"name": "Pack <b>suits</b>", "projects": [project_gid], "html_notes": notes}),
    );
    let task_gid = task["gid"].as_str().unwrap();
    make(
        &format!("/tasks/{task_gid}/stories"),
        json!({"text": "Two are torn"}),
    );
    let alone = make(
        "/tasks",
        json!({"name": "Alone", "workspace": workspace, "assignee": "me"}),
    );
    let portfolio = make(
        "/portfolios",
        json!({"name": "Space", "workspace": workspace}),
    );
    let tag = make("/tags", json!({"name": "urgent", "workspace": workspace}));
    let brief = make(
        &format!("/projects/{project_gid}/project_briefs"),
        json!({"title": "Why", "text": "Because"}),
    );
    let gid = |record: &Value| record["gid"].as_str().unwrap().to_owned();
    assert_eq!(
        permalink(&server, &task),
        format!("/0/{project_gid}/{task_gid}")
    );
    assert_eq!(permalink(&server, &alone), format!("/0/0/{}", gid(&alone)));
    assert_eq!(permalink(&server, &project), format!("/0/{project_gid}"));

    let mut owner = signed_in(&server, 0);
    let all = [
        (&task, "tasks", "Pack &lt;b&gt;suits&lt;/b&gt;"),
        (&alone, "tasks", "Alone"),
        (&project, "projects", "Moon landing"),
        (&portfolio, "portfolios", "Space"),
        (&tag, "tags", "urgent"),
        (&team, "teams", "Pilots"),
        (&brief, "project_briefs", "Why"),
    ];
    for (record, path, name) in all {
        let reply = owner.get(&permalink(&server, record));
        let page = reply.text();
        assert_eq!(reply.status, 200, "{path}: {page}");
        let address = format!("/api/1.0/{path}/{}", gid(record));
        for part in [name, &address, "curl "] {
            assert!(page.contains(part), "{path} without {part}: {page}");
        }
        // The maker and every linked record have their names.
        assert!(!page.contains("(no name)"), "{path}: {page}");
    }
    let page = owner.get(&format!("/0/0/{task_gid}/f")).text();
    for part in [
        "Mind the <strong>fuel</strong> &lt;script&gt;",
        "Two are torn",
        "Moon landing",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }

    // Somebody else sees of it what the API sends them: nothing.
    let mut other = signed_in(&server, 1);
    for record in [&task, &project, &brief] {
        let reply = other.get(&permalink(&server, record));
        let page = reply.text();
        assert_eq!(reply.status, 403, "{page}");
        for hidden in ["suits", "Moon landing", "Why", "torn"] {
            assert!(!page.contains(hidden), "{page}");
        }
    }
    let none = owner.get("/0/0/999999999999");
    assert_eq!(none.status, 404);
}

#[test]
fn a_task_in_a_hidden_project_has_an_address_that_does_not_name_it() {
    let folder = Folder::new("record-walls");
    let server = Server::start(&folder, WIDE);
    let workspace = server.workspace("paid");
    let make = |path: &str, data: Value| server.data("POST", path, Some(&json!({ "data": data })));
    let project = make(
        "/projects",
        json!({"name": "Hidden", "workspace": workspace, "team": server.team(&workspace), "privacy_setting": "private"}),
    );
    let colleague = server.demo("/users/1/gid");
    let task = make(
        "/tasks",
        json!({"name": "Shared", "projects": [project["gid"]], "assignee": colleague}),
    );
    let gid = task["gid"].as_str().unwrap();
    let mut other = signed_in(&server, 1);
    let page = other.get(&format!("/0/0/{gid}"));
    let shown = page.text();
    assert_eq!(page.status, 200, "{shown}");
    let project = project["gid"].as_str().unwrap();
    assert!(shown.contains("Shared") && !shown.contains(project) && !shown.contains("Hidden"));
}
