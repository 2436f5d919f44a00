//! Rules of the limiter laws for a scenario and its answers.

use super::scenario::{Step, TakenStep};
use super::subject::{LimiterAnswer, LimiterProfile, LimiterSetup};

/// A run of a scenario, prepared for rules.
pub(super) struct JudgedRun<'a> {
    pub(super) setup: &'a LimiterSetup,
    pub(super) profile: &'a LimiterProfile,
    pub(super) taken: &'a [TakenStep],
}

/// Fault that a rule found, and the number of steps up to it.
pub(super) type Fault = (String, usize);

impl JudgedRun<'_> {
    fn requests(&self) -> impl Iterator<Item = (usize, &TakenStep, u8, u32, bool)> {
        let steps = self.taken.iter().enumerate();
        steps.filter_map(|(position, step)| {
            let (key, weight, admitted) = step.request()?;
            Some((position, step, key, weight, admitted))
        })
    }

    /// Returns the weight admitted for a key in the window that ends with the step at `end`, inclusive. Time
    /// never goes back here: a clock that steps back stands still.
    fn admitted_in_window(&self, end: usize, key: u8) -> u64 {
        let mut latest = 0;
        let mut entries = Vec::new();
        for (position, step, other, weight, admitted) in self.requests() {
            latest = latest.max(step.at);
            if position > end {
                break;
            }
            if other == key && admitted {
                entries.push((latest, u64::from(weight)));
            }
        }
        let window = self
            .setup
            .window_ms
            .saturating_sub(2 * self.profile.tolerance_ms);
        let Some(&(last, _)) = entries.last() else {
            return 0;
        };
        let in_window = entries.iter().filter(|(at, _)| last - at < window);
        in_window.map(|(_, weight)| weight).sum()
    }

    /// G1, G10, G14. No window admits more than the quota that is valid at its end.
    pub(super) fn no_window_above_the_quota(&self) -> Option<Fault> {
        let mut quota = self.setup.quota;
        for (position, step) in self.taken.iter().enumerate() {
            match (step.step, step.request()) {
                (Step::SetQuota(new), _) => quota = new,
                (_, Some((key, _, true))) => {
                    let admitted = self.admitted_in_window(position, key);
                    if admitted > u64::from(quota) {
                        return Some((
                            format!("{admitted} of {quota} were admitted in a window"),
                            position,
                        ));
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns each repetition of a refused request after the stated wait, optionally minus one unit, has passed: its
    /// position, the wait, and whether it was admitted.
    fn retries(&self, less: bool) -> impl Iterator<Item = (usize, u64, bool)> {
        self.taken
            .windows(3)
            .enumerate()
            .filter_map(move |(position, steps)| {
                let [refused, pause, again] = steps else {
                    return None;
                };
                let Some(LimiterAnswer::Refused { wait_ms }) = refused.answer else {
                    return None;
                };
                if pause.step != (Step::PassStatedWait { one_less: less })
                    || refused.step != again.step
                {
                    return None;
                }
                let (_, _, admitted) = again.request()?;
                Some((position + 2, wait_ms, admitted))
            })
    }

    /// G2, G13. After the stated wait the same request is admitted.
    pub(super) fn stated_wait_suffices(&self) -> Option<Fault> {
        let mut retries = self.retries(false);
        retries
            .find(|(_, _, admitted)| !admitted)
            .map(|(position, wait, _)| {
                (
                    format!("refused again after the stated {wait} ms"),
                    position,
                )
            })
    }

    /// G3. A retry one unit of time before the stated wait ends is refused.
    pub(super) fn stated_wait_is_needed(&self) -> Option<Fault> {
        let unit = self.profile.wait_unit_ms;
        let mut retries = self.retries(true);
        let early = retries.find(|(_, wait, admitted)| *admitted && *wait >= unit);
        early.map(|(position, wait, _)| {
            let after = wait - unit;
            (
                format!("admitted after {after} ms, the stated wait being {wait} ms"),
                position,
            )
        })
    }

    /// G4. A refusal states a wait of at least one unit and at most a window.
    pub(super) fn wait_is_in_range(&self) -> Option<Fault> {
        let unit = self.profile.wait_unit_ms.max(1);
        let most = self.setup.window_ms.div_ceil(unit).saturating_mul(unit);
        self.taken
            .iter()
            .enumerate()
            .find_map(|(position, step)| match step.answer {
                Some(LimiterAnswer::Refused { wait_ms: 0 }) => {
                    Some(("a refusal states no wait, or zero".to_owned(), position))
                }
                Some(LimiterAnswer::Refused { wait_ms }) if wait_ms > most => Some((
                    format!("a wait of {wait_ms} ms is longer than the window"),
                    position,
                )),
                _ => None,
            })
    }

    /// G5, G7. A key without attempts for a window is admitted its whole quota at one instant, if nothing was refused at
    /// that instant: refused attempts may count. `fresh` keys have made none before.
    pub(super) fn idle_key_has_its_quota(&self, fresh: bool) -> Option<Fault> {
        for (position, step, key, weight, admitted) in self.requests() {
            let own = self
                .requests()
                .filter(|other| other.0 < position && other.2 == key);
            let (mut admitted_now, mut idle, mut seen) = (0, true, false);
            for (_, before, _, earlier_weight, earlier_admitted) in own {
                if before.at == step.at {
                    admitted_now += earlier_weight;
                    idle &= earlier_admitted;
                } else {
                    seen = true;
                    idle &= step.at.saturating_sub(before.at)
                        >= self.setup.window_ms + self.profile.tolerance_ms;
                }
            }
            let fits = admitted_now.saturating_add(weight) <= self.setup.quota;
            if idle && seen != fresh && fits && !admitted {
                let quota = self.setup.quota;
                let wrong =
                    format!("an idle key was refused when {admitted_now} of {quota} were used");
                return Some((wrong, position));
            }
        }
        None
    }

    /// G8. Requests at even pace are never refused.
    pub(super) fn even_pace_is_admitted(&self) -> Option<Fault> {
        let fair = self
            .setup
            .window_ms
            .div_ceil(u64::from(self.setup.quota.max(1)))
            + self.profile.tolerance_ms;
        let mut last: Option<u64> = None;
        for (position, step, _, weight, admitted) in self.requests() {
            if weight != 1 || last.is_some_and(|last| step.at.saturating_sub(last) < fair) {
                return None;
            }
            if !admitted {
                return Some((
                    format!("refused with {fair} ms or more between all requests"),
                    position,
                ));
            }
            last = Some(step.at);
        }
        None
    }

    /// G12. As many requests run concurrently as there are permits, and no more.
    pub(super) fn permits_are_exact(&self) -> Option<Fault> {
        let most = self.setup.permits?;
        let mut running = 0_u32;
        for (position, step) in self.taken.iter().enumerate() {
            match (step.step, step.request()) {
                (Step::Finish, _) => running = running.saturating_sub(1),
                (_, Some((_, _, true))) if running >= most => {
                    return Some((
                        format!("{} run at once, the most being {most}", running + 1),
                        position,
                    ));
                }
                (_, Some((_, _, true))) => running += 1,
                (_, Some((_, _, false))) if running < most => {
                    return Some((format!("refused while {running} of {most} run"), position));
                }
                _ => {}
            }
        }
        None
    }

    /// G13. A request is refused at the instant at which the whole cost of a window was taken.
    pub(super) fn spent_cost_refuses(&self) -> Option<Fault> {
        let most = u64::from(self.setup.cost?);
        let mut spent = (0, 0_u64);
        for (position, step) in self.taken.iter().enumerate() {
            if step.at != spent.0 {
                spent = (step.at, 0);
            }
            match (step.step, step.request()) {
                (Step::Settle(cost), _) => spent.1 += u64::from(cost),
                (_, Some((_, _, true))) if spent.1 >= most => {
                    return Some((
                        format!("admitted when {} of {most} were spent", spent.1),
                        position,
                    ));
                }
                _ => {}
            }
        }
        None
    }
}
