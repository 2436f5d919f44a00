//! The laws of limiters on this project's own limiter, and through the protocol.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use workgraph_laws::limiter::{JsonLinesLimiter, LimiterSetup, LimiterSubject as _, judge, laws};
use workgraph_laws::{RunOptions, Verdict};

/// Returns an example that answers JSON lines, which cargo builds with the tests.
fn example(name: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let folder: PathBuf = test.ancestors().nth(2).unwrap().join("examples").join(name);
    folder.display().to_string()
}

fn adapter() -> String {
    example("json_lines_limiter")
}

/// Returns options for a quick run.
fn few() -> RunOptions {
    RunOptions {
        operations: 500,
        ..RunOptions::default()
    }
}

#[test]
fn the_limiter_of_workgraph_limits_keeps_every_law() {
    let mut subject = JsonLinesLimiter::start_program(&example("workgraph_limits"), &[]).unwrap();
    let report = judge(&mut subject, &few()).unwrap();
    assert_eq!(
        report.with_verdict(Verdict::Holds).count(),
        laws().count(),
        "{report}"
    );
}

#[test]
fn each_law_fails_on_its_mutant_through_the_protocol() {
    for (law, _) in laws() {
        let mut subject = JsonLinesLimiter::start_program(&adapter(), &[law.to_owned()]).unwrap();
        let options = RunOptions {
            operations: 20_000,
            run: vec![law.to_owned()],
            ..RunOptions::default()
        };
        let report = judge(&mut subject, &options).unwrap();
        let broken = report.with_verdict(Verdict::Broken).next();
        let broken = broken.unwrap_or_else(|| panic!("the mutant of {law} keeps it"));
        assert!(broken.steps.len() <= 12, "{report}");
    }
}

/// 100,000 operations over JSON lines take less than ten seconds, also where nothing is optimized: the quickest of a hundred rounds
/// of 100 takes less than 10 ms. Other tests run at the same time.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how long it takes is what is tested"
)]
fn a_hundred_thousand_operations_over_json_lines_take_less_than_ten_seconds() {
    let mut subject = JsonLinesLimiter::start_program(&adapter(), &[]).unwrap();
    let setup = LimiterSetup {
        window_ms: 60_000,
        quota: 5,
        permits: None,
        cost: None,
    };
    let rounds = (0..100).map(|round| {
        let begun = Instant::now();
        subject.start(&setup).unwrap();
        for operation in 1..100 {
            subject.admit("a", 1, round * 1_000 + operation).unwrap();
        }
        begun.elapsed()
    });
    let quickest = rounds.min().unwrap();
    assert!(quickest < Duration::from_millis(10), "{quickest:?}");
}

#[test]
fn the_reference_keeps_every_law_through_the_protocol() {
    let mut subject = JsonLinesLimiter::start_program(&adapter(), &[]).unwrap();
    let report = judge(&mut subject, &few()).unwrap();
    assert_eq!(report.exit_status(&[]), 0, "{report}");
}

#[test]
fn a_program_that_says_nothing_can_not_be_judged() {
    let refused = JsonLinesLimiter::start_program("true", &[]).unwrap_err();
    assert!(
        refused.to_string().contains("the program ended"),
        "{refused}"
    );
    let refused = JsonLinesLimiter::start_program("/nowhere", &[]).unwrap_err();
    assert!(refused.to_string().contains("does not start"), "{refused}");
}
