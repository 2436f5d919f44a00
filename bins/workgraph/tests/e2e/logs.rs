//! The log: every line of a request carries the id that the reply has in `X-Request-Id`, and lines of jobs name them.
//!
//! Only debug builds have the store that fails.
use crate::common::{
    Folder, Reply, Server, WIDE, binary, command, is_about_one_node, pause, request,
};
use crate::oauth::Browser;
use serde_json::{Value, json};

/// Returns the lines of a log, which are JSON objects.
fn lines(folder: &Folder) -> Vec<Value> {
    let log = folder.log();
    let whole = log
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

/// Returns the lines of the request with this reply, in the order of their messages.
fn of_request(folder: &Folder, reply: &Reply) -> Vec<Value> {
    let id = reply.header("X-Request-Id").unwrap();
    let mut own: Vec<Value> = lines(folder)
        .into_iter()
        .filter(|line| line["request_id"] == id)
        .collect();
    own.sort_by_key(|line| line["message"].as_str().unwrap_or_default().to_owned());
    own
}

fn messages(lines: &[Value]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line["message"].as_str().unwrap())
        .collect()
}

#[test]
fn the_lines_of_a_request_that_panics_are_joined_by_its_id() {
    let folder = Folder::new("log-panic");
    let mut program = command(&binary());
    program.env("WORKGRAPH_TEST_PANIC", "4242");
    let server = Server::start_by(program, &folder, WIDE);
    // Reads stay on their task and writes have one of their own; both also on a connection that served others before.
    let mut connection = server.raw_connection();
    for method in ["GET", "DELETE", "GET"] {
        let fine = request("GET", "/users/me", server.token(), None);
        assert_eq!(connection.ask(&fine).unwrap().status, 200);
        let bytes = request(method, "/tasks/4242", server.token(), None);
        let reply = connection.ask(&bytes).unwrap();
        assert_eq!(reply.status, 500);
        let own = of_request(&folder, &reply);
        assert_eq!(
            messages(&own),
            ["a thread panicked", "request", "request failed"],
            "{own:#?}"
        );
        assert!(
            own[0]["location"].as_str().unwrap().contains(".rs:"),
            "{own:#?}"
        );
        assert_eq!(
            (&own[1]["method"], &own[1]["status"]),
            (&json!(method), &json!(500))
        );
        assert!(own[1]["micros"].is_u64() && own[1]["bytes"].is_u64());
        assert_eq!(own[2]["phrase"], reply.json()["errors"][0]["phrase"]);
        assert_eq!(own[1]["operation"], "", "a panic ends the call");
    }
    assert!(
        lines(&folder).iter().all(|line| line["status"] != 200),
        "requests that succeed are not logged unless that is set"
    );
}

/// S905. It is in the request inspector, too.
#[test]
fn a_request_that_takes_too_long_has_a_line() {
    let folder = Folder::new("log-slow");
    let hold = folder.path().join("hold");
    let mut program = command(&binary());
    program.env("WORKGRAPH_TEST_HOLD", &hold);
    let own_settings = [
        ("http.request_timeout", "1s"),
        ("inspector.bytes", "1048576"),
    ];
    let settings = [WIDE, &own_settings].concat();
    let server = Server::start_by(program, &folder, &settings);
    let fine = server.ask("GET", "/users/me", None);
    assert_eq!(fine.status, 200);
    std::fs::write(&hold, "").unwrap();
    let late = server.ask("GET", "/workspaces", None);
    assert_eq!(late.status, 504);
    std::fs::remove_file(&hold).unwrap();
    let own = of_request(&folder, &late);
    assert_eq!(messages(&own), ["request"], "{own:#?}");
    assert_eq!(own[0]["status"], 504);
    assert!(own[0]["micros"].as_u64().unwrap() >= 1_000_000, "{own:#?}");
    assert_eq!(own[0]["bytes"], late.body.len());
    assert!(of_request(&folder, &fine).is_empty());
    if is_about_one_node("the requests that the inspector of one process has seen") {
        return;
    }
    let mut browser = Browser::signed_in(&server, 0);
    let shown = browser.get("/-/console/requests?status=504").text();
    let id = late.header("X-Request-Id").unwrap();
    assert!(shown.contains(&format!("requests/{id}")), "{shown}");
    let shown = browser.get(&format!("/-/console/requests/{id}")).text();
    assert!(
        shown.contains("getWorkspaces") && shown.contains("took too long"),
        "{shown}"
    );
}

#[test]
fn lines_of_a_job_name_it_in_their_span() {
    let folder = Folder::new("log-job");
    let (project, job) = {
        let idle = [WIDE, &[("run_jobs", "false")]].concat();
        let mut server = Server::start(&folder, &idle);
        let project = server.project("Copied");
        let copy = json!({"data": {"name": "Copy"}});
        let path = format!("/projects/{project}/duplicate");
        let job = server.data("POST", &path, Some(&copy))["gid"].clone();
        assert_eq!(server.stop(), Some(0));
        (project, job.as_str().unwrap().parse::<u64>().unwrap())
    };
    let mut program = command(&binary());
    program.env("WORKGRAPH_TEST_PANIC", &project);
    let _server = Server::start_by(program, &folder, WIDE);
    let all = (0..2_000).find_map(|_| {
        pause(10);
        let all = lines(&folder);
        let stopped = |line: &Value| line["message"] == "a job stopped";
        all.iter().any(stopped).then_some(all)
    });
    let all = all.unwrap_or_else(|| panic!("the job did not stop: {}", folder.log()));
    let own = all.iter().filter(|line| line["span"]["job"] == job);
    let own: Vec<&Value> = own.collect();
    assert_eq!(own.len(), 1, "{all:#?}");
    assert_eq!(
        (&own[0]["message"], &own[0]["span"]["name"]),
        (&json!("a thread panicked"), &json!("job_step"))
    );
    assert_eq!(own[0].get("request_id"), None, "{own:#?}");
}
