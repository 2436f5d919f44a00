//! docs/LAWS.md: its tables are those of the laws, and its adapters are judged as it says. docs/generated/LAWS-TABLE.md: it has every
//! subject and law, and nothing of ours is broken.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]

use std::path::PathBuf;
use std::process::Command;

use workgraph_laws::limiter::{self, JsonLinesLimiter};
use workgraph_laws::{Report, RunOptions, Verdict, pagination, receiver};

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
    let options = RunOptions {
        operations: 500,
        ..RunOptions::default()
    };
    let report = limiter::judge(&mut subject, &options).unwrap();
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

/// Returns what the Python adapter becomes with other texts, and its verdicts.
fn judged_python(name: &str, changes: &[(&str, &str)], options: &RunOptions) -> Report {
    let mut text = block("python").to_owned();
    for (right, other) in changes {
        assert!(text.contains(right), "{right}");
        text = text.replace(right, other);
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{}-{name}.py", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let arguments = [file.display().to_string()];
    let mut subject = JsonLinesLimiter::start_program("python3", &arguments).unwrap();
    limiter::judge(&mut subject, options).unwrap()
}

#[test]
fn a_limiter_that_states_no_wait_is_judged_by_its_other_laws() {
    if !exists("python3") {
        return;
    }
    let changes = [
        ("[\"quota\"]})", "[\"quota\"], \"wait\": \"none\"})"),
        (", \"wait_ms\": times[0] + window - op[\"now\"]", ""),
    ];
    let few = RunOptions {
        operations: 200,
        ..RunOptions::default()
    };
    let report = judged_python("silent", &changes, &few);
    assert_eq!(report.exit_status(&[]), 0, "{report}");
    let about_waits = report
        .with_verdict(Verdict::Skipped)
        .filter(|law| law.why == "the limiter states no wait");
    let about_waits: Vec<_> = about_waits.map(|law| law.law).collect();
    assert_eq!(about_waits, ["G2", "G3", "G4"], "{report}");
}

/// One unit less than a wait of whole seconds is a second less, from the first refusal on.
#[test]
fn a_wait_in_whole_seconds_is_judged_by_the_second() {
    if !exists("python3") {
        return;
    }
    let whole = [(
        "\"wait_ms\": times[0] + window - op[\"now\"]",
        "\"retry_after\": -((op[\"now\"] - times[0] - window) // 1000)",
    )];
    let only_g3 = RunOptions {
        run: vec!["G3".to_owned()],
        ..RunOptions::default()
    };
    let report = judged_python("seconds", &whole, &only_g3);
    assert_eq!(report.exit_status(&[]), 0, "{report}");
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
        let name = format!("wrong-{law}");
        let only = RunOptions {
            run: vec![law.to_owned()],
            ..RunOptions::default()
        };
        let report = judged_python(&name, &[(right, wrong)], &only);
        let broken = report
            .with_verdict(Verdict::Broken)
            .find(|broken| broken.law == law);
        let broken = broken.unwrap_or_else(|| panic!("{law} is not broken: {report}"));
        assert!(broken.steps.len() <= 12, "{report}");
    }
}

const TABLE: &str = include_str!("../../../docs/generated/LAWS-TABLE.md");
const SUBJECTS: &str = include_str!("../subjects/subjects.toml");

/// Returns the rows of the two tables of verdicts, cell by cell.
fn verdict_rows() -> Vec<Vec<&'static str>> {
    let rows = TABLE.lines().filter(|line| line.starts_with("| ["));
    rows.map(|row| row.split('|').map(str::trim).collect())
        .collect()
}

/// Returns the adapters that subjects.toml names.
fn adapters() -> Vec<&'static str> {
    let lines = SUBJECTS.lines();
    let named = lines.filter_map(|line| line.strip_prefix("adapter = \"")?.strip_suffix('"'));
    named.collect()
}

#[test]
fn the_table_has_every_subject_and_every_law() {
    let rows = verdict_rows();
    assert!(rows.len() >= 12, "{rows:?}");
    assert_eq!(
        rows.len(),
        adapters().len(),
        "run `just laws-table` after a change of subjects.toml"
    );
    for law in [
        limiter::laws().collect::<Vec<_>>(),
        pagination::laws().collect(),
    ] {
        let names: Vec<_> = law.iter().map(|(name, _)| *name).collect();
        let head = format!("| Subject | Version | Licence | {} |", names.join(" | "));
        assert!(TABLE.contains(&head), "{head}");
        for (name, rule) in law {
            assert!(TABLE.contains(&format!("| {name} | {rule} |")), "{name}");
        }
    }
}

#[test]
fn every_adapter_is_in_the_table_and_every_file_of_the_folders_is_an_adapter() {
    // The protocol of each language, and the application that two pagers share.
    let shared = [
        "main.rs",
        "json_lines.py",
        "django_app.py",
        "json_lines.mjs",
    ];
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("subjects");
    let adapters = adapters();
    for adapter in &adapters {
        assert!(folder.join(adapter).is_file(), "{adapter}");
        let link = match adapter.strip_prefix("../") {
            Some(own) => format!("(../../crates/laws/{own})"),
            None => format!("(../../crates/laws/subjects/{adapter})"),
        };
        assert!(TABLE.contains(&link), "{link}");
    }
    for language in ["rust/src", "python", "node", "own"] {
        for entry in std::fs::read_dir(folder.join(language)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_program = [".rs", ".py", ".mjs"].iter().any(|end| name.ends_with(end));
            let path = format!("{language}/{name}");
            if is_program && !shared.contains(&name.as_str()) {
                assert!(adapters.contains(&path.as_str()), "{path} is no adapter");
            }
        }
    }
}

#[test]
fn nothing_of_ours_breaks_a_law() {
    let own: Vec<_> = verdict_rows()
        .into_iter()
        .filter(|row| row[1].contains("/own/") || row[1].contains("/examples/"))
        .collect();
    assert_eq!(own.len(), 2, "the limiter and the pager: {own:?}");
    for row in own {
        let verdicts = &row[4..row.len() - 1];
        assert!(verdicts.len() >= 10, "{row:?}");
        assert!(
            verdicts.iter().all(|mark| ["✓", "–"].contains(mark)),
            "{row:?}"
        );
    }
}
