//! Official client libraries against the real server: the workflows in `clients/`.
use crate::common::{Folder, Server, WIDE, admin, command, request};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Where the libraries are, installed if they were not, or `None` if this test cannot or is not to
/// run here.
fn clients() -> Option<PathBuf> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    INSTALLED.get_or_init(installed).clone()
}

fn installed() -> Option<PathBuf> {
    let set = |name: &str| std::env::var(name).is_ok_and(|v| !v.is_empty() && v != "0");
    let there = |program: &str| command(program).arg("--version").output().is_ok();
    let missing: Vec<&str> = ["python3", "node", "npm"]
        .into_iter()
        .filter(|program| !there(program))
        .collect();
    let skipped = if set("WORKGRAPH_SKIP_CLIENTS") {
        Some("WORKGRAPH_SKIP_CLIENTS is set".to_owned())
    } else if missing.is_empty() {
        None
    } else {
        assert!(
            !set("CI"),
            "{missing:?} must be there in continuous integration"
        );
        Some(format!("{} must be there for it", missing.join(", ")))
    };
    if let Some(why) = skipped {
        // Not through a macro, whose output would only be seen of a failed test.
        let _shown = writeln!(
            std::io::stderr(),
            "SKIPPED: the workflows with the official client libraries: {why}"
        );
        return None;
    }
    let given = std::env::var("WORKGRAPH_CLIENTS").map(PathBuf::from);
    let folder = given.unwrap_or_else(|_| root().join("target/clients"));
    let mut install = command("bash");
    install.arg(root().join("clients/install.sh")).arg(&folder);
    let output = install.output().unwrap();
    assert!(
        output.status.success(),
        "the client libraries (PyPI asana, npm asana) could not be installed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(folder)
}

/// Runs a workflow that must pass on a server of its own.
fn drive(name: &str, program: &str, script: &str) {
    let Some(clients) = clients() else { return };
    let folder = Folder::new(name);
    let server = Server::start(&folder, WIDE);
    let workspace = server.workspace("paid");
    let program = if program.contains('/') {
        clients.join(program)
    } else {
        program.into()
    };
    let mut script = {
        let mut run = command(program.to_str().unwrap());
        run.arg(root().join(script));
        run
    };
    script
        .env("BASE_URL", server.demo("/base_url"))
        .env("TOKEN", server.token())
        .env("CLIENTS", &clients);
    script
        .env("WORKSPACE", &workspace)
        .env("TEAM", server.team(&workspace))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    script
        .env("FOREIGN_TASK", foreign_task(&folder, &server))
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    let output = script.output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out.contains(" steps passed"),
        "{out}\n{err}\n{}",
        folder.log()
    );
}

/// A task in a workspace that the demo's first user is not in.
fn foreign_task(folder: &Folder, server: &Server) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let workspace = text(&admin(folder, &["workspace", "create", "--name", "Elsewhere"])["gid"]);
    admin(
        folder,
        &[
            "user",
            "create",
            "--name",
            "Eve",
            "--email",
            "eve@elsewhere.example",
            "--workspace",
            &workspace,
        ],
    );
    let token = text(
        &admin(
            folder,
            &["token", "create", "--user", "eve@elsewhere.example"],
        )["token"],
    );
    let body = json!({"data": {"name": "secret", "workspace": workspace}});
    let reply = server
        .line()
        .ask(&request("POST", "/tasks", &token, Some(&body)))
        .unwrap();
    assert_eq!(reply.status, 201, "{}", reply.text());
    text(&reply.json()["data"]["gid"])
}

#[test]
fn the_python_sdk_works_through_a_launch() {
    drive("python", "python/bin/python", "clients/python/workflow.py");
}

#[test]
fn the_node_sdk_works_through_a_move() {
    drive("node", "node", "clients/node/workflow.cjs");
}
