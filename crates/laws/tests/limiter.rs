//! The laws of limiters on this project's own limiter, and through the protocol.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]

use std::path::PathBuf;

use workgraph_laws::limiter::{
    JsonLinesLimiter, LimiterAbility, LimiterAnswer, LimiterProfile, LimiterSetup, LimiterSubject,
    judge, laws,
};
use workgraph_laws::{RunOptions, SubjectError};
use workgraph_limits::rate::WindowLength;
use workgraph_limits::window::{Window, WindowTerms};

/// The window of workgraph-limits, which does not remember what it refused here.
struct OwnWindows {
    profile: LimiterProfile,
    terms: WindowTerms,
    windows: std::collections::HashMap<String, Window>,
}

impl LimiterSubject for OwnWindows {
    fn profile(&self) -> &LimiterProfile {
        &self.profile
    }
    fn start(&mut self, setup: &LimiterSetup) -> Result<(), SubjectError> {
        self.terms = WindowTerms {
            quota: setup.quota,
            remembered: 0,
            length: WindowLength::MINUTE,
        };
        self.windows.clear();
        Ok(())
    }
    fn admit(&mut self, key: &str, weight: u32, now: u64) -> Result<LimiterAnswer, SubjectError> {
        let window = self.windows.entry(key.to_owned()).or_default();
        if window.charge(self.terms, weight, now) {
            return Ok(LimiterAnswer::Admitted { ticket: 0 });
        }
        Ok(LimiterAnswer::Refused {
            wait_ms: window.wait(self.terms, weight),
        })
    }
    fn finish(&mut self, _: u64) -> Result<(), SubjectError> {
        Ok(())
    }
    fn settle(&mut self, _: u64, _: u32, _: u64) -> Result<(), SubjectError> {
        Ok(())
    }
    fn set_quota(&mut self, quota: u32) -> Result<(), SubjectError> {
        self.terms.quota = quota;
        Ok(())
    }
    fn sweep(&mut self, now: u64) -> Result<(), SubjectError> {
        self.windows
            .values_mut()
            .for_each(|window| window.advance(WindowLength::MINUTE, now));
        self.windows.retain(|_, window| !window.is_empty());
        Ok(())
    }
}

#[test]
fn the_window_of_workgraph_limits_keeps_every_law() {
    use LimiterAbility::{Change, Clock, Quota, Sweep, Weights};
    let mut profile =
        LimiterProfile::new("workgraph-limits", &[Quota, Weights, Change, Sweep, Clock]);
    profile.fixed = Some((WindowLength::MINUTE.millis(), 5));
    let terms = WindowTerms {
        quota: 5,
        remembered: 0,
        length: WindowLength::MINUTE,
    };
    let mut subject = OwnWindows {
        profile,
        terms,
        windows: std::collections::HashMap::new(),
    };
    let options = RunOptions {
        operations: 20_000,
        ..RunOptions::default()
    };
    let report = judge(&mut subject, &options).unwrap();
    assert_eq!(report.exit_status(&[]), 0, "{report}");
}

/// Returns the example that answers JSON lines, which cargo builds with the tests.
fn adapter() -> String {
    let test = std::env::current_exe().unwrap();
    let folder: PathBuf = test
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples/json_lines_limiter");
    folder.display().to_string()
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
        assert_eq!(report.exit_status(&[]), 1, "the mutant of {law} keeps it");
    }
}

#[test]
fn the_reference_keeps_every_law_through_the_protocol() {
    let mut subject = JsonLinesLimiter::start_program(&adapter(), &[]).unwrap();
    let report = judge(&mut subject, &RunOptions::default()).unwrap();
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
