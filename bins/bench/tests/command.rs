//! The command as a program.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]
use std::process::Command;

/// Runs the command, which must fail, and returns what it prints.
fn refused(arguments: &[&str]) -> String {
    let command = Command::new(env!("CARGO_BIN_EXE_workgraph-bench"))
        .args(arguments)
        .output()
        .unwrap();
    assert!(!command.status.success(), "{arguments:?}");
    String::from_utf8(command.stderr).unwrap()
}

#[test]
fn a_count_names_the_argument_that_is_wrong() {
    let text = refused(&["count", "--server", "/no/such/server"]);
    assert!(text.contains("--server /no/such/server"), "{text}");
    let here = env!("CARGO_BIN_EXE_workgraph-bench");
    let text = refused(&["count", "--server", here, "--only", "no-such-row"]);
    assert!(text.contains("--only"), "{text}");
}
