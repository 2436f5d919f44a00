//! Official client libraries against the real server: the workflows in `clients/`.
use crate::common::{Folder, Server, WIDE, admin, command, request};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Where the libraries are, or `None` if this test is switched off.
fn clients() -> Option<PathBuf> {
    if std::env::var("WORKGRAPH_SKIP_CLIENTS").is_ok_and(|v| v == "1") {
        // Not through a macro, whose output would only be seen of a failed test.
        let _shown = writeln!(
            std::io::stderr(),
            "SKIPPED: the official client libraries, for WORKGRAPH_SKIP_CLIENTS=1 is set"
        );
        return None;
    }
    let given = std::env::var("WORKGRAPH_CLIENTS").map(PathBuf::from);
    Some(given.unwrap_or_else(|_| root().join("target/clients")))
}

/// Runs a workflow that must pass on a server of its own.
fn drive(name: &str, installed: &str, program: &str, script: &str) {
    let Some(clients) = clients() else { return };
    assert!(
        clients.join(installed).exists(),
        "{} is not there. Install the client libraries with clients/install.sh (PyPI and npm are needed once), or set \
         WORKGRAPH_SKIP_CLIENTS=1 to go without this test.",
        clients.join(installed).display()
    );
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
    drive(
        "python",
        "python/lib",
        "python/bin/python",
        "clients/python/workflow.py",
    );
}

#[test]
fn the_node_sdk_works_through_a_move() {
    drive(
        "node",
        "node/node_modules/asana",
        "node",
        "clients/node/workflow.cjs",
    );
}
