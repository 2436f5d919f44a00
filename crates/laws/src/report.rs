//! The outcome of a run: a verdict for each law, as text, JSON and JUnit.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::SubjectError;

/// Choice of laws, and the size of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Seed of all random choices; the same seed makes the same requests.
    pub seed: u64,
    /// Minimum number of operations for each law; a scenario that has begun is finished.
    pub operations: u64,
    /// Names of the only laws to run; all if empty.
    pub run: Vec<String>,
    /// Names of laws to leave out.
    pub skip: Vec<String>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            operations: 2_000,
            run: Vec::new(),
            skip: Vec::new(),
        }
    }
}

impl RunOptions {
    /// Returns the reason why the law with this name is not run, if any.
    pub(crate) fn skipped(&self, law: &str) -> Option<&'static str> {
        let named = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(law));
        if named(&self.skip) {
            Some("left out by --skip")
        } else if !self.run.is_empty() && !named(&self.run) {
            Some("not among the laws of --run")
        } else {
            None
        }
    }

    /// Checks that a law exists for every name in `run` and `skip`.
    pub(crate) fn check_names(&self, laws: &[&'static str]) -> Result<(), SubjectError> {
        for name in self.run.iter().chain(&self.skip) {
            if !laws.iter().any(|law| law.eq_ignore_ascii_case(name)) {
                let laws = laws.join(", ");
                return Err(SubjectError(format!(
                    "no law is named {name}; the laws are {laws}"
                )));
            }
        }
        Ok(())
    }
}

/// Verdict about one law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No scenario broke the law.
    Holds,
    /// A scenario broke the law.
    Broken,
    /// The law was not run.
    Skipped,
}

/// Law, and the verdict on the subject.
#[derive(Clone, Debug, Serialize)]
pub struct LawReport {
    /// Short name of the law, such as `W3`.
    pub law: &'static str,
    /// Rule that the law states.
    pub rule: &'static str,
    /// Verdict on the subject.
    pub verdict: Verdict,
    /// Description of the fault, or the reason why the law was skipped; empty if it holds.
    pub why: String,
    /// The shortest counterexample found, one operation per line.
    pub steps: Vec<String>,
}

impl LawReport {
    pub(crate) fn holds(law: &'static str, rule: &'static str) -> Self {
        Self {
            law,
            rule,
            verdict: Verdict::Holds,
            why: String::new(),
            steps: Vec::new(),
        }
    }

    pub(crate) fn skipped(law: &'static str, rule: &'static str, why: impl Into<String>) -> Self {
        Self {
            law,
            rule,
            verdict: Verdict::Skipped,
            why: why.into(),
            steps: Vec::new(),
        }
    }

    pub(crate) fn broken(
        law: &'static str,
        rule: &'static str,
        why: impl Into<String>,
        steps: Vec<String>,
    ) -> Self {
        Self {
            law,
            rule,
            verdict: Verdict::Broken,
            why: why.into(),
            steps,
        }
    }
}

/// All laws of a run with their verdicts.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the subject.
    pub subject: String,
    /// Seed that repeats the run.
    pub seed: u64,
    /// The laws, in their order.
    pub laws: Vec<LawReport>,
}

impl Report {
    /// Returns the laws with a verdict.
    pub fn with_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &LawReport> {
        self.laws.iter().filter(move |law| law.verdict == verdict)
    }

    /// Returns the exit status: 0 if every judged law holds, else 1. A law named in `known_failing` must be broken, and
    /// counts as a failure when it holds.
    #[must_use]
    pub fn exit_status(&self, known_failing: &[String]) -> u8 {
        let known = |law: &str| {
            known_failing
                .iter()
                .any(|name| name.eq_ignore_ascii_case(law))
        };
        let failed = self.laws.iter().any(|law| match law.verdict {
            Verdict::Holds => known(law.law),
            Verdict::Broken => !known(law.law),
            Verdict::Skipped => false,
        });
        u8::from(failed)
    }

    /// Formats the report as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    }

    /// Returns the report as a JUnit document with one test case for each law.
    #[must_use]
    pub fn junit(&self) -> String {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            text,
            "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
            XmlText(&self.subject),
            self.laws.len(),
            self.with_verdict(Verdict::Broken).count(),
            self.with_verdict(Verdict::Skipped).count(),
        );
        for law in &self.laws {
            let name = format!("{} {}", law.law, law.rule);
            let _ = write!(text, "  <testcase name=\"{}\"", XmlText(&name));
            let _ = match law.verdict {
                Verdict::Holds => writeln!(text, "/>"),
                Verdict::Skipped => {
                    writeln!(
                        text,
                        "><skipped message=\"{}\"/></testcase>",
                        XmlText(&law.why)
                    )
                }
                Verdict::Broken => writeln!(
                    text,
                    "><failure message=\"{}\">{}</failure></testcase>",
                    XmlText(&law.why),
                    XmlText(&law.steps.join("\n")),
                ),
            };
        }
        text.push_str("</testsuite>\n");
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, seed {}", self.subject, self.seed)?;
        for law in &self.laws {
            let verdict = match law.verdict {
                Verdict::Holds => "holds  ",
                Verdict::Broken => "BROKEN ",
                Verdict::Skipped => "skipped",
            };
            writeln!(f, "{verdict} {:<4}{}", law.law, law.rule)?;
            if !law.why.is_empty() {
                writeln!(f, "             {}", law.why)?;
            }
            for (position, step) in law.steps.iter().enumerate() {
                writeln!(f, "             {:>2}. {step}", position + 1)?;
            }
        }
        Ok(())
    }
}

/// Text with XML's reserved characters escaped; control characters that XML forbids are left out.
struct XmlText<'a>(&'a str);

impl fmt::Display for XmlText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\n' | '\t' => f.write_char(character)?,
                other if other.is_control() => {}
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let laws = vec![
            LawReport::holds("W1", "each row comes once"),
            LawReport::broken("W2", "nothing is skipped", "a < b", vec!["GET /".into()]),
            LawReport::skipped("W3", "rows stay", "no create"),
        ];
        Report {
            subject: "pager".into(),
            seed: 7,
            laws,
        }
    }

    #[test]
    fn a_broken_law_fails_the_run_unless_it_is_known() {
        assert_eq!(report().exit_status(&[]), 1);
        assert_eq!(report().exit_status(&["w2".into()]), 0);
    }

    #[test]
    fn a_law_that_is_known_to_fail_must_still_fail() {
        assert_eq!(report().exit_status(&["W1".into(), "W2".into()]), 1);
    }

    #[test]
    fn junit_escapes_its_texts() {
        let text = report().junit();
        assert!(text.contains("failures=\"1\" skipped=\"1\""), "{text}");
        assert!(text.contains("message=\"a &lt; b\""), "{text}");
    }

    #[test]
    fn json_has_the_verdicts() {
        let value: serde_json::Value = serde_json::from_str(&report().json()).unwrap();
        assert_eq!(value["laws"][1]["verdict"], "broken");
        assert_eq!(value["laws"][1]["steps"][0], "GET /");
    }
}
