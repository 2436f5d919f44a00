use super::*;

fn options(run: &str) -> RunOptions {
    RunOptions {
        operations: 20_000,
        run: vec![run.to_owned()],
        ..RunOptions::default()
    }
}

#[test]
fn the_reference_keeps_every_law() {
    let options = RunOptions {
        operations: 5_000,
        ..RunOptions::default()
    };
    let report = judge(&mut ReferenceLimiter::new(), &options).unwrap();
    assert_eq!(report.exit_status(&[]), 0, "{report}");
    assert_eq!(
        report.with_verdict(crate::Verdict::Holds).count(),
        LAWS.len()
    );
}

#[test]
fn each_law_fails_on_its_mutant_with_a_short_counterexample() {
    for (law, _) in laws() {
        let report = judge(&mut ReferenceLimiter::breaking(law), &options(law)).unwrap();
        assert_eq!(report.exit_status(&[]), 1, "the mutant of {law} keeps it");
        let steps = report.laws.iter().map(|law| law.steps.len()).max();
        assert!(steps.is_some_and(|steps| steps <= 12), "{report}");
    }
}

/// Hostile answers of a limiter make no law panic.
struct HostileLimiter(LimiterProfile, Rng);

impl LimiterSubject for HostileLimiter {
    fn profile(&self) -> &LimiterProfile {
        &self.0
    }
    fn start(&mut self, _: &LimiterSetup) -> Result<(), SubjectError> {
        Ok(())
    }
    fn admit(&mut self, _: &str, _: u32, _: u64) -> Result<LimiterAnswer, SubjectError> {
        let extreme = self.1.choice([0, 1, u64::MAX, u64::MAX - 1]).unwrap();
        Ok(if self.1.bool() {
            LimiterAnswer::Admitted { ticket: extreme }
        } else {
            LimiterAnswer::Refused { wait_ms: extreme }
        })
    }
    fn finish(&mut self, _: u64) -> Result<(), SubjectError> {
        Ok(())
    }
    fn settle(&mut self, _: u64, _: u32, _: u64) -> Result<(), SubjectError> {
        Ok(())
    }
    fn set_quota(&mut self, _: u32) -> Result<(), SubjectError> {
        Ok(())
    }
    fn sweep(&mut self, _: u64) -> Result<(), SubjectError> {
        Ok(())
    }
}

#[test]
fn no_answer_makes_a_law_panic() {
    for seed in 0..20 {
        let profile = ReferenceLimiter::new().profile().clone();
        let mut hostile = HostileLimiter(profile, Rng::with_seed(seed));
        let options = RunOptions {
            operations: 200,
            seed,
            ..RunOptions::default()
        };
        let report = judge(&mut hostile, &options).unwrap();
        assert_eq!(report.exit_status(&[]), 1, "{report}");
    }
}

#[test]
fn an_unknown_law_is_named() {
    let refused = judge(&mut ReferenceLimiter::new(), &options("G99")).unwrap_err();
    assert!(
        refused.to_string().contains("no law is named G99"),
        "{refused}"
    );
}
