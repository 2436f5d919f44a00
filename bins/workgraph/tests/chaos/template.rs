//! Folder from which every history begins: a stopped database with a demo, a project that nobody changes, and a session.
use crate::common::{RawConnection, Reply, request};
use crate::node::{Node, settings};
use crate::postgres_server::{PostgresServer, is_installed};
use crate::web::{App, sign_in};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use workgraph_limits_redis::test_server::TestServer;
use workgraph_testkit::ScratchFolder;

/// Tasks of the project that nobody changes.
pub(crate) const STATIC_TASKS: usize = 45;

/// Credits of a token that has few of them; it regains as many in a minute.
const CREDITS: usize = 60;

/// Facts that clients need.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) token: String,
    /// Tokens of a user of the free plan: two with a small quota, and one with a small balance of credits.
    pub(crate) limited: [String; 3],
    pub(crate) workspace: String,
    pub(crate) team: String,
    pub(crate) static_project: String,
    pub(crate) app: App,
    pub(crate) origin: String,
    /// Cookies of a session.
    pub(crate) session: String,
}

/// Stopped database and data folder.
#[derive(Debug)]
pub(crate) struct Template {
    /// Folder of everything, which is removed when the process ends, however it ends.
    pub(crate) root: PathBuf,
    pub(crate) access: Access,
    _watcher: Child,
}

/// Returns the template, which is made once; `None` if there is no PostgreSQL or no Redis, which was printed then.
pub(crate) fn template() -> Option<&'static Template> {
    static TEMPLATE: OnceLock<Option<Template>> = OnceLock::new();
    TEMPLATE.get_or_init(make).as_ref()
}

fn make() -> Option<Template> {
    if !is_installed() {
        return None;
    }
    let redis = TestServer::start(&[])?;
    let folder = ScratchFolder::in_memory("chaos");
    let root = folder.path().to_owned();
    // The watcher removes it.
    std::mem::forget(folder);
    let watcher = watch(&root);
    let home = root.join("template");
    let mut database = PostgresServer::create(&home);
    database.sql("CREATE DATABASE workgraph TEMPLATE template0 ENCODING 'UTF8'");
    let url = format!(
        "postgres:///workgraph?host={}&user=postgres",
        home.display()
    );
    let own = root.join("template-node");
    std::fs::create_dir_all(own.join("files")).unwrap();
    let mut settings = settings(&url, &redis.url(), &own.join("files"));
    // The demo itself must not meet the small limit.
    settings.retain(|(name, _)| name != "limits.standard_free");
    let mut node = Node::new(own, settings);
    let port = node.start();
    let access = prepare(&node, port);
    // Once there is an answer, there are keys: without, each node of each history would make one.
    ask(port, "", "GET", "/openid_connect/jwks", None);
    node.signal("-TERM");
    node.wait();
    database.stop();
    Some(Template {
        root,
        access,
        _watcher: watcher,
    })
}

/// Starts a process that ends all databases and removes the folder when this process has ended: its input is closed
/// then.
fn watch(root: &Path) -> Child {
    use std::os::unix::process::CommandExt;
    let script = "trap '' INT TERM HUP; cat >/dev/null; \
        for file in \"$1\"/*/data/postmaster.pid \"$1\"/*/*/data/postmaster.pid; do \
        [ -e \"$file\" ] && kill -QUIT \"$(head -n 1 \"$file\")\" 2>/dev/null; done; sleep 1; rm -rf \"$1\"";
    let mut watcher = Command::new("sh");
    watcher.args(["-c", script, "sh"]).arg(root);
    watcher.stdin(Stdio::piped()).stdout(Stdio::null());
    watcher
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap()
}

fn ask(port: u16, token: &str, method: &str, path: &str, body: Option<&Value>) -> Reply {
    let mut connection = RawConnection::open(port).unwrap();
    let reply = connection.ask(&request(method, path, token, body)).unwrap();
    assert!(reply.status < 300, "{method} {path}: {}", reply.text());
    reply
}

fn prepare(node: &Node, port: u16) -> Access {
    let boot = std::fs::read(node.data().join("bootstrap.json")).unwrap();
    let boot: Value = serde_json::from_slice(&boot).unwrap();
    let text = |pointer: &str| {
        let value = boot.pointer(pointer).and_then(Value::as_str);
        value
            .unwrap_or_else(|| panic!("no {pointer}: {boot}"))
            .to_owned()
    };
    let token = text("/personal_access_token");
    let paid = boot["workspaces"].as_array().unwrap().iter();
    let paid = paid.clone().find(|w| w["plan"] == "paid").unwrap();
    let workspace = paid["gid"].as_str().unwrap().to_owned();
    let teams = boot["teams"].as_array().unwrap().iter();
    let team = teams.clone().find(|t| {
        t["workspace"] == workspace.as_str() || t["workspace"]["gid"] == workspace.as_str()
    });
    let team = team.unwrap()["gid"].as_str().unwrap().to_owned();
    let project = json!({"data": {"name": "static", "workspace": workspace, "team": team}});
    let project = ask(port, &token, "POST", "/projects", Some(&project)).json();
    let static_project = project["data"]["gid"].as_str().unwrap().to_owned();
    for number in 0..STATIC_TASKS {
        let task =
            json!({"data": {"name": format!("still {number}"), "projects": [static_project]}});
        ask(port, &token, "POST", "/tasks", Some(&task));
    }
    let free = text("/free_token");
    let me = ask(port, &free, "GET", "/users/me", None).json();
    let email = me["data"]["email"].as_str().unwrap();
    let made: [Value; 2] = std::array::from_fn(|_| {
        let made = node.run(&["admin", "--json", "token", "create", "--user", email]);
        serde_json::from_slice(&made.stdout).unwrap()
    });
    let of_token = |at: usize| made[at]["token"].as_str().unwrap().to_owned();
    let id = made[1]["id"].to_string();
    let own = [
        "admin",
        "limits",
        "token",
        id.trim_matches('"'),
        "standard=1000000",
    ];
    let limited = node.run(&[&own[..], &[&format!("cost={CREDITS}")]].concat());
    assert!(limited.status.success(), "{limited:?}");
    let origin = text("/auth_url");
    let session = sign_in(
        port,
        &origin,
        &text("/users/0/email"),
        &text("/users/0/password"),
    );
    Access {
        limited: [free, of_token(0), of_token(1)],
        app: App {
            id: text("/apps/0/client_id"),
            secret: text("/apps/0/client_secret"),
            redirect: text("/apps/0/redirect_uri"),
        },
        token,
        workspace,
        team,
        static_project,
        origin,
        session,
    }
}
