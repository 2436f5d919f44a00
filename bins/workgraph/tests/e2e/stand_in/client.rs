//! A stand-in, its worlds, and requests to them.
use crate::common::{Folder, PATIENCE, RawConnection, Reply, binary, clock, command, pause};
use serde_json::{Value, json};
use std::process::{Child, Stdio};

/// Time at which the clocks of these tests begin.
pub(crate) const BEGIN: &str = "2026-03-02T09:30:00.000Z";

/// Running stand-in.
pub(crate) struct StandIn {
    child: Child,
    pub(crate) port: u16,
    folder: Folder,
}

impl StandIn {
    pub(crate) fn start(name: &str) -> Self {
        Self::start_with(name, &["--seed", "7"])
    }

    pub(crate) fn start_with(name: &str, arguments: &[&str]) -> Self {
        Self::start_in(name, arguments, &[])
    }

    /// Starts one in an environment.
    pub(crate) fn start_in(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let folder = Folder::new(name);
        let port_file = folder.path().join("port");
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let child = command(&binary())
            .args([
                "serve",
                "--stand-in",
                "--listen",
                "127.0.0.1:0",
                "--now",
                BEGIN,
            ])
            .args(arguments)
            .envs(environment.iter().copied())
            .arg("--port-file")
            .arg(&port_file)
            .arg("--data")
            .arg(folder.data())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let (begun, mut port) = (clock(), None);
        while port.is_none() {
            assert!(begun.elapsed() < PATIENCE, "no port: {}", folder.log());
            pause(5);
            let text = std::fs::read_to_string(&port_file).unwrap_or_default();
            port = text.trim().parse().ok();
        }
        Self {
            child,
            port: port.unwrap(),
            folder,
        }
    }

    /// Returns the id of the process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) const fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        self.try_send(method, path, headers, body).unwrap()
    }

    /// Sends a request; fails if the connection breaks off.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Reply, String> {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += "Host: localhost\r\n";
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        text += &format!("\r\n{body}");
        RawConnection::open(self.port).unwrap().ask(text.as_bytes())
    }

    /// Sends a control request that must succeed.
    pub(crate) fn control(&self, method: &str, path: &str, body: Value) -> Value {
        let json = [("Content-Type", "application/json")];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let reply = self.send(method, path, &json, &body);
        assert!(reply.status < 300, "{method} {path}: {}", reply.text());
        reply.json()["data"].clone()
    }

    pub(crate) fn world(&self, options: Value) -> World<'_> {
        let made = self.control("POST", "/-/worlds", options);
        World {
            stand_in: self,
            path: format!(
                "/w/{}",
                made["id"].as_str().unwrap().trim_start_matches('w')
            ),
            token: made["personal_access_token"].as_str().unwrap().to_owned(),
            made,
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // This fails only when the process has ended already.
        let _over = self.child.kill();
        self.child.wait().unwrap();
    }
}

/// World of a stand-in.
pub(crate) struct World<'s> {
    pub(crate) stand_in: &'s StandIn,
    pub(crate) path: String,
    pub(crate) token: String,
    /// The reply that made it.
    pub(crate) made: Value,
}

impl World<'_> {
    pub(crate) fn control(&self, method: &str, path: &str, body: Value) -> Value {
        self.stand_in
            .control(method, &format!("{}{path}", self.path), body)
    }

    pub(crate) fn try_ask(&self, method: &str, path: &str, data: Value) -> Result<Reply, String> {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
        ];
        let body = if data.is_null() {
            String::new()
        } else {
            json!({ "data": data }).to_string()
        };
        let path = format!("{}/api/1.0{path}", self.path);
        self.stand_in.try_send(method, &path, &headers, &body)
    }

    pub(crate) fn ask(&self, method: &str, path: &str, data: Value) -> Reply {
        self.try_ask(method, path, data).unwrap()
    }

    /// Sends a request of the API that must succeed.
    pub(crate) fn data(&self, method: &str, path: &str, data: Value) -> Value {
        let reply = self.ask(method, path, data);
        assert!(reply.status < 300, "{method} {path}: {}", reply.text());
        reply.json()["data"].clone()
    }

    /// Returns the first workspace.
    pub(crate) fn workspace(&self) -> &str {
        self.made["workspaces"][0]["gid"].as_str().unwrap()
    }

    pub(crate) fn task(&self, name: &str) -> String {
        let made = self.data(
            "POST",
            "/tasks",
            json!({"name": name, "workspace": self.workspace()}),
        );
        made["gid"].as_str().unwrap().to_owned()
    }

    pub(crate) fn project(&self, name: &str) -> String {
        let team = &self.made["teams"][0]["gid"];
        let made = self.data("POST", "/projects", json!({"name": name, "team": team}));
        made["gid"].as_str().unwrap().to_owned()
    }

    pub(crate) fn advance(&self, period: &str) -> Value {
        let moved = self.control("POST", "/-/clock", json!({ "advance": period }));
        assert_eq!(moved["settled"], true, "{moved}");
        moved
    }

    /// Makes a project with a webhook whose inbox, `orders`, first answers a status some times, and a task in it. Returns the
    /// project.
    pub(crate) fn change_with_failing_inbox(&self, status: u16, times: u64) -> String {
        let project = self.project("Orders");
        let answer = json!({"answer": status, "times": times});
        self.control("PUT", "/-/inbox/orders", answer);
        self.webhook(&project, "orders");
        self.data(
            "POST",
            "/tasks",
            json!({"name": "Buy", "projects": [project]}),
        );
        project
    }

    /// Makes a webhook on a resource with an inbox of this name as its target.
    pub(crate) fn webhook(&self, resource: &str, inbox: &str) -> Value {
        let target = format!(
            "{}/-/inbox/{inbox}",
            self.made["auth_url"].as_str().unwrap()
        );
        self.data(
            "POST",
            "/webhooks",
            json!({"resource": resource, "target": target}),
        )
    }

    pub(crate) fn deliveries(&self, inbox: &str) -> Vec<Value> {
        let shown = self.control("GET", &format!("/-/inbox/{inbox}"), Value::Null);
        shown["deliveries"].as_array().unwrap().clone()
    }
}
