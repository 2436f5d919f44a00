//! Authentication: words that are no tokens, scopes that are missing, workspaces that are free.
use super::{World, make, row};
use crate::common::{admin, plain, post, request};
use serde_json::{Value, json};

/// B49. B51. B52. S44. Over a socket.
#[test]
fn a_request_needs_one_whole_bearer_token() {
    let w = World::new("auth", &[]);
    let with = |headers: &[(&str, &str)]| plain("GET", "/users/me", headers, b"");
    let bearer = |token: &str| with(&[("Authorization", &format!("Bearer {token}"))]);
    let denied = "Not Authorized";
    let mut rows = vec![
        row("1", "no Authorization header", with(&[]), 401, denied),
        row(
            "2",
            "another scheme",
            with(&[("Authorization", "Basic YTpi")]),
            401,
            "Not Authorized: a bearer token is needed",
        ),
        row(
            "3a",
            "no token after Bearer",
            with(&[("Authorization", "Bearer")]),
            401,
            denied,
        ),
        row(
            "3b",
            "an empty token",
            with(&[("Authorization", "Bearer ")]),
            401,
            denied,
        ),
        row(
            "3c",
            "two tokens",
            bearer(&format!("{0} {0}", w.token)),
            401,
            denied,
        ),
        row(
            "4",
            "two headers, even equal ones",
            {
                let value = format!("Bearer {}", w.token);
                with(&[("Authorization", &value), ("Authorization", &value)])
            },
            400,
            "Authorization: given twice",
        ),
        row(
            "5",
            "a token cut short",
            bearer(&w.token[..w.token.len() - 1]),
            401,
            denied,
        ),
        row(
            "6a",
            "a token and =",
            bearer(&format!("{}=", w.token)),
            401,
            denied,
        ),
        row(
            "6b",
            "a token and A",
            bearer(&format!("{}A", w.token)),
            401,
            denied,
        ),
        row(
            "6c",
            "a token in capitals",
            bearer(&w.token.to_uppercase()),
            401,
            denied,
        ),
        row(
            "10a",
            "a token in the query, but for /users/me",
            plain(
                "GET",
                &format!("/workspaces?access_token={}", w.token),
                &[],
                b"",
            ),
            401,
            denied,
        ),
        row(
            "10b",
            "a token in the body",
            {
                let body = format!("access_token={}", w.token);
                let length = body.len().to_string();
                plain(
                    "POST",
                    "/tasks",
                    &[
                        ("Content-Type", "application/x-www-form-urlencoded"),
                        ("Content-Length", &length),
                    ],
                    body.as_bytes(),
                )
            },
            401,
            denied,
        ),
    ];
    let revoked = admin(
        &w.folder,
        &[
            "token",
            "create",
            "--user",
            &w.server.demo("/users/0/email"),
        ],
    );
    admin(&w.folder, &["token", "revoke", &revoked["id"].to_string()]);
    rows.push(row(
        "8",
        "a revoked token",
        bearer(revoked["token"].as_str().unwrap()),
        401,
        denied,
    ));
    let expired = admin(
        &w.folder,
        &[
            "token",
            "create",
            "--user",
            &w.server.demo("/users/0/email"),
            "--expires-days",
            "0",
        ],
    );
    rows.push(row(
        "7",
        "a token past its end",
        bearer(expired["token"].as_str().unwrap()),
        401,
        denied,
    ));
    let workspace = w.server.workspace("paid");
    admin(
        &w.folder,
        &[
            "user",
            "create",
            "--name",
            "Gus",
            "--email",
            "gus@example.com",
            "--workspace",
            &workspace,
        ],
    );
    let off = admin(&w.folder, &["token", "create", "--user", "gus@example.com"]);
    let off = off["token"].as_str().unwrap();
    w.try_all(&[row("9a", "a token of an account", bearer(off), 200, "")]);
    admin(&w.folder, &["user", "disable", "gus@example.com"]);
    rows.push(row(
        "9b",
        "the same, switched off",
        bearer(off),
        401,
        denied,
    ));
    w.try_all(&rows);
    for row in rows.iter().filter(|r| r.status == 401) {
        let reply = w.ask(&row.send).unwrap();
        assert!(
            reply
                .header("www-authenticate")
                .is_some_and(|v| v.starts_with("Bearer")),
            "{}: {:?}",
            row.number,
            reply.headers
        );
        assert!(
            !reply.text().contains(&w.token[..w.token.len() - 1]),
            "{}: a token is echoed",
            row.number
        );
    }
    assert_eq!(w.ask(&rows[0].send).unwrap().message(), denied);
}

/// B53. S07. Operations and fields beyond the scopes are 403.
#[test]
fn a_token_does_only_what_its_scopes_say() {
    let w = World::new("scopes", &[]);
    let as_reader = |method: &str, path: &str, body: Option<Value>| {
        request(method, path, &w.reader, body.as_ref())
    };
    let task = format!("/tasks/{}", w.task);
    w.try_all(&[
        row(
            "43a",
            "reading is allowed",
            as_reader("GET", &task, None),
            200,
            "",
        ),
        row(
            "43b",
            "creating is not",
            as_reader(
                "POST",
                "/tasks",
                Some(json!({"data": {"name": "x", "projects": [w.project]}})),
            ),
            403,
            "createTask: needs the scope tasks:write",
        ),
        row(
            "43c",
            "changing is not",
            as_reader("PUT", &task, Some(json!({"data": {"name": "x"}}))),
            403,
            "updateTask: needs the scope tasks:write",
        ),
        row(
            "43d",
            "deleting is not",
            as_reader("DELETE", &task, None),
            403,
            "deleteTask: needs the scope tasks:delete",
        ),
        row(
            "43e",
            "other objects are not",
            as_reader("GET", &format!("/projects/{}", w.project), None),
            403,
            "getProject: needs the scope projects:read",
        ),
        row(
            "43f",
            "nor before the body is read",
            post("POST", "/tasks", &w.reader, "application/json", b"{"),
            403,
            "createTask: needs the scope tasks:write",
        ),
        row(
            "28a",
            "compact records of others need no scope",
            as_reader("GET", &format!("{task}?opt_fields=assignee.name"), None),
            200,
            "",
        ),
        row(
            "28b",
            "their further fields do",
            as_reader("GET", &format!("{task}?opt_fields=assignee.email"), None),
            403,
            "assignee.email: needs the scope users:read",
        ),
        row(
            "28c",
            "and of followers",
            as_reader(
                "GET",
                &format!("{task}?opt_fields=name,followers.email"),
                None,
            ),
            403,
            "followers.email: needs the scope users:read",
        ),
        row(
            "28d",
            "and in lists",
            as_reader(
                "GET",
                &format!("/projects/{}/tasks?opt_fields=assignee.email", w.project),
                None,
            ),
            403,
            "assignee.email: needs the scope users:read",
        ),
    ]);
}

/// S68.
#[test]
fn paid_features_are_402_on_a_free_workspace() {
    let w = World::new("premium", &[]);
    let other = make(
        &w.server,
        &w.stranger,
        "/tasks",
        &json!({"name": "Other", "projects": [w.foreign_project]}),
    );
    let path = format!("/tasks/{}/addDependencies", w.foreign_task);
    let body = json!({"data": {"dependencies": [other]}});
    w.try_all(&[row(
        "44",
        "dependencies",
        request("POST", &path, &w.stranger, Some(&body)),
        402,
        "",
    )]);
    let paid = format!("/tasks/{}/addDependencies", w.task);
    let second = make(
        &w.server,
        &w.token,
        "/tasks",
        &json!({"name": "Second", "projects": [w.project]}),
    );
    let body = json!({"data": {"dependencies": [second]}});
    w.try_all(&[row(
        "44",
        "dependencies on a paid one",
        request("POST", &paid, &w.token, Some(&body)),
        200,
        "",
    )]);
}
