//! Values of every wrong kind in every field of every writing operation: no answer is a server error, and the graph
//! stays sound. `WORKGRAPH_JUNK` sets the number of requests.
mod tables;

use crate::common::{Folder, RawConnection, Seeded, Server, WIDE, request, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tables::*;

/// Request that was sent.
struct Sent {
    /// Method and path as they are listed in the tables.
    row: (&'static str, &'static str),
    path: String,
    body: Option<Value>,
}

impl Sent {
    fn show(&self) -> String {
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        format!("{} {} {body:.600}", self.row.0, self.path)
    }
}

struct Scene {
    server: Server,
    connection: RawConnection,
    known: Vec<(&'static str, String)>,
    random: Seeded,
}

impl Scene {
    fn new(folder: &Folder, seed: u64) -> Self {
        let server = Server::start(folder, WIDE);
        let known = Self::objects(&server);
        Self {
            connection: server.raw_connection(),
            server,
            known,
            random: Seeded(seed),
        }
    }

    /// Makes fresh objects, for junk may have taken away the access to older ones.
    fn objects(server: &Server) -> Vec<(&'static str, String)> {
        let workspace = server.workspace("paid");
        let team = server.team(&workspace);
        let project = server.project("Junk");
        let make = |path: &str, data: Value| {
            server.data("POST", path, Some(&json!({"data": data})))["gid"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        let section = make(
            &format!("/projects/{project}/sections"),
            json!({"name": "Junk"}),
        );
        let task = make(
            "/tasks",
            json!({"name": "Junk", "projects": [project], "assignee": "me"}),
        );
        let second_task = make("/tasks", json!({"name": "Second", "projects": [project]}));
        let second_section = make(
            &format!("/projects/{project}/sections"),
            json!({"name": "Second"}),
        );
        let story = make(&format!("/tasks/{task}/stories"), json!({"text": "Junk"}));
        let tag = make("/tags", json!({"name": "Junk", "workspace": workspace}));
        vec![
            ("task", task),
            ("project", project),
            ("section", section),
            ("story", story),
            ("tag", tag),
            ("team", team),
            ("workspace", workspace),
            ("second_task", second_task),
            ("second_section", second_section),
            ("user", server.demo("/users/1/gid")),
            ("other", server.demo("/users/3/gid")),
        ]
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.random.below(list.len())]
    }

    fn path(&self, path: &str) -> String {
        self.known
            .iter()
            .fold(path.to_owned(), |path, (name, gid)| {
                path.replace(&format!("{{{name}}}"), gid)
            })
    }

    fn gid(&mut self) -> String {
        let at = self.random.below(self.known.len());
        self.known[at].1.clone()
    }

    /// Returns a value that fits the field, or nearly.
    fn near(&mut self, field: &str, path: &str) -> Value {
        let many = [
            "projects",
            "tags",
            "followers",
            "members",
            "dependencies",
            "dependents",
        ];
        let kind = match field {
            "parent" if path == "/memberships" => "project",
            "insert_before" | "insert_after" if path.ends_with("/sections") => "section",
            "project" | "projects" => "project",
            "section" | "assignee_section" => "section",
            "before_section" | "after_section" => "second_section",
            "task" => "task",
            "parent" | "insert_before" | "insert_after" | "dependencies" | "dependents" => {
                "second_task"
            }
            "tag" | "tags" => "tag",
            "team" => "team",
            "workspace" | "organization" => "workspace",
            "user" | "assignee" | "owner" | "member" | "members" | "followers" => "user",
            "memberships" => {
                return json!([{"project": self.path("{project}"), "section": self.path("{section}")}]);
            }
            "resource_type" => return "project".into(),
            "completed" | "liked" | "archived" | "is_pinned" | "public" => {
                return (self.random.below(2) == 0).into();
            }
            "due_on" | "due_date" => return "2031-02-03".into(),
            "start_on" => return "2031-01-02".into(),
            "due_at" => return "2031-02-03T04:05:06.789Z".into(),
            _ => return format!("Junk {}", self.random.below(10)).into(),
        };
        let gid = self.path(&format!("{{{kind}}}"));
        if many.contains(&field) {
            json!([gid])
        } else {
            gid.into()
        }
    }

    /// Returns a value of any kind; often one that nearly fits.
    fn value(&mut self, depth: usize) -> Value {
        match self.random.below(if depth > 2 { 25 } else { 32 }) {
            0 => Value::Null,
            1 => true.into(),
            2 => false.into(),
            3 => 0.into(),
            4 => (-1).into(),
            5 => json!(1.5e300),
            6 => u64::MAX.into(),
            7 => "".into(),
            8 => "x".into(),
            9 => "me".into(),
            10 => "999".into(),
            11 => "99999999999999999999999".into(),
            12 => "a\u{0}b".into(),
            13 => "\u{202e}\u{feff}\u{10ffff}".into(),
            14 => "n".repeat(5000).into(),
            15 => "2031-02-30".into(),
            16 => "2031-02-03".into(),
            17 => "2031-02-03T04:05:06.789Z".into(),
            18 => "0000-01-01".into(),
            19 => "<body>a<b>c</body>".into(),
            20 => format!(
                "<body><a data-asana-gid=\"{}\"/> &amp; <ul><li>x</li></ul></body>",
                self.gid()
            )
            .into(),
            21 => (*self.pick(&[
                "approval",
                "milestone",
                "private",
                "public",
                "editor",
                "list",
                "light-green",
                "approved",
            ]))
            .into(),
            22..=24 => self.gid().into(),
            25 => json!([]),
            26 => json!({}),
            27 | 28 => json!([self.value(depth + 1)]),
            29 => json!([self.gid(), self.gid()]),
            30 => json!([{"project": self.gid(), "section": self.gid()}]),
            _ => json!({"gid": self.value(depth + 1), "data": self.value(depth + 1)}),
        }
    }

    fn write(&mut self) -> Sent {
        let (method, path, fields) = *self.pick(WRITES);
        let row = path;
        let mut data = serde_json::Map::new();
        // Most requests get the fields they need, so that the rest is looked at.
        if self.random.below(3) > 0 {
            let needed = Some(needed(path)).filter(|n| !n.is_empty());
            for name in needed.unwrap_or(&fields[..1]) {
                data.insert((*name).to_owned(), self.near(name, path));
            }
        }
        for _ in 0..self.random.below(4) {
            let name = *self.pick(fields);
            let near = self.random.below(2) == 0;
            let value = if near {
                self.near(name, path)
            } else {
                self.value(0)
            };
            data.insert(name.to_owned(), value);
        }
        let path = if self.random.below(10) == 0 {
            path.replace("{task}", "{other}")
        } else {
            path.to_owned()
        };
        Sent {
            row: (method, row),
            path: self.path(&path),
            body: Some(json!({"data": data})),
        }
    }

    fn read(&mut self) -> Sent {
        let path = *self.pick(READS);
        let mut query = String::new();
        if self.random.below(3) > 0 {
            for name in needed(path).iter().filter(|n| PARAMETERS.contains(n)) {
                let value = self.near(name, path);
                query.push_str(&format!("{name}={}&", value.as_str().unwrap_or_default()));
            }
        }
        for _ in 0..self.random.below(4) {
            let name = *self.pick(PARAMETERS);
            let value = match (name, self.random.below(3)) {
                ("opt_fields" | "opt_expand", 0 | 1) => {
                    let names = [
                        "name",
                        "this",
                        "assignee.name",
                        "memberships.section.name",
                        "followers",
                        "parent.parent",
                        "projects.team.name",
                        "(name|notes)",
                    ];
                    format!("{},{}", self.pick(&names), self.pick(&names))
                }
                ("limit", 0 | 1) => self.random.below(120).to_string(),
                (_, 2) => self.gid(),
                _ => match self.value(3) {
                    Value::String(text) => text,
                    other => other.to_string(),
                },
            };
            let encoded: String = value
                .bytes()
                .take(3000)
                .map(|b| format!("%{b:02x}"))
                .collect();
            query.push_str(&format!("{name}={encoded}&"));
        }
        Sent {
            row: ("GET", path),
            path: format!("{}?{query}", self.path(path)),
            body: None,
        }
    }
}

#[test]
fn no_value_in_any_field_is_a_server_error_or_harms_the_graph() {
    let count = std::env::var("WORKGRAPH_JUNK").map_or(2000, |v| v.parse().unwrap());
    let seed = std::env::var("WORKGRAPH_JUNK_SEED").map_or(1, |v| v.parse().unwrap());
    let folder = Folder::new("junk");
    let mut scene = Scene::new(&folder, seed);
    let (mut complaints, mut accepted) = (Vec::new(), BTreeMap::<_, usize>::new());
    for number in 0..count {
        if number % 500 == 499 {
            scene.known = Scene::objects(&scene.server);
        }
        let sent = if scene.random.below(4) == 0 {
            scene.read()
        } else {
            scene.write()
        };
        let bytes = request(
            sent.row.0,
            &sent.path,
            scene.server.token(),
            sent.body.as_ref(),
        );
        let reply = match scene.connection.ask(&bytes) {
            Ok(reply) => reply,
            Err(e) => {
                complaints.push(format!("{}: no answer: {e}", sent.show()));
                scene.connection = scene.server.raw_connection();
                continue;
            }
        };
        if reply.header("connection") == Some("close") {
            scene.connection = scene.server.raw_connection();
        }
        let json: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        *accepted.entry(sent.row).or_default() += usize::from(reply.status < 300);
        let fits = match reply.status {
            200 | 201 => json["data"].is_object() || json["data"].is_array(),
            400..=499 => json["errors"][0]["message"]
                .as_str()
                .is_some_and(|m| !m.is_empty() && m.len() < 1000),
            _ => false,
        };
        if !fits {
            complaints.push(format!(
                "{}: {} {:.300}",
                sent.show(),
                reply.status,
                reply.text()
            ));
        }
    }
    let check = run(&folder, &["check"]);
    if !check.status.success() {
        complaints.push(format!("check: {}", String::from_utf8_lossy(&check.stdout)));
    }
    if folder.log().contains("panicked") {
        complaints.push(format!("a thread panicked: {:.2000}", folder.log()));
    }
    assert!(
        complaints.is_empty(),
        "seed {seed}: {} of {count}:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
    let never: Vec<_> = accepted
        .iter()
        .filter(|(_, n)| **n == 0)
        .map(|(row, _)| row)
        .collect();
    assert!(
        count < 2000 || never.len() <= 3,
        "requests that were never accepted try little: {never:?}"
    );
}
