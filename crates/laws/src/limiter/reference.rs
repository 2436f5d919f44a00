//! The limiter that defines the laws, with a list of every admitted request, and its broken variants.

use std::collections::BTreeMap;

use super::subject::{LimiterAbility, LimiterAnswer, LimiterProfile, LimiterSetup, LimiterSubject};
use crate::SubjectError;

/// Limiter that has all abilities and searches plain lists. It obeys every law, or deliberately breaks one.
#[derive(Debug)]
pub struct ReferenceLimiter {
    profile: LimiterProfile,
    broken_law: String,
    setup: LimiterSetup,
    keys: BTreeMap<String, KeyState>,
    /// Key of each request in flight, by ticket.
    in_flight: BTreeMap<u64, String>,
    tickets: u64,
    latest: u64,
    /// Attempts and ends over all runs, for mutants.
    attempts: u64,
    ends: u64,
}

#[derive(Debug, Default)]
struct KeyState {
    admitted: Vec<(u64, u32)>,
    running: u32,
    /// Remaining cost, multiplied by the window's milliseconds, and the time of that figure.
    balance: Option<(i128, u64)>,
}

impl ReferenceLimiter {
    /// Makes a limiter that obeys every law.
    #[must_use]
    pub fn new() -> Self {
        Self::breaking("")
    }

    /// Makes the broken variant for the law with this name; it shows that the law can fail.
    #[must_use]
    pub fn breaking(law: &str) -> Self {
        use LimiterAbility::{Change, Clock, Cost, Permits, Quota, Sweep, Weights};
        Self {
            profile: LimiterProfile::new(
                "reference",
                &[Quota, Permits, Cost, Weights, Change, Sweep, Clock],
            ),
            broken_law: law.to_uppercase(),
            setup: LimiterSetup {
                window_ms: 60_000,
                quota: 1,
                permits: None,
                cost: None,
            },
            keys: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            tickets: 0,
            latest: 0,
            attempts: 0,
            ends: 0,
        }
    }

    fn breaks(&self, law: &str) -> bool {
        self.broken_law == law
    }

    /// Returns the milliseconds until a request of this weight has room in the quota of a key.
    fn quota_wait(&self, admitted: &[(u64, u32)], weight: u32, now: u64) -> u64 {
        let window = self.setup.window_ms;
        let quota = match self.broken_law.as_str() {
            "G1" => self.setup.quota.saturating_add(1),
            "G5" if admitted.is_empty() => self.setup.quota.saturating_sub(1),
            _ => self.setup.quota,
        };
        if weight > quota {
            return window;
        }
        let lives = if self.breaks("G8") {
            window + 1
        } else {
            window
        };
        let mut live: Vec<_> = admitted
            .iter()
            .filter(|(at, _)| now < at.saturating_add(lives))
            .collect();
        live.sort_unstable();
        let used: u64 = live.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let mut excess = (used + u64::from(weight)).saturating_sub(u64::from(quota));
        for (at, weight) in live {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(u64::from(*weight));
            if excess == 0 {
                return at.saturating_add(lives) - now;
            }
        }
        0
    }

    fn cost_wait(&mut self, key: &str, now: u64) -> u64 {
        let Some(cost) = self.setup.cost else {
            return 0;
        };
        let lenient = self.breaks("G13");
        let window = self.setup.window_ms;
        let state = self.keys.entry(key.to_owned()).or_default();
        let balance = state.balance_at(cost, window, now);
        if balance > 0 || lenient {
            return 0;
        }
        let missing = u64::try_from(1 - balance).unwrap_or(u64::MAX);
        missing.div_ceil(u64::from(cost).max(1))
    }
}

impl Default for ReferenceLimiter {
    fn default() -> Self {
        Self::new()
    }
}

impl KeyState {
    /// Returns the remaining cost, updated to `now`.
    fn balance_at(&mut self, cost: u32, window: u64, now: u64) -> i128 {
        let full = i128::from(cost) * i128::from(window);
        let (balance, at) = self.balance.unwrap_or((full, now));
        let regained = i128::from(cost) * i128::from(now.saturating_sub(at));
        let balance = full.min(balance + regained);
        self.balance = Some((balance, now.max(at)));
        balance
    }
}

impl LimiterSubject for ReferenceLimiter {
    fn profile(&self) -> &LimiterProfile {
        &self.profile
    }

    fn start(&mut self, setup: &LimiterSetup) -> Result<(), SubjectError> {
        self.setup = *setup;
        self.keys.clear();
        self.in_flight.clear();
        self.tickets = 0;
        self.latest = 0;
        Ok(())
    }

    fn admit(&mut self, key: &str, weight: u32, now: u64) -> Result<LimiterAnswer, SubjectError> {
        self.attempts += 1;
        let now = if self.breaks("G10") {
            now
        } else {
            now.max(self.latest)
        };
        self.latest = now;
        let key = if self.breaks("G6") { "one" } else { key };
        let counted = if self.breaks("G9") {
            weight.min(1)
        } else {
            weight
        };
        let state = self.keys.entry(key.to_owned()).or_default();
        let running = state.running;
        let mut admitted = state.admitted.clone();
        if self.breaks("G10") {
            admitted.retain(|(at, _)| *at <= now);
        }
        if self.breaks("G7") && admitted.first().is_some_and(|(at, _)| *at < now) {
            admitted.push((now, 1));
        }
        let mut wait = self
            .quota_wait(&admitted, counted, now)
            .max(self.cost_wait(key, now));
        if self.setup.permits.is_some_and(|permits| running >= permits) {
            wait = wait.max(1);
        }
        if self.breaks("G15") && self.attempts.is_multiple_of(17) {
            wait = wait.max(1);
        }
        if wait > 0 {
            let wait_ms = match self.broken_law.as_str() {
                "G2" => (wait - 1).max(1),
                "G3" => wait + 1,
                "G4" => 0,
                _ => wait,
            };
            return Ok(LimiterAnswer::Refused { wait_ms });
        }
        let ticket = self.tickets;
        self.tickets += 1;
        let state = self.keys.entry(key.to_owned()).or_default();
        state.admitted.push((now, counted));
        state.running += 1;
        self.in_flight.insert(ticket, key.to_owned());
        Ok(LimiterAnswer::Admitted { ticket })
    }

    fn finish(&mut self, ticket: u64) -> Result<(), SubjectError> {
        self.ends += 1;
        let lost = self.breaks("G12") && self.ends.is_multiple_of(3);
        if let Some(key) = self.in_flight.remove(&ticket)
            && !lost
            && let Some(state) = self.keys.get_mut(&key)
        {
            state.running = state.running.saturating_sub(1);
        }
        Ok(())
    }

    fn settle(&mut self, ticket: u64, cost: u32, now: u64) -> Result<(), SubjectError> {
        let now = now.max(self.latest);
        let (Some(most), Some(key)) = (self.setup.cost, self.in_flight.get(&ticket)) else {
            return Ok(());
        };
        if let Some(state) = self.keys.get_mut(key) {
            let window = self.setup.window_ms;
            let balance = state.balance_at(most, window, now);
            state.balance = Some((balance - i128::from(cost) * i128::from(window), now));
        }
        Ok(())
    }

    fn set_quota(&mut self, quota: u32) -> Result<(), SubjectError> {
        self.setup.quota = quota;
        if self.breaks("G14") {
            self.keys.clear();
        }
        Ok(())
    }

    fn sweep(&mut self, now: u64) -> Result<(), SubjectError> {
        let window = if self.breaks("G11") {
            0
        } else {
            self.setup.window_ms
        };
        let now = now.max(self.latest);
        for state in self.keys.values_mut() {
            state
                .admitted
                .retain(|(at, _)| now < at.saturating_add(window));
        }
        Ok(())
    }
}
