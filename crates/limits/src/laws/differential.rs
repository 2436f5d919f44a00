//! Comparison of two limiters that must give equal answers.

use super::law_request::LawRequest;
use super::law_settings::LawSettings;
use super::{AdmissionTicket, LimiterHarness, ScenarioRandom};

/// Two harnesses, and the requests in flight on both.
pub(super) struct LimiterPair {
    pub(super) left: LimiterHarness,
    pub(super) right: LimiterHarness,
    open: Vec<(AdmissionTicket, AdmissionTicket)>,
}

impl LimiterPair {
    pub(super) fn new(left: LimiterHarness, right: LimiterHarness) -> Self {
        Self {
            left,
            right,
            open: Vec::new(),
        }
    }

    /// Makes a request on both sides; the answers must be equal.
    pub(super) fn ask(&mut self, request: &LawRequest, wrong: &str) -> Result<(), String> {
        match (self.left.ask(request), self.right.ask(request)) {
            (Ok(left), Ok(right)) => self.open.push((left, right)),
            (Err(left), Err(right)) if left == right => {}
            (_, right) => {
                return Err(self
                    .left
                    .story(format!("{wrong}: the other answer is {right:?}")));
            }
        }
        Ok(())
    }

    /// May settle one random request in flight and may end one, equally on both sides.
    pub(super) fn stir(&mut self, random: &mut ScenarioRandom) {
        if random.chance(40)
            && let Some((left, right)) = pick(&mut self.open, random)
        {
            let cost = cost(random);
            self.left.settle(left, cost);
            self.right.settle(right, cost);
            self.open.push((left, right));
        }
        if random.chance(50)
            && let Some((left, right)) = pick(&mut self.open, random)
        {
            self.left.finish(left);
            self.right.finish(right);
        }
    }

    /// Advances time on both sides.
    pub(super) fn pass(&mut self, milliseconds: u64) {
        self.left.pass(milliseconds);
        self.right.pass(milliseconds);
    }

    /// Replaces the settings on both sides.
    pub(super) fn set(&mut self, settings: LawSettings) {
        self.left.set(settings);
        self.right.set(settings);
    }

    pub(super) fn operations(&self) -> u64 {
        self.left.operations() + self.right.operations()
    }
}

/// Removes a random element from a list.
pub(super) fn pick<T>(list: &mut Vec<T>, random: &mut ScenarioRandom) -> Option<T> {
    let last = list.len().checked_sub(1)?;
    let at = usize::try_from(random.within(0, last as u64)).unwrap_or(last);
    Some(list.swap_remove(at))
}

/// Returns a cost, often small, rarely above any ceiling.
pub(super) fn cost(random: &mut ScenarioRandom) -> u32 {
    match random.within(0, 9) {
        0 => random.figure(0, 3_000),
        1..4 => random.figure(10, 200),
        _ => random.figure(0, 20),
    }
}
