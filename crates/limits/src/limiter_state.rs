//! Counts of the limits for a key, which explain decisions.

use crate::admission_request::AdmissionRequest;
use crate::limit::{Limit, LimitKind};
use crate::limit_exceeded::LimitUsage;
use crate::limiter_account::LimiterAccount;
use crate::rules::Rules;
use crate::window::{RECENT, WindowLog, WindowTerms};

/// State of every limit for one key. Times are milliseconds from the time of the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimiterState {
    /// State of each window, in the order in which the limiter was built.
    pub windows: Vec<WindowState>,
    /// State of each concurrency limit.
    pub concurrent: Vec<SlotState>,
    /// State of the cost quota; `None` if it is off.
    pub cost: Option<CostState>,
    /// Recently admitted requests, newest first: at least the last six of each window, and at most sixteen in total.
    pub recent: Vec<RecentRequest>,
}

/// State of one window for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowState {
    /// Name and index of the window.
    pub window: Limit,
    /// Current quota of the window.
    pub limit: u32,
    /// Length of the window, in milliseconds.
    pub length_ms: u64,
    /// Weight that currently counts, admitted and refused. It exceeds the limit if that was lowered.
    pub used: u32,
    /// Refused part of the used weight.
    pub refused: u32,
    /// Weight that would be admitted now.
    pub remaining: u32,
    /// Milliseconds until the oldest unit leaves the window; 0 if nothing is used.
    pub next_ms: u64,
    /// Milliseconds until everything has left the window; 0 if nothing is used.
    pub full_ms: u64,
    /// True if the window is in shadow mode: it counts, but refuses nothing.
    pub shadow: bool,
}

/// State of a concurrency limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotState {
    /// Name and index of the limit.
    pub class: Limit,
    /// Maximum number of concurrent requests.
    pub limit: u32,
    /// Number of running requests.
    pub running: u32,
    /// Milliseconds until all of them have ended at the latest; 0 if none is running.
    pub full_ms: u64,
    /// True if the limit is in shadow mode: it counts, but refuses nothing.
    pub shadow: bool,
}

/// State of the cost quota for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostState {
    /// Name of the quota.
    pub cost: Limit,
    /// Credits regained in the length, which is also their maximum.
    pub limit: u32,
    /// Time in which a quota is regained, in milliseconds.
    pub length_ms: u64,
    /// Credits left, rounded down; below 0 in debt.
    pub balance: i64,
    /// Milliseconds until a credit is available again, if nothing else is taken; 0 if one is available now.
    pub next_ms: u64,
    /// Milliseconds until everything has been regained, if nothing else is taken; 0 if it already has.
    pub full_ms: u64,
    /// True if the quota is in shadow mode: it counts, but refuses nothing.
    pub shadow: bool,
}

/// Recently admitted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentRequest {
    /// Age of the request, in milliseconds.
    pub age_ms: u64,
    /// Label that the caller gave it ([`AdmissionRequest::label`]).
    pub label: u16,
    /// Window that counted it; a request counted by several windows is listed once for each.
    pub window: Limit,
    /// Weight that the attempt was counted with.
    pub weight: u32,
}

/// Remaining quotas of one key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemainingLimits {
    /// Weight left of each window, and its quota.
    pub windows: Vec<(u32, u32)>,
    /// Credits left, below 0 in debt, and their maximum; `None` if there is no such limit.
    pub credits: Option<(i64, u32)>,
}

impl From<&LimiterState> for RemainingLimits {
    fn from(state: &LimiterState) -> Self {
        let windows = state.windows.iter();
        Self {
            windows: windows.map(|of| (of.remaining, of.limit)).collect(),
            credits: state.cost.as_ref().map(|cost| (cost.balance, cost.limit)),
        }
    }
}

impl<K> LimiterAccount<K> {
    /// Returns the use of one limit at the latest time that the account has seen.
    pub(crate) fn usage(
        &self,
        rules: &Rules,
        request: &AdmissionRequest<'_, K>,
        limit: Limit,
    ) -> LimitUsage {
        let (at, now) = (limit.index(), self.last());
        match limit.kind() {
            LimitKind::Window => {
                let Some(rule) = rules.windows.get(at) else {
                    return LimitUsage::default();
                };
                let terms = rule.terms(request.charge(at).quota);
                self.log(at).map_or_else(
                    || window_usage(terms, &WindowLog::default(), now),
                    |log| window_usage(terms, log, now),
                )
            }
            LimitKind::Concurrent => {
                let most = rules.slots.get(at);
                let limit = most.map_or(0, |rule| rule.most(request.slot(at).most));
                self.slot_usage(at, limit)
            }
            LimitKind::Cost => {
                let limit = rules.cost.quota(request.own_credits()).unwrap_or(0);
                let left = self.balance().left(limit, rules.cost.length_ms);
                LimitUsage {
                    limit,
                    remaining: u32::try_from(left.max(0)).unwrap_or(limit),
                    reset_ms: self.balance().full_in(limit),
                }
            }
        }
    }

    fn slot_usage(&self, class: usize, limit: u32) -> LimitUsage {
        let others = self.others();
        let latest = self.flights().latest(class, others);
        LimitUsage {
            limit,
            remaining: limit.saturating_sub(self.flights().running(class, others)),
            reset_ms: latest.map_or(0, |latest| latest.saturating_sub(self.last())),
        }
    }
}

/// Returns the use of a window.
fn window_usage(terms: WindowTerms, log: &WindowLog, now: u64) -> LimitUsage {
    let used = log.admitted() + log.refused();
    let counted = u32::try_from(used).unwrap_or(u32::MAX);
    LimitUsage {
        limit: terms.quota,
        remaining: terms.quota.saturating_sub(counted),
        reset_ms: log.frees(used, terms.length, now).unwrap_or(0),
    }
}

impl<K: Clone> LimiterAccount<K> {
    /// Returns the counts of every limit at `now` without changing the account.
    pub(crate) fn state(
        &self,
        rules: &Rules,
        request: &AdmissionRequest<'_, K>,
        now: u64,
    ) -> LimiterState {
        let mut then = self.clone();
        let now = then.advance(rules, now);
        let none = WindowLog::default();
        let log = |at| then.log(at).unwrap_or(&none);
        let windows = rules.windows.iter().enumerate();
        let mut recent: Vec<RecentRequest> = windows
            .clone()
            .flat_map(|(at, rule)| {
                let length = rule.length;
                let entries = log(at).recent(length.ticks(), length.tick(now));
                entries.map(move |(age, entry)| RecentRequest {
                    age_ms: length.age(age),
                    label: entry.label,
                    window: rule.limit,
                    weight: entry.weight(),
                })
            })
            .collect();
        recent.sort_by_key(|one| one.age_ms);
        recent.truncate(RECENT);
        let window = |(at, rule): (usize, &crate::rules::WindowRule)| {
            let (terms, log) = (rule.terms(request.charge(at).quota), log(at));
            let usage = window_usage(terms, log, now);
            let used = log.admitted() + log.refused();
            WindowState {
                window: rule.limit,
                limit: terms.quota,
                length_ms: terms.length.millis(),
                used: u32::try_from(used).unwrap_or(u32::MAX),
                refused: u32::try_from(log.refused()).unwrap_or(u32::MAX),
                remaining: usage.remaining,
                next_ms: log.frees(1, terms.length, now).unwrap_or(0),
                full_ms: usage.reset_ms,
                shadow: rule.is_shadow(),
            }
        };
        let slots = |(at, rule): (usize, &crate::rules::SlotRule)| {
            let latest = then.flights().latest(at, then.others());
            SlotState {
                class: rule.limit,
                limit: rule.most(request.slot(at).most),
                running: then.flights().running(at, then.others()),
                full_ms: latest.map_or(0, |latest| latest.saturating_sub(now)),
                shadow: rule.is_shadow(),
            }
        };
        let length_ms = rules.cost.length_ms;
        let cost = |limit: u32| CostState {
            cost: rules.cost.limit,
            limit,
            length_ms,
            balance: then.balance().left(limit, length_ms),
            next_ms: then.balance().wait(limit, length_ms),
            full_ms: then.balance().full_in(limit),
            shadow: rules.cost.is_shadow(),
        };
        LimiterState {
            windows: windows.map(window).collect(),
            concurrent: rules.visible_slots().enumerate().map(slots).collect(),
            cost: rules.cost.quota(request.own_credits()).map(cost),
            recent,
        }
    }

    /// Returns the remaining quotas as of the latest time that the account has seen.
    pub(crate) fn remaining(
        &self,
        rules: &Rules,
        request: &AdmissionRequest<'_, K>,
    ) -> RemainingLimits {
        let left = |(at, rule): (usize, &crate::rules::WindowRule)| {
            let quota = rule.terms(request.charge(at).quota).quota;
            let used = self.log(at).map_or(0, |log| log.admitted() + log.refused());
            let used = u32::try_from(used).unwrap_or(u32::MAX);
            (quota.saturating_sub(used), quota)
        };
        let credits = rules.cost.quota(request.own_credits());
        let length_ms = rules.cost.length_ms;
        RemainingLimits {
            windows: rules.windows.iter().enumerate().map(left).collect(),
            credits: credits.map(|limit| (self.balance().left(limit, length_ms), limit)),
        }
    }
}
