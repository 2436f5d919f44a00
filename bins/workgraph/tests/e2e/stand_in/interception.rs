//! Clients that know no address but that of the public service.
use crate::clients::{ready, root};
use crate::common::{binary, command};
use std::process::Output;

/// Runs a program with a stand-in that answers for a public host.
fn run(arguments: &[&str]) -> Output {
    let mut run = command(&binary());
    run.args(["run", "--seed", "7", "--intercept", "app.asana.com", "--"])
        .args(arguments)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    for name in ["NO_PROXY", "no_proxy", "HTTPS_PROXY", "https_proxy"] {
        run.env_remove(name);
    }
    run.output().unwrap()
}

/// The library requests asks the public host with two tokens, and each token reaches its world. Links name the public host. No other
/// host is reached.
#[test]
fn a_client_with_a_fixed_address_reaches_its_world() {
    let what = "requests to a public host";
    let Some(clients) = ready(what, &["python3", "node", "npm"], "install.sh") else {
        return;
    };
    let python = clients.join("tap/bin/python");
    let script = root().join("clients/python/intercepted.py");
    let output = run(&[python.to_str().unwrap(), script.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{error}");
    assert!(text.contains("4 steps passed"), "{text}\n{error}");
}

#[test]
fn the_exit_code_and_the_environment_are_those_of_the_program() {
    let output = run(&[
        "sh",
        "-c",
        "echo $WORKGRAPH_STAND_IN_URL $HTTPS_PROXY; exit 3",
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert_eq!(text.matches("http://127.0.0.1:").count(), 2, "{text}");
    let output = run(&["/no/such/program"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("/no/such/program"), "{error}");
}
