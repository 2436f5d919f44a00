//! Official client libraries against the real server: the workflows in `clients/`.
use crate::clients::{ready, root};
use crate::cluster::Cluster;
use crate::common::{Folder, Server, WIDE, admin, command, request};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of the libraries, if they can be installed here.
pub(crate) fn clients() -> Option<PathBuf> {
    let what = "the workflows with client libraries";
    ready(what, &["python3", "node", "npm"], "install.sh")
}

/// Runs a workflow that must pass on a server of its own.
fn drive(name: &str, program: &str, script: &str) {
    let Some(clients) = clients() else { return };
    let folder = Folder::new(name);
    let server = Server::start(&folder, WIDE);
    let base = server.demo("/base_url");
    drive_at(&base, &server, &folder, &clients, program, script);
}

/// Runs a workflow that must pass on three servers, each request on the next of them.
fn drive_cluster(name: &str, program: &str, script: &str) {
    let Some(clients) = clients() else { return };
    let Some(cluster) = Cluster::start(name) else {
        return;
    };
    let base = format!("http://127.0.0.1:{}/api/1.0", cluster.proxy.port);
    let (server, folder) = (&cluster.nodes[0], &cluster.folders[0]);
    drive_at(&base, server, folder, &clients, program, script);
}

/// Runs a workflow at an address that leads to a server.
fn drive_at(
    base: &str,
    server: &Server,
    folder: &Folder,
    clients: &Path,
    program: &str,
    script: &str,
) {
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
        .env("BASE_URL", base)
        .env("TOKEN", server.token())
        .env("CLIENTS", clients);
    script
        .env("WORKSPACE", &workspace)
        .env("TEAM", server.team(&workspace))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    script
        .env("FOREIGN_TASK", foreign_task(folder, server))
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    passed(script, folder);
}

/// Returns a script of ours for the Python library, and the folder of the libraries.
pub(crate) fn python(script: &str) -> Option<(PathBuf, Command)> {
    let clients = clients()?;
    let mut run = command(clients.join("python/bin/python").to_str().unwrap());
    run.arg(root().join(script))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Some((clients, run))
}

/// Runs a script to its end, where it prints that all its steps passed.
pub(crate) fn passed(mut script: Command, folder: &Folder) {
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

/// Makes a task in a workspace that the demo's first user is not in.
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
        .raw_connection()
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

#[test]
fn the_python_sdk_works_over_three_nodes() {
    drive_cluster(
        "python-nodes",
        "python/bin/python",
        "clients/python/workflow.py",
    );
}

#[test]
fn the_node_sdk_works_over_three_nodes() {
    drive_cluster("node-nodes", "node", "clients/node/workflow.cjs");
}
