//! Secrets that were issued are in no file: not in the database, not in its log, not in the server's log.
use super::{App, Browser, admin_app, demo, text};
use crate::common::{Folder, admin, request};
use serde_json::json;

/// B26, B60, B63, B66.
#[test]
fn no_secret_is_in_the_database_or_the_logs() {
    let (folder, mut server) = demo("oauth-secrets");
    let app = App::of(&server, 0);
    let mut secrets: Vec<String> =
        vec![server.token().to_owned(), server.demo("/users/0/password")];
    {
        let mut browser = Browser::signed_in(&server, 0);
        for _ in 0..3 {
            let code = browser.allow(&app, &[("nonce", "n")]);
            let reply = app.redeem(&server, &code, &[]).json();
            secrets.extend(
                ["access_token", "refresh_token", "id_token"].map(|name| text(&reply, name)),
            );
            let bought = app
                .refresh(&server, &text(&reply, "refresh_token"), &[])
                .json();
            secrets.push(text(&bought, "access_token"));
            app.redeem(&server, &code, &[("code_verifier", "")]);
            app.refresh(&server, "wgr_x", &[("client_secret", &app.secret)]);
            secrets.push(code);
        }
        secrets.push(browser.cookies["workgraph"].clone());
    }
    for at in 0..3 {
        secrets.push(App::of(&server, at).secret);
    }
    secrets.push(text(
        &admin_app(&folder, &["reset-secret", &app.id]),
        "client_secret",
    ));
    let gid = server.demo("/users/0/gid");
    secrets.push(text(
        &admin(&folder, &["token", "create", "--user", &gid]),
        "token",
    ));
    let workspace = server.workspace("paid");
    let service = [
        "service-account",
        "create",
        "--workspace",
        &workspace,
        "--name",
        "Robot",
    ];
    secrets.push(text(&admin(&folder, &service), "token"));
    for secret in &secrets {
        // Presented in all places, so that it would be logged if anything were.
        let bytes = request(
            "POST",
            &format!("/tasks?opt_fields={secret}"),
            secret,
            Some(&json!({"data": {}})),
        );
        server.raw_connection().ask(&bytes).unwrap();
        app.post(
            &server,
            "/-/oauth_revoke",
            &[("token", secret), ("client_secret", secret)],
        );
        app.post(&server, "/-/token_info", &[("token", secret)]);
    }
    assert!(secrets.len() >= 20, "{}", secrets.len());
    let running = found(&folder, &secrets);
    server.stop();
    let stopped = found(&folder, &secrets);
    assert!(
        running.is_empty() && stopped.is_empty(),
        "{running:?} {stopped:?}"
    );
    // The same search finds texts that are there.
    assert!(!found(&folder, &[gid, "Robot".to_owned()]).is_empty());
}

/// Returns the files that hold one of the texts; `bootstrap.json` is there to hold them.
fn found(folder: &Folder, secrets: &[String]) -> Vec<String> {
    let mut hits = Vec::new();
    let mut files = vec![folder.path().join("log")];
    for entry in std::fs::read_dir(folder.data()).unwrap() {
        files.push(entry.unwrap().path());
    }
    if let Some(shared) = folder.shared() {
        let dump = folder.path().join("dump");
        let mut run = std::process::Command::new("pg_dump");
        run.arg("--dbname").arg(shared.database.url());
        assert!(run.arg("--file").arg(&dump).status().unwrap().success());
        files.push(dump);
    }
    for file in files
        .iter()
        .filter(|file| file.is_file() && !file.ends_with("bootstrap.json"))
    {
        let bytes = std::fs::read(file).unwrap();
        for (at, secret) in secrets.iter().enumerate() {
            // A secret's random part, without the prefix it has in common with others.
            let core = secret
                .get(4..)
                .filter(|_| secret.starts_with("wg"))
                .unwrap_or(secret);
            // A dump of a database shows bytes as digits.
            let hex: String = core.bytes().map(|byte| format!("{byte:02x}")).collect();
            let forms = [core.as_bytes(), hex.as_bytes()];
            if forms
                .iter()
                .any(|form| bytes.windows(form.len()).any(|window| window == *form))
            {
                hits.push(format!("{} in {}", at, file.display()));
            }
        }
    }
    hits
}
