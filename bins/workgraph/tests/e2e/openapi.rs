//! The OpenAPI document as others read it.
use crate::clients::{ready, root};
use crate::common::{Folder, Server, WIDE, binary, command, plain};
use crate::sdk::passed;

/// The document needs no token, and the command prints the same one.
#[test]
fn the_document_is_served_and_printed() {
    let folder = Folder::new("openapi");
    let server = Server::start(&folder, WIDE);
    let request = plain("GET", "/openapi.json", &[], b"");
    let served = server.raw_connection().ask(&request).unwrap().json();
    let output = command(&binary()).arg("openapi").output().unwrap();
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(served["paths"], printed["paths"]);
    // Without `public_url` the address is relative to that of the document.
    assert_eq!(served["servers"][0]["url"], "/api/1.0");
}

/// The document says no more and no less than the replies of the transcripts and its own examples do, judged by a validator of
/// others.
#[test]
fn replies_are_as_the_document_says() {
    let programs = ["python3", "node", "npm"];
    let Some(clients) = ready("a validator of JSON Schema", &programs, "install.sh") else {
        return;
    };
    let mut script = command(clients.join("openapi/bin/python").to_str().unwrap());
    script
        .arg(root().join("clients/python/replies.py"))
        .arg(root().join("docs/generated/openapi.json"))
        .arg(root().join("fixtures/transcripts"));
    passed(script, &Folder::new("openapi-replies"));
}

/// Runs a third-party program that reads the document against a server.
fn used_by(program: &str) {
    let Some(clients) = ready(program, &["python3", "node", "npm"], "install.sh") else {
        return;
    };
    let folder = Folder::new(&format!("openapi-{program}"));
    let server = Server::start(&folder, WIDE);
    let python = clients.join("openapi/bin/python");
    let mut script = command(python.to_str().unwrap());
    script
        .arg(root().join("clients/python/openapi.py"))
        .arg(program)
        .env("BASE_URL", server.demo("/base_url"))
        .env("TOKEN", server.token())
        .env("WORKSPACE", server.workspace("paid"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    passed(script, &folder);
}

/// Requests made from the document find no error of the server, no status and no reply that it does not have.
#[test]
fn requests_made_from_the_document_find_no_fault() {
    used_by("schemathesis");
}

#[test]
fn a_client_that_is_generated_from_the_document_works() {
    used_by("generated-client");
}
