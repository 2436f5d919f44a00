//! Targets of requests: paths, queries, and the objects that they name.
use super::{World, row};
use crate::common::plain;
use serde_json::json;

/// S34. S64.
#[test]
fn the_path_the_query_and_the_objects_they_name_are_checked() {
    let w = World::new("query", &[]);
    let tasks = format!("/projects/{}/tasks", w.project);
    let list = |options: &str| w.get(&format!("{tasks}?{options}"));
    let no_route = "No matching route for request";
    let (limit, invalid) = (
        "limit: must be 1 to 100",
        "offset: Your pagination token is invalid.",
    );
    let trace = b"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    let rows = [
        row(
            "11",
            "GET /tasks without a filter",
            w.get("/tasks"),
            400,
            "workspace: Missing input",
        ),
        row(
            "12",
            "an empty filter",
            w.get("/tasks?project="),
            400,
            "workspace: Missing input",
        ),
        row(
            "13a",
            "a filter that is no gid",
            w.get("/tasks?project=abc"),
            400,
            "project: Not a recognized ID: abc",
        ),
        row(
            "13b",
            "two filters",
            w.get(&format!("/tasks?project={0}&section={0}", w.project)),
            400,
            "Must specify exactly one of",
        ),
        row(
            "14a",
            "a gid past 64 bits",
            w.get("/tasks?project=18446744073709551616"),
            400,
            "project: Not a recognized ID",
        ),
        row(
            "14b",
            "a gid past 53 bits",
            w.get("/tasks?project=9007199254740993"),
            400,
            "project: ",
        ),
        row(
            "14c",
            "gid 0",
            w.get("/tasks?project=0"),
            400,
            "project: Not a recognized ID: 0",
        ),
        row(
            "14d",
            "a negative gid",
            w.get("/tasks/-1"),
            400,
            "task: Not a recognized ID: -1",
        ),
        row(
            "14e",
            "a gid with a leading zero",
            w.get(&format!("/tasks/0{}", w.task)),
            400,
            "task: Not a recognized ID",
        ),
        row(
            "15a",
            "a project of another tenant",
            w.get(&format!("/projects/{}", w.foreign_project)),
            403,
            "You do not have access to this project.",
        ),
        row(
            "15b",
            "its tasks",
            w.get(&format!("/tasks?project={}", w.foreign_project)),
            403,
            "You do not have access to this project.",
        ),
        row(
            "15c",
            "a task of another tenant",
            w.get(&format!("/tasks/{}", w.foreign_task)),
            403,
            "You do not have access to this task.",
        ),
        row(
            "15d",
            "changing it",
            w.send(
                "PUT",
                &format!("/tasks/{}", w.foreign_task),
                r#"{"data":{"name":"x"}}"#,
            ),
            403,
            "You do not have access to this task.",
        ),
        row(
            "15e",
            "a task into another tenant's project",
            w.send(
                "POST",
                "/tasks",
                &format!(
                    r#"{{"data":{{"name":"x","projects":["{}"]}}}}"#,
                    w.foreign_project
                ),
            ),
            403,
            "You do not have access to this project.",
        ),
        row(
            "16a",
            "an unknown task",
            w.get("/tasks/999"),
            404,
            "task: Unknown object: 999",
        ),
        row(
            "16b",
            "a project where a task belongs",
            w.get(&format!("/tasks/{}", w.project)),
            404,
            "task: Unknown object",
        ),
        row(
            "17a",
            "a slash in a parameter",
            w.get("/tasks/1%2f2"),
            404,
            no_route,
        ),
        row(
            "17b",
            "dots and a semicolon",
            w.get("/tasks/..;/x"),
            404,
            no_route,
        ),
        row("17c", "an empty segment", w.get("/tasks//1"), 404, no_route),
        row(
            "17d",
            "two slashes at the end",
            w.get("/tasks//"),
            404,
            no_route,
        ),
        row("17e", "dots", w.get("/tasks/../tasks"), 404, no_route),
        row(
            "17f",
            "a NUL in a parameter",
            w.get("/tasks/1%00"),
            404,
            no_route,
        ),
        row("17g", "another case", w.get("/Tasks"), 404, no_route),
        row(
            "18a",
            "a method that the path lacks",
            w.send("PATCH", &format!("/tasks/{}", w.task), "{}"),
            404,
            no_route,
        ),
        row("18b", "TRACE", trace, 404, no_route),
        row(
            "18c",
            "an unknown path, without a token",
            plain("GET", "/nothing", &[], b""),
            404,
            no_route,
        ),
        row(
            "18d",
            "POST to a list that is only read",
            w.send("POST", "/users", "{}"),
            404,
            no_route,
        ),
        row(
            "18e",
            "a method of one's own",
            w.send("BREW", "/tasks", "{}"),
            404,
            no_route,
        ),
        row("19a", "limit 0", list("limit=0"), 400, limit),
        row("19b", "limit 101", list("limit=101"), 400, limit),
        row("19c", "limit -1", list("limit=-1"), 400, limit),
        row("20a", "limit 1.5", list("limit=1.5"), 400, limit),
        row("20b", "limit +5", list("limit=%2B5"), 400, limit),
        row("20c", "limit 1e2", list("limit=1e2"), 400, limit),
        row(
            "20d",
            "limit in Arabic digits",
            list("limit=%D9%A3"),
            400,
            limit,
        ),
        row("20e", "an empty limit is none", list("limit="), 200, ""),
        row(
            "20f",
            "a limit of 30 digits",
            list("limit=000000000000000000000000000005"),
            400,
            limit,
        ),
        row(
            "21",
            "limit twice",
            list("limit=5&limit=5"),
            400,
            "limit: given twice",
        ),
        row(
            "22a",
            "a made-up offset",
            list("limit=5&offset=garbage"),
            400,
            invalid,
        ),
        row(
            "22b",
            "an empty offset is none",
            list("limit=5&offset="),
            200,
            "",
        ),
        row(
            "22c",
            "a number as offset",
            list("limit=5&offset=50"),
            400,
            invalid,
        ),
        row(
            "27",
            "a field that does not exist is left out",
            w.get(&format!("/tasks/{}?opt_fields=nope", w.task)),
            200,
            "",
        ),
        row(
            "29a",
            "a path of ten names",
            w.get(&format!(
                "/tasks/{}?opt_fields=parent{}",
                w.task,
                ".parent".repeat(9)
            )),
            400,
            "opt_fields: A path is too deep",
        ),
        row(
            "29b",
            "500 names",
            w.get(&format!(
                "/tasks/{}?opt_fields={}",
                w.task,
                (0..500)
                    .map(|i| format!("n{i}"))
                    .collect::<Vec<_>>()
                    .join(",")
            )),
            400,
            "opt_fields: Too many",
        ),
        row(
            "30a",
            "an empty name is passed over",
            list("opt_fields=name,,notes"),
            200,
            "",
        ),
        row(
            "30b",
            "NUL in names",
            list("opt_fields=a%00b"),
            400,
            "opt_fields: must not contain NUL",
        ),
        row(
            "30c",
            "a broken group",
            list("opt_fields=(name|notes"),
            400,
            "opt_fields: ",
        ),
        row(
            "30d",
            "broken percent-encoding",
            list("opt_fields=%zz"),
            400,
            "opt_fields: not valid percent-encoding",
        ),
        row(
            "30e",
            "no UTF-8",
            list("opt_fields=%ff"),
            400,
            "opt_fields: not valid UTF-8",
        ),
    ];
    w.try_all(&rows);
    for row in rows.iter().filter(|r| r.number.starts_with("15")) {
        assert!(
            !w.ask(&row.send).unwrap().text().contains("Nobody"),
            "{}: the name leaks",
            row.number
        );
    }
    let record = w
        .ask(&w.get(&format!("/tasks/{}?opt_fields=nope", w.task)))
        .unwrap()
        .json();
    assert_eq!(
        record["data"],
        json!({"gid": w.task}),
        "27: only what is named, and gid"
    );
    let echo = w
        .ask(&w.get(&format!("/tasks?project={}", "%3Cb%3E".repeat(60))))
        .unwrap()
        .message();
    assert!(echo.len() < 300, "13: an echo is cut: {echo}");
}

#[test]
fn hidden_objects_look_like_none_if_the_operator_says_so() {
    let w = World::new("hidden", &[("hide_forbidden", "true")]);
    let hidden = w
        .ask(&w.get(&format!("/tasks/{}", w.foreign_task)))
        .unwrap();
    assert_eq!(hidden.status, 404, "15: {}", hidden.text());
    assert!(!hidden.text().contains("Nobody"));
}
