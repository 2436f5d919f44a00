//! A stand-in that is controlled from a shell.
use super::client::StandIn;
use crate::common::{Folder, binary, command};
use serde_json::Value;
use std::process::Output;

/// Runs a command against a stand-in.
fn run(stand_in: &StandIn, arguments: &[&str]) -> Output {
    let url = format!("http://127.0.0.1:{}", stand_in.port);
    let mut run = command(&binary());
    run.args(arguments).env("WORKGRAPH_STAND_IN_URL", url);
    run.output().unwrap()
}

/// Returns what a command prints, which must succeed.
fn printed(stand_in: &StandIn, arguments: &[&str]) -> String {
    let output = run(stand_in, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(stand_in: &StandIn, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(stand_in, arguments)).unwrap()
}

#[test]
fn a_shell_makes_worlds_moves_clocks_adds_faults_and_grades_clients() {
    let stand_in = StandIn::start("stand-in-commands");
    let folder = Folder::new("stand-in-commands-fixture");
    let fixture = folder.path().join("fixture.json");
    std::fs::write(
        &fixture,
        r#"{"people": [{"name": "Ann", "email": "ann@acme.test"}]}"#,
    )
    .unwrap();
    let options = ["--seed", "5", "--now", "2026-03-01T09:30:00Z"];
    let create = [
        "world",
        "create",
        "--name",
        "mine",
        "--setting",
        "limits.search=5",
    ];
    let made = json(&stand_in, &[&create[..], &options].concat());
    assert_eq!((&made["name"], &made["seed"]), (&"mine".into(), &5.into()));
    let id = made["id"].as_str().unwrap();
    let of_file = ["world", "create", "--fixture", fixture.to_str().unwrap()];
    assert_eq!(json(&stand_in, &of_file)["users"][0]["name"], "Ann");
    let copy = json(&stand_in, &["world", "copy", id, "--name", "copy"]);
    let copy = copy["id"].as_str().unwrap();
    assert_eq!(json(&stand_in, &["world", "show", copy])["name"], "copy");

    let clock = json(&stand_in, &["clock", "advance", "25h", "--world", id]);
    assert_eq!(clock["now"], "2026-03-02T10:30:00.000Z");
    let clock = json(&stand_in, &["clock", "show", "--world", copy]);
    assert_eq!(clock["now"], "2026-03-01T09:30:00.000Z");
    json(
        &stand_in,
        &["clock", "set", "2026-04-01T00:00:00Z", "--world", id],
    );
    assert_eq!(
        json(&stand_in, &["clock", "run", "--world", id])["mode"],
        "running"
    );
    assert_eq!(
        json(&stand_in, &["clock", "freeze", "--world", id])["mode"],
        "frozen"
    );

    let add = [
        "fault",
        "add",
        "error=internal",
        "operation=getUser",
        "times=1",
        "--world",
        id,
    ];
    let fault = printed(&stand_in, &add);
    let faults = json(&stand_in, &["fault", "list", "--world", id]);
    assert_eq!(faults[0]["id"], fault.trim());
    printed(&stand_in, &["fault", "delete", fault.trim(), "--world", id]);
    printed(&stand_in, &["fault", "clear", "--world", id]);
    let wrong = run(&stand_in, &["fault", "add", "error=strange"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("strange"));

    assert!(json(&stand_in, &["grade", "--world", id])["rules"].is_array());
    let junit = printed(
        &stand_in,
        &["grade", "--world", id, "--rules", "retry-after", "--junit"],
    );
    assert!(junit.contains("<testcase"), "{junit}");

    let exported = printed(&stand_in, &["world", "export", id]);
    std::fs::write(&fixture, exported).unwrap();
    let again = ["world", "create", "--fixture", fixture.to_str().unwrap()];
    assert_eq!(json(&stand_in, &again)["users"][0]["name"], "Ann Admin");
    assert!(printed(&stand_in, &["world", "recording", id]).contains("log"));
    printed(&stand_in, &["world", "reset", id]);
    printed(&stand_in, &["world", "delete", copy]);
    assert_eq!(
        json(&stand_in, &["world", "list"])
            .as_array()
            .unwrap()
            .len(),
        4
    );
    let gone = run(&stand_in, &["world", "show", copy]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("404"));
}

#[test]
fn a_broken_rule_is_an_exit_code() {
    let stand_in = StandIn::start("stand-in-grade-command");
    let world = stand_in.world(serde_json::json!({}));
    world.control(
        "POST",
        "/-/limits",
        serde_json::json!({"token": world.token, "exhaust": "standard"}),
    );
    for _ in 0..2 {
        assert_eq!(world.ask("GET", "/users/me", Value::Null).status, 429);
    }
    let id = world.made["id"].as_str().unwrap();
    let output = run(&stand_in, &["grade", "--world", id]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("retry-after"), "{text}");
}
