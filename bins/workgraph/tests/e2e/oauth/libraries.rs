//! Libraries for signing in of other projects, configured as people do: the scripts in `clients/`.
use super::{App, admin_app, demo, text};
use crate::clients::root;
use crate::common::{Folder, Server, command};
use crate::sdk::{clients, passed};
use std::process::Command;

/// Returns a script that signs in as the demo's first user, if the libraries can be installed here.
fn script(server: &Server, name: &str) -> Option<Command> {
    let clients = clients()?;
    let mut run = command("node");
    run.arg(root().join("clients/node").join(name))
        .env("CLIENTS", clients)
        .env("BASE_URL", server.demo("/base_url"))
        .env("AUTH_URL", server.demo("/auth_url"))
        .env("EMAIL", server.demo("/users/0/email"))
        .env("PASSWORD", server.demo("/users/0/password"));
    Some(run)
}

fn drive(name: &str, prepare: impl FnOnce(&Folder, &Server, &mut Command)) {
    let (folder, server) = demo(name);
    let Some(mut run) = script(&server, &format!("{name}.mjs")) else {
        return;
    };
    prepare(&folder, &server, &mut run);
    passed(run, &folder);
}

/// B76. B82. Auth.js with a provider given by hand, whose issuer is a guess or none at all.
#[test]
fn authjs_signs_in_with_a_provider_given_by_hand() {
    drive("authjs", |folder, server, run| {
        let callback = "http://127.0.0.1:8099/auth/callback/workgraph";
        let made = admin_app(
            folder,
            &[
                "create",
                "--name",
                "Auth.js",
                "--redirect-uri",
                callback,
                "--owner",
                &server.demo("/users/0/email"),
                "--workspace",
                &server.workspace("paid"),
            ],
        );
        run.env("CALLBACK", callback)
            .env("CLIENT_ID", text(&made, "client_id"))
            .env("CLIENT_SECRET", text(&made, "client_secret"));
    });
}

/// B76. B81. B82. openid-client with metadata given in code, and by discovery.
#[test]
fn openid_client_signs_in_by_hand_and_by_discovery() {
    drive("openid", |_, server, run| {
        let (full, scoped) = (App::of(server, 0), App::of(server, 1));
        run.env("REDIRECT_URI", full.redirect)
            .env("CLIENT_ID", full.id)
            .env("CLIENT_SECRET", full.secret)
            .env("SCOPED_CLIENT_ID", scoped.id)
            .env("SCOPED_CLIENT_SECRET", scoped.secret);
    });
}
