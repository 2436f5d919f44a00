//! Scenarios: the steps sent to a limiter, and its answers.

use std::fmt;

use super::subject::{LimiterAbility, LimiterAnswer, LimiterProfile, LimiterSetup, LimiterSubject};
use crate::SubjectError;

/// Step of a scenario: a request, a change, or a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A request; without `hold` it ends immediately.
    Admit { key: u8, weight: u32, hold: bool },
    /// Time passes, in milliseconds.
    Pass(u64),
    /// The wait of the last refusal passes, or one unit less.
    PassStatedWait { one_less: bool },
    /// The clock steps back.
    ClockBack(u64),
    /// The oldest request in flight ends.
    Finish,
    /// The oldest request in flight costs something, and ends.
    Settle(u32),
    /// A new quota.
    SetQuota(u32),
    /// Eviction of idle keys.
    Sweep,
}

/// Setup of a limiter, and the steps sent to it.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) setup: LimiterSetup,
    pub(super) steps: Vec<Step>,
}

/// Completed step, with the time and the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenStep {
    pub(super) step: Step,
    pub(super) at: u64,
    pub(super) answer: Option<LimiterAnswer>,
}

impl TakenStep {
    /// Returns key, weight and whether it was admitted, if this is a request.
    pub(super) fn request(&self) -> Option<(u8, u32, bool)> {
        match (self.step, self.answer) {
            (Step::Admit { key, weight, .. }, Some(answer)) => Some((
                key,
                weight,
                matches!(answer, LimiterAnswer::Admitted { .. }),
            )),
            _ => None,
        }
    }
}

/// Time at which scenarios start; whole days after 1970.
pub(super) const START: u64 = 1_800_000_000_000 - 1_800_000_000_000 % 86_400_000;
/// Maximum duration of one stated wait, in windows.
const LONGEST_WAIT: u64 = 4;

/// Runs a scenario on a new limiter.
pub(super) fn run(
    subject: &mut dyn LimiterSubject,
    scenario: &Scenario,
) -> Result<Vec<TakenStep>, SubjectError> {
    subject.start(&scenario.setup)?;
    let holds = subject
        .profile()
        .abilities
        .contains(&LimiterAbility::Permits)
        || subject.profile().abilities.contains(&LimiterAbility::Cost);
    let longest = scenario.setup.window_ms.saturating_mul(LONGEST_WAIT);
    let mut now = START;
    let mut stated = 0;
    let mut in_flight: Vec<u64> = Vec::new();
    let mut taken = Vec::with_capacity(scenario.steps.len());
    for &step in &scenario.steps {
        let mut answer = None;
        match step {
            Step::Admit { key, weight, hold } => {
                let given = subject.admit(&key_text(key), weight, now)?;
                answer = Some(given);
                match given {
                    LimiterAnswer::Admitted { ticket } if hold => in_flight.push(ticket),
                    LimiterAnswer::Admitted { ticket } if holds => subject.finish(ticket)?,
                    LimiterAnswer::Admitted { .. } => {}
                    LimiterAnswer::Refused { wait_ms } => stated = wait_ms,
                }
            }
            Step::Pass(milliseconds) => now = now.saturating_add(milliseconds),
            Step::PassStatedWait { one_less } => {
                let unit = subject.profile().wait_unit_ms;
                let less = if one_less { unit } else { 0 };
                now = now.saturating_add(stated.saturating_sub(less).min(longest));
            }
            Step::ClockBack(milliseconds) => now = now.saturating_sub(milliseconds),
            Step::Finish if !in_flight.is_empty() => subject.finish(in_flight.remove(0))?,
            Step::Settle(cost) if !in_flight.is_empty() => {
                let ticket = in_flight.remove(0);
                subject.settle(ticket, cost, now)?;
                subject.finish(ticket)?;
            }
            Step::Finish | Step::Settle(_) => continue,
            Step::SetQuota(quota) => subject.set_quota(quota)?,
            Step::Sweep => subject.sweep(now)?,
        }
        taken.push(TakenStep {
            step,
            at: now,
            answer,
        });
    }
    Ok(taken)
}

fn key_text(key: u8) -> String {
    char::from(b'a' + key % 26).to_string()
}

/// Returns the steps as lines of a counterexample; pauses show in the times.
pub(super) fn lines(
    setup: &LimiterSetup,
    profile: &LimiterProfile,
    taken: &[TakenStep],
) -> Vec<String> {
    let mut lines = vec![format!(
        "a new limiter: {} in {} ms",
        setup.quota, setup.window_ms
    )];
    if let (Some(first), Some(permits)) = (lines.first_mut(), setup.permits) {
        first.push_str(&format!(", {permits} at once"));
    }
    if let (Some(first), Some(cost)) = (lines.first_mut(), setup.cost) {
        first.push_str(&format!(", a cost of {cost}"));
    }
    let told = |step: &&TakenStep| {
        !matches!(
            step.step,
            Step::Pass(_) | Step::PassStatedWait { .. } | Step::ClockBack(_)
        )
    };
    for step in taken.iter().filter(told) {
        let at = i128::from(step.at) - i128::from(START);
        let mut line = format!("at {at} ms: {step}");
        if let Some(LimiterAnswer::Refused { wait_ms }) = step.answer
            && profile.states_wait
        {
            line.push_str(&format!(", wait {wait_ms} ms"));
        }
        lines.push(line);
    }
    lines
}

impl fmt::Display for TakenStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Step::Admit { key, weight, .. } => {
                write!(f, "admit key {}", key_text(key))?;
                if weight != 1 {
                    write!(f, " of weight {weight}")?;
                }
                f.write_str(match self.answer {
                    Some(LimiterAnswer::Refused { .. }) => ": refused",
                    _ => ": admitted",
                })
            }
            Step::Finish => f.write_str("the oldest request ends"),
            Step::Settle(cost) => write!(f, "the oldest request costs {cost}, and ends"),
            Step::SetQuota(quota) => write!(f, "the quota becomes {quota}"),
            Step::Sweep => f.write_str("idle keys are evicted"),
            Step::Pass(_) | Step::PassStatedWait { .. } | Step::ClockBack(_) => {
                f.write_str("time passes")
            }
        }
    }
}

/// Shortens a scenario that breaks a law, as long as it still does: first a smaller quota if figures can be chosen; then
/// steps are removed, first many at once, then one by one; then pauses are rounded.
pub(super) fn shrink(
    scenario: Scenario,
    fixed_figures: bool,
    mut breaks: impl FnMut(&Scenario) -> Result<bool, SubjectError>,
) -> Result<Scenario, SubjectError> {
    let mut best = without_steps(scenario, &mut breaks)?;
    let smaller = if fixed_figures {
        0..0
    } else {
        1..best.setup.quota
    };
    for quota in smaller {
        let mut other = best.clone();
        other.setup.quota = quota;
        for step in &mut other.steps {
            // Every request still fits into the quota.
            if let Step::Admit { weight, .. } = step {
                *weight = quota.min(*weight);
            }
        }
        if breaks(&other)? {
            best = without_steps(other, &mut breaks)?;
            break;
        }
    }
    for position in 0..best.steps.len() {
        let Some(&Step::Pass(pause)) = best.steps.get(position) else {
            continue;
        };
        for unit in [60_000, 10_000, 1_000, 100, 10] {
            let mut other = best.clone();
            let round = pause - pause % unit;
            if let Some(step) = other.steps.get_mut(position) {
                *step = Step::Pass(round);
            }
            if round > 0 && (round == pause || breaks(&other)?) {
                best = other;
                break;
            }
        }
    }
    Ok(best)
}

fn without_steps(
    scenario: Scenario,
    breaks: &mut impl FnMut(&Scenario) -> Result<bool, SubjectError>,
) -> Result<Scenario, SubjectError> {
    let mut best = scenario;
    let mut size = best.steps.len() / 2;
    while size > 0 {
        let mut from = 0;
        while from < best.steps.len() {
            let mut shorter = best.clone();
            let to = (from + size).min(shorter.steps.len());
            shorter.steps.drain(from..to);
            if breaks(&shorter)? {
                best = shorter;
            } else {
                from += size;
            }
        }
        size /= 2;
    }
    Ok(best)
}
