use super::*;
use std::collections::BTreeMap;

fn mapping() -> IdentifierMapping {
    let names = [("12", "701"), ("13", "702"), ("ann@a.test", "ben+b@b.test")];
    let names = names.map(|(old, new)| (old.to_owned(), new.to_owned()));
    let mut mapping = IdentifierMapping::new(BTreeMap::from(names));
    mapping.learn_token("eyJ=", "a/b+");
    mapping
}

fn request(target: &str, content_type: &str, body: &str) -> RecordedRequest {
    RecordedRequest {
        method: "POST".to_owned(),
        target: target.to_owned(),
        content_type: Some(content_type.to_owned()),
        body: Some(body.to_owned()),
    }
}

#[test]
fn paths_and_queries_are_rewritten() {
    for (target, new) in [
        ("/tasks/12", "/tasks/701"),
        ("/tasks/12/addProject", "/tasks/701/addProject"),
        ("/tasks/129", "/tasks/129"),
        ("/users/ann%40a.test", "/users/ben%2Bb%40b.test"),
        ("/tasks?project=12&limit=12", "/tasks?project=701&limit=12"),
        (
            "/tasks?limit=2&offset=eyJ%3D",
            "/tasks?limit=2&offset=a%2Fb%2B",
        ),
        (
            "/search?projects.any=12%2C9,13",
            "/search?projects.any=701,9,702",
        ),
        (
            "/search?custom_fields.12.value=13",
            "/search?custom_fields.701.value=702",
        ),
        (
            "/search?text=12&opt_fields=12&x",
            "/search?text=12&opt_fields=12&x",
        ),
    ] {
        assert_eq!(rewrite_target(target, &mapping()), new);
    }
}

#[test]
fn bodies_are_rewritten() {
    for (kind, body, new) in [
        (
            "application/json",
            r#"{"data":{"name":"12","assignee":"ann@a.test","projects":["12","9"],"custom_fields":{"13":"12"},"n":12}}"#,
            r#"{"data":{"name":"12","assignee":"ben+b@b.test","projects":["701","9"],"custom_fields":{"702":"701"},"n":12}}"#,
        ),
        (
            "application/json",
            r#"{"data":{"actions":[{"relative_path":"/tasks/12?a=13"}],"html_text":"<body>12 <a data-asana-gid=\"12\"/></body>"}}"#,
            r#"{"data":{"actions":[{"relative_path":"/tasks/701?a=702"}],"html_text":"<body>12 <a data-asana-gid=\"701\"/></body>"}}"#,
        ),
        (
            "application/x-www-form-urlencoded",
            "project=12&name=12&custom_fields[13]=x",
            "project=701&name=12&custom_fields[702]=x",
        ),
        (
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"parent\"\r\n\r\n12\r\n--b--",
            "--b\r\nContent-Disposition: form-data; name=\"parent\"\r\n\r\n701\r\n--b--",
        ),
        ("text/plain", "12, no JSON", "12, no JSON"),
    ] {
        let rewritten = rewrite(&request("/tasks", kind, body), &mapping());
        let rewritten = rewritten.body.unwrap();
        let json = |text: &str| serde_json::from_str::<Value>(text);
        match (json(&rewritten), json(new)) {
            (Ok(rewritten), Ok(new)) => assert_eq!(rewritten, new),
            _ => assert_eq!(rewritten, new),
        }
    }
}

/// Words of which targets and bodies are put together.
const WORDS: [&str; 12] = [
    "12", "%31%32", "eyJ=", "a b", "é", "%", "+", ",", "&", "=", "?", "/",
];

#[test]
fn an_identity_mapping_changes_nothing() {
    let mut mapping = IdentifierMapping::default();
    for word in WORDS {
        mapping.learn_identifier(word, word);
        mapping.learn_token(word, word);
    }
    for first in WORDS {
        for second in WORDS {
            let text = format!("/{first}{second}?{second}={first},{second}");
            for kind in [
                "application/json",
                "application/x-www-form-urlencoded",
                "multipart/x",
            ] {
                let body = format!(" {{\"{first}\":  [\"{second}\", 1.0]}} ");
                for body in [body, text.clone()] {
                    let request = request(&text, kind, &body);
                    assert_eq!(rewrite(&request, &mapping), request);
                }
            }
        }
    }
}
