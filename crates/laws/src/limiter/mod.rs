//! Laws of rate limiters: a quota in a window of any length, permits, a cost taken afterwards.
//!
//! [`judge`] runs all of them on a [`LimiterSubject`]: a Rust type, or a program in any language that speaks JSON lines
//! ([`JsonLinesLimiter`]), or an endpoint behind HTTP (`HttpLimiter`, with the feature `http`).

mod generators;
#[cfg(feature = "http")]
mod http;
mod json_lines;
mod reference;
mod rules;
mod scenario;
mod subject;

#[cfg(feature = "http")]
pub use http::HttpLimiter;
pub use json_lines::{JsonLinesLimiter, answer_json_lines};
pub use reference::ReferenceLimiter;
pub use subject::{LimiterAbility, LimiterAnswer, LimiterProfile, LimiterSetup, LimiterSubject};

use fastrand::Rng;

use crate::SubjectError;
use crate::report::{LawReport, Report, RunOptions};
use generators::Generator;
use rules::{Fault, JudgedRun};
use scenario::{Scenario, Step, TakenStep};

/// Method by which a law judges a scenario.
enum Judgement {
    /// The answers of one run obey a rule.
    Rule(fn(&JudgedRun<'_>) -> Option<Fault>),
    /// The answers are the same as in a run of a changed scenario, for requests that are in both.
    SameAs(fn(&Scenario) -> Scenario),
    /// An admitted request with a weight counts like as many requests.
    WeightsCountLikeRequests,
}

/// Law with its rule, the abilities that it requires, its scenarios, and its judgement.
struct LimiterLaw {
    name: &'static str,
    rule: &'static str,
    needs: Option<LimiterAbility>,
    make: fn(&mut Generator<'_>) -> Scenario,
    judgement: Judgement,
}

impl LimiterLaw {
    /// Returns true if the law is about the wait in a refusal.
    fn about_waits(&self) -> bool {
        matches!(self.name, "G2" | "G3" | "G4" | "G13")
    }
}

const LAWS: &[LimiterLaw] = &[
    LimiterLaw {
        name: "G1",
        rule: "no window admits more than the quota",
        needs: None,
        make: |generator| generator.traffic(2),
        judgement: Judgement::Rule(|run| run.no_window_above_the_quota()),
    },
    LimiterLaw {
        name: "G2",
        rule: "after the stated wait the same request is admitted",
        needs: None,
        make: |generator| generator.retries(false),
        judgement: Judgement::Rule(|run| run.stated_wait_suffices()),
    },
    LimiterLaw {
        name: "G3",
        rule: "the stated wait is needed: one unit less is refused",
        needs: None,
        make: |generator| generator.retries(true),
        judgement: Judgement::Rule(|run| run.stated_wait_is_needed()),
    },
    LimiterLaw {
        name: "G4",
        rule: "a refusal states a wait above zero that ends within a window",
        needs: None,
        make: |generator| generator.retries(false),
        judgement: Judgement::Rule(|run| run.wait_is_in_range()),
    },
    LimiterLaw {
        name: "G5",
        rule: "a new key is admitted its whole quota at once",
        needs: None,
        make: |generator| generator.burst(true),
        judgement: Judgement::Rule(|run| run.idle_key_has_its_quota(true)),
    },
    LimiterLaw {
        name: "G6",
        rule: "keys do not affect each other",
        needs: None,
        make: |generator| generator.traffic(2),
        judgement: Judgement::SameAs(|scenario| {
            without(scenario, |step| matches!(step, Step::Admit { key: 1, .. }))
        }),
    },
    LimiterLaw {
        name: "G7",
        rule: "a window of silence restores the whole quota",
        needs: None,
        make: |generator| generator.burst(false),
        judgement: Judgement::Rule(|run| run.idle_key_has_its_quota(false)),
    },
    LimiterLaw {
        name: "G8",
        rule: "even pacing at the quota is never refused",
        needs: None,
        make: |generator| generator.even_pace(),
        judgement: Judgement::Rule(|run| run.even_pace_is_admitted()),
    },
    LimiterLaw {
        name: "G9",
        rule: "a request of weight k counts like k requests",
        needs: Some(LimiterAbility::Weights),
        make: |generator| generator.traffic(1),
        judgement: Judgement::WeightsCountLikeRequests,
    },
    LimiterLaw {
        name: "G10",
        rule: "a clock that steps back frees nothing",
        needs: Some(LimiterAbility::Clock),
        make: |generator| {
            generator.traffic_with(1, |random, setup| {
                Step::ClockBack(random.u64(0..=2 * setup.window_ms))
            })
        },
        judgement: Judgement::Rule(|run| run.no_window_above_the_quota()),
    },
    LimiterLaw {
        name: "G11",
        rule: "eviction of idle keys changes no answer",
        needs: Some(LimiterAbility::Sweep),
        make: |generator| generator.traffic_with(2, |_, _| Step::Sweep),
        judgement: Judgement::SameAs(|scenario| without(scenario, |step| step == Step::Sweep)),
    },
    LimiterLaw {
        name: "G12",
        rule: "as many run at once as there are permits, and none is lost",
        needs: Some(LimiterAbility::Permits),
        make: |generator| generator.in_flight(),
        judgement: Judgement::Rule(|run| run.permits_are_exact()),
    },
    LimiterLaw {
        name: "G13",
        rule: "a spent cost refuses, and the stated wait regains enough",
        needs: Some(LimiterAbility::Cost),
        make: |generator| generator.costs(),
        judgement: Judgement::Rule(|run| {
            run.spent_cost_refuses()
                .or_else(|| run.stated_wait_suffices())
        }),
    },
    LimiterLaw {
        name: "G14",
        rule: "a change of the quota forgets nothing",
        needs: Some(LimiterAbility::Change),
        make: |generator| generator.traffic_with(1, |random, _| Step::SetQuota(random.u32(1..=8))),
        judgement: Judgement::Rule(|run| run.no_window_above_the_quota()),
    },
    LimiterLaw {
        name: "G15",
        rule: "the same requests at the same times get the same answers",
        needs: None,
        make: |generator| generator.traffic(2),
        judgement: Judgement::SameAs(Clone::clone),
    },
];

/// Returns name and rule of every law.
pub fn laws() -> impl Iterator<Item = (&'static str, &'static str)> {
    LAWS.iter().map(|law| (law.name, law.rule))
}

/// Judges a limiter by every law that applies to its abilities.
///
/// # Errors
/// Fails if the subject can't be reached or gives an invalid answer, or if an option names no law.
pub fn judge(
    subject: &mut dyn LimiterSubject,
    options: &RunOptions,
) -> Result<Report, SubjectError> {
    let names: Vec<_> = laws().map(|(name, _)| name).collect();
    options.check_names(&names)?;
    let profile = subject.profile().clone();
    let mut reports = Vec::new();
    for law in LAWS {
        let report = if let Some(why) = options.skipped(law.name) {
            LawReport::skipped(law.name, law.rule, why)
        } else if let Some(why) = not_judged(law, &profile) {
            LawReport::skipped(law.name, law.rule, why)
        } else {
            judge_law(law, subject, &profile, options)?
        };
        reports.push(report);
    }
    Ok(Report {
        subject: profile.name,
        seed: options.seed,
        laws: reports,
    })
}

/// Returns the reason why a law does not apply to a subject, if any.
fn not_judged(law: &LimiterLaw, profile: &LimiterProfile) -> Option<String> {
    if let Some(ability) = law
        .needs
        .filter(|ability| !profile.abilities.contains(ability))
    {
        let ability = format!("{ability:?}").to_lowercase();
        return Some(format!("the limiter does not have \"{ability}\""));
    }
    if law.about_waits() && !profile.states_wait {
        return Some("the limiter states no wait".to_owned());
    }
    let exact = matches!(law.judgement, Judgement::SameAs(_)) || law.name == "G3";
    (profile.tolerance_ms > 0 && exact).then(|| "it needs a clock that the run can set".to_owned())
}

fn judge_law(
    law: &LimiterLaw,
    subject: &mut dyn LimiterSubject,
    profile: &LimiterProfile,
    options: &RunOptions,
) -> Result<LawReport, SubjectError> {
    let mut random = Rng::with_seed(options.seed);
    let mut done = 0;
    while done < options.operations {
        let scenario = (law.make)(&mut Generator {
            random: &mut random,
            profile,
        });
        done += scenario.steps.len().max(1) as u64;
        if fault(law, subject, &scenario)?.is_none() {
            continue;
        }
        let shortest = scenario::shrink(scenario, profile.fixed.is_some(), |shorter| {
            Ok(fault(law, subject, shorter)?.is_some())
        })?;
        // For an intermittent fault, the last observation is reported.
        let found = fault(law, subject, &shortest)?;
        let (why, steps) =
            found.unwrap_or_else(|| ("broken, but not in every run".to_owned(), Vec::new()));
        return Ok(LawReport::broken(law.name, law.rule, why, steps));
    }
    Ok(LawReport::holds(law.name, law.rule))
}

/// Returns the fault in the answers to a scenario, and the steps up to it.
fn fault(
    law: &LimiterLaw,
    subject: &mut dyn LimiterSubject,
    scenario: &Scenario,
) -> Result<Option<(String, Vec<String>)>, SubjectError> {
    let taken = scenario::run(subject, scenario)?;
    let found = match law.judgement {
        Judgement::Rule(rule) => rule(&JudgedRun {
            setup: &scenario.setup,
            profile: subject.profile(),
            taken: &taken,
        }),
        Judgement::SameAs(change) => {
            let other = scenario::run(subject, &change(scenario))?;
            first_difference(&taken, &other)
        }
        Judgement::WeightsCountLikeRequests => weights(subject, scenario, &taken)?,
    };
    Ok(found.map(|(why, end)| {
        let upto = taken.get(..=end).unwrap_or(&taken);
        (
            why,
            scenario::lines(&scenario.setup, subject.profile(), upto),
        )
    }))
}

fn without(scenario: &Scenario, leave_out: impl Fn(Step) -> bool) -> Scenario {
    let mut changed = scenario.clone();
    changed.steps.retain(|step| !leave_out(*step));
    changed
}

/// Returns the first request in both runs with different answers. Requests that are only in the first run are skipped.
fn first_difference(taken: &[TakenStep], other: &[TakenStep]) -> Option<Fault> {
    let told = |answer: Option<LimiterAnswer>| match answer {
        Some(LimiterAnswer::Refused { wait_ms }) => format!("refused, wait {wait_ms} ms"),
        _ => "admitted".to_owned(),
    };
    let mut others = other
        .iter()
        .filter(|step| step.request().is_some())
        .peekable();
    for (position, step) in taken
        .iter()
        .enumerate()
        .filter(|(_, step)| step.request().is_some())
    {
        let Some(same) = others.next_if(|other| other.step == step.step && other.at == step.at)
        else {
            continue;
        };
        if told(step.answer) != told(same.answer) {
            let (here, there) = (told(step.answer), told(same.answer));
            return Some((
                format!("the last answer is \"{here}\", in the other run \"{there}\""),
                position,
            ));
        }
    }
    None
}

/// Compares the requests with a run of single requests, in which each request is repeated as often as its weight, up to the
/// first refusal.
fn weights(
    subject: &mut dyn LimiterSubject,
    scenario: &Scenario,
    taken: &[TakenStep],
) -> Result<Option<Fault>, SubjectError> {
    let mut singles = scenario.clone();
    singles.steps = scenario
        .steps
        .iter()
        .flat_map(|&step| {
            let (single, times) = match step {
                Step::Admit { key, weight, hold } => (
                    Step::Admit {
                        key,
                        weight: 1,
                        hold,
                    },
                    weight as usize,
                ),
                other => (other, 1),
            };
            std::iter::repeat_n(single, times)
        })
        .collect();
    let answers = scenario::run(subject, &singles)?;
    let mut answers = answers.iter().filter_map(TakenStep::request);
    for (position, step) in taken.iter().enumerate() {
        let Some((_, weight, admitted)) = step.request() else {
            continue;
        };
        let all = answers
            .by_ref()
            .take(weight as usize)
            .filter(|(_, _, admitted)| *admitted)
            .count();
        if admitted != (all == weight as usize) {
            let verb = if admitted { "admitted" } else { "refused" };
            let wrong = format!(
                "a request of weight {weight} was {verb}, of {weight} requests {all} are admitted"
            );
            return Ok(Some((wrong, position)));
        }
        if !admitted {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
