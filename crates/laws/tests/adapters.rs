//! docs/LAWS.md: its tables are those of the laws, and its adapters are judged as it says.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]

use std::path::PathBuf;
use std::process::Command;

use workgraph_laws::limiter::{self, JsonLinesLimiter};
use workgraph_laws::{RunOptions, Verdict, pagination, receiver};

const DOCUMENT: &str = include_str!("../../../docs/LAWS.md");

/// Returns the first fenced block of a language.
fn block(language: &str) -> &'static str {
    let begun = DOCUMENT.split(&format!("```{language}\n")).nth(1).unwrap();
    begun.split("```").next().unwrap()
}

/// Writes a block into a file of its own and returns its path.
fn written(language: &str, name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{}-{name}", std::process::id()));
    std::fs::write(&file, block(language)).unwrap();
    file
}

/// Returns whether a program exists; a missing one is told, unless `WORKGRAPH_REQUIRE` says that nothing may be missing.
fn exists(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("{program} is not installed: its adapter is not tried");
    }
    found
}

fn keeps_the_laws(program: &str, arguments: &[String]) {
    let mut subject = JsonLinesLimiter::start_program(program, arguments).unwrap();
    let report = limiter::judge(&mut subject, &RunOptions::default()).unwrap();
    assert_eq!(report.exit_status(&[]), 0, "{report}");
    assert_eq!(report.with_verdict(Verdict::Holds).count(), 9, "{report}");
}

#[test]
fn the_tables_list_every_law() {
    for (law, rule) in limiter::laws()
        .chain(pagination::laws())
        .chain(receiver::laws())
    {
        assert!(
            DOCUMENT.contains(&format!("| {law} | {rule} |")),
            "missing: | {law} | {rule} |"
        );
    }
}

#[test]
fn every_adapter_has_at_most_20_lines() {
    for language in ["python", "typescript", "go"] {
        let lines = block(language)
            .lines()
            .filter(|line| !line.trim().is_empty())
            .count();
        assert!(lines <= 20, "{language}: {lines}");
    }
}

#[test]
fn the_python_adapter_keeps_the_laws() {
    if exists("python3") {
        let file = written("python", "limiter.py");
        keeps_the_laws("python3", &[file.display().to_string()]);
    }
}

#[test]
fn the_typescript_adapter_keeps_the_laws() {
    if !exists("node") {
        return;
    }
    // Types are taken off by hand where node is older than its own way to do that.
    let text = block("typescript")
        .replace(": object", "")
        .replace("<string, number[]>", "");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{}-limiter.mjs", std::process::id()));
    std::fs::write(&file, text).unwrap();
    keeps_the_laws("node", &[file.display().to_string()]);
}

/// A wrong limiter in another language: its wait is zero, all keys share one bucket, and it admits one too many.
#[test]
fn a_wrong_python_limiter_is_judged_wrong_with_a_short_counterexample() {
    if !exists("python3") {
        return;
    }
    let faults = [
        ("G4", "times[0] + window - op[\"now\"]", "0"),
        ("G6", "op[\"key\"]", "\"one\""),
        ("G1", "len(times) < quota", "len(times) <= quota"),
    ];
    for (law, right, wrong) in faults {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let file = folder.join(format!("{}-wrong-{law}.py", std::process::id()));
        let text = block("python");
        assert!(text.contains(right), "{right}");
        std::fs::write(&file, text.replace(right, wrong)).unwrap();
        let mut subject =
            JsonLinesLimiter::start_program("python3", &[file.display().to_string()]).unwrap();
        let report = limiter::judge(&mut subject, &RunOptions::default()).unwrap();
        let broken = report
            .with_verdict(Verdict::Broken)
            .find(|broken| broken.law == law);
        let broken = broken.unwrap_or_else(|| panic!("{law} is not broken: {report}"));
        assert!(broken.steps.len() <= 12, "{report}");
    }
}
