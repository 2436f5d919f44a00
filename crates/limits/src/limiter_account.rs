//! Account of one key, and the decision about one request.

use crate::admission_request::{AdmissionBatch, LimitKey, RequestClass};
use crate::atomic_settings::{EffectiveFigures, LimitSet};
use crate::cost::CreditBalance;
use crate::in_flight::{InFlight, OtherDeadlines};
use crate::limit::Limit;
use crate::limit_exceeded::LimitExceeded;
use crate::limiter_state::{LimiterState, RemainingLimits};
use crate::window::{WindowAttempt, WindowLog, WindowTerms};

/// State of every limiter for one key, on two cache lines.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct LimiterAccount {
    pub(crate) key: LimitKey,
    /// Latest time the account has seen.
    last: u64,
    rare: Option<Box<RareState>>,
    balance: CreditBalance,
    flights: InFlight,
    standard: WindowLog,
}

/// State that most keys never need: most never search, and have one request of a kind in flight.
#[derive(Clone, Debug, Default)]
struct RareState {
    search: WindowLog,
    others: OtherDeadlines,
}

/// Answer to a request, and the limits that would have refused it if they were not in shadow mode.
pub(crate) struct AdmissionDecision {
    /// The deadline until which the request is admitted, or the refusal.
    pub(crate) answer: Result<u64, LimitExceeded>,
    pub(crate) shadowed: LimitSet,
    /// Limits that were checked for the request.
    pub(crate) met: LimitSet,
}

impl LimiterAccount {
    /// Makes a new account whose time is not before `floor`.
    pub(crate) fn new(key: LimitKey, floor: u64) -> Self {
        Self {
            key,
            last: floor,
            ..Self::default()
        }
    }

    /// Admits a request until the returned deadline, or refuses it. Either way its attempt is counted once.
    pub(crate) fn decide(
        &mut self,
        figures: &EffectiveFigures,
        batch: &AdmissionBatch,
        label: u16,
        now: u64,
    ) -> AdmissionDecision {
        let now = self.advance(now);
        let (quota, weight, searches) = batch.counted();
        let terms = figures.standard(quota);
        let attempt = |weight| WindowAttempt {
            weight,
            label,
            write: batch.writes > 0,
        };

        let met = concerned(figures, batch);
        let mut over = LimitSet::default();
        if !self.standard.charge(terms, attempt(weight), now) {
            over.add(Limit::Standard);
        }
        if searches > 0 {
            let search = &mut self.rare.get_or_insert_default().search;
            if !search.charge(figures.search, attempt(searches), now) {
                over.add(Limit::Search);
            }
        }
        for (class, more) in slots(batch) {
            if !self.flights.has_room(class, more, figures.slots(class)) {
                over.add(Limit::concurrent(class));
            }
        }
        if let Some(per_minute) = figures.cost
            && !self.balance.admits(per_minute)
        {
            over.add(Limit::Cost);
        }

        let shadowed = over.both(figures.shadow);
        let Some(limit) = over.without(figures.shadow).first() else {
            return AdmissionDecision {
                answer: Ok(self.take_slots(figures, batch, now)),
                shadowed,
                met,
            };
        };

        AdmissionDecision {
            answer: Err(LimitExceeded::new(limit, self.longest(figures, batch))),
            shadowed,
            met,
        }
    }

    /// Counts a request that another limiter has decided about; returns the deadline of an admitted one, and the limits
    /// that concern it.
    pub(crate) fn record(
        &mut self,
        figures: &EffectiveFigures,
        batch: &AdmissionBatch,
        label: u16,
        admitted: bool,
        now: u64,
    ) -> (Option<u64>, LimitSet) {
        let now = self.advance(now);
        let (quota, weight, searches) = batch.counted();
        let attempt = |weight| WindowAttempt {
            weight,
            label,
            write: batch.writes > 0,
        };
        self.standard
            .record(figures.standard(quota), attempt(weight), admitted, now);
        if searches > 0 {
            let search = &mut self.rare.get_or_insert_default().search;
            search.record(figures.search, attempt(searches), admitted, now);
        }
        if let Some(per_minute) = figures.cost {
            self.balance.admits(per_minute);
        }
        let deadline = admitted.then(|| self.take_slots(figures, batch, now));
        (deadline, concerned(figures, batch))
    }

    /// Takes the slots of a batch and returns their deadline.
    #[inline]
    fn take_slots(&mut self, figures: &EffectiveFigures, batch: &AdmissionBatch, now: u64) -> u64 {
        let deadline = now.saturating_add(figures.deadline_ms);
        for (class, more) in slots(batch) {
            for _ in 0..more {
                let rare = &mut self.rare;
                self.flights
                    .take(class, deadline, || &mut rare.get_or_insert_default().others);
            }
        }
        deadline
    }

    /// Returns the milliseconds that the same requests would wait if they came again; 0 if there is room now.
    pub(crate) fn wait(
        &mut self,
        figures: &EffectiveFigures,
        batch: &AdmissionBatch,
        now: u64,
    ) -> u64 {
        self.advance(now);
        self.longest(figures, batch)
    }

    /// Returns the wait for the client: that of the same request after this one was counted, which every limiter may
    /// add to.
    #[cold]
    #[inline(never)]
    fn longest(&self, figures: &EffectiveFigures, batch: &AdmissionBatch) -> u64 {
        let now = self.last;
        let (quota, weight, searches) = batch.counted();
        let slot = |class, more| {
            let longest = figures.deadline_ms;
            self.flights
                .wait(class, more, figures.slots(class), now, longest)
        };
        let standard = self.standard.wait(figures.standard(quota), weight, now);
        let waits = [
            (Limit::Standard, standard),
            (Limit::Search, self.wait_to_search(figures, searches)),
            (
                Limit::ConcurrentReads,
                slot(RequestClass::Read, batch.reads),
            ),
            (
                Limit::ConcurrentWrites,
                slot(RequestClass::Write, batch.writes),
            ),
            (
                Limit::Cost,
                figures.cost.map_or(0, |rate| self.balance.wait(rate)),
            ),
        ];
        let enforced = waits
            .iter()
            .filter(|(limit, _)| !figures.shadow.has(*limit));
        enforced.map(|(_, wait)| *wait).max().unwrap_or(0)
    }

    /// Takes the cost of an answer.
    pub(crate) fn settle(&mut self, cost: u32, now: u64) {
        self.advance(now);
        self.balance.take(cost);
    }

    /// Frees the slot of a request that was admitted until `deadline`.
    pub(crate) fn release(&mut self, class: RequestClass, deadline: u64) {
        let others = self.rare.as_mut().map(|rare| &mut rare.others);
        self.flights.release(class, deadline, others);
    }

    /// Moves the account to `now`, gives back memory, and returns true if a new account would behave the same from now
    /// on.
    pub(crate) fn is_neutral(&mut self, now: u64) -> bool {
        let now = self.advance(now);
        self.standard.shrink(now);
        let idle = self.flights.running(RequestClass::Read) == 0
            && self.flights.running(RequestClass::Write) == 0;
        let mut searched = false;
        if let Some(rare) = &mut self.rare {
            rare.search.shrink(now);
            searched = !rare.search.is_empty();
        }
        if idle && !searched {
            self.rare = None;
        }
        idle && !searched && self.standard.is_empty() && self.balance.spent() == 0
    }

    /// Returns the counts of every limiter at `now`. The account stays as it is.
    pub(crate) fn state(&self, figures: &EffectiveFigures, quota: u32, now: u64) -> LimiterState {
        let mut then = self.clone();
        let now = then.advance(now);
        let none = WindowLog::default();
        let search = then.rare.as_ref().map_or(&none, |rare| &rare.search);
        LimiterState::new(
            figures,
            quota,
            &then.standard,
            search,
            &then.flights,
            &then.balance,
            now,
        )
    }

    /// Returns the rest of the quotas as it was at the latest time the account has seen.
    pub(crate) fn remaining(&self, figures: &EffectiveFigures, quota: u32) -> RemainingLimits {
        let left = |terms: WindowTerms, log: Option<&WindowLog>| {
            let used = log.map_or(0, |log| log.admitted() + log.refused());
            let used = u32::try_from(used).unwrap_or(u32::MAX);
            (terms.quota.saturating_sub(used), terms.quota)
        };
        let (standard, standard_limit) = left(figures.standard(quota), Some(&self.standard));
        let searches = self.rare.as_ref().map(|rare| &rare.search);
        let (search, search_limit) = left(figures.search, searches);
        let credits = figures.cost.map(|limit| limit.max(1));
        RemainingLimits {
            standard,
            standard_limit,
            search,
            search_limit,
            credits: credits.map(|limit| (self.balance.left(limit), limit)),
        }
    }

    /// Returns the latest time the account has seen.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Moves the account to the time of an event, which is never before the last one.
    fn advance(&mut self, now: u64) -> u64 {
        let silence = now.saturating_sub(self.last);
        self.last = self.last.max(now);
        if silence > 0 {
            self.standard.expire(silence, self.last);
            if let Some(rare) = &mut self.rare {
                rare.search.expire(silence, self.last);
            }
            self.balance.regain(silence);
        }
        self.last
    }

    fn wait_to_search(&self, figures: &EffectiveFigures, searches: u32) -> u64 {
        let rare = self.rare.as_ref();
        rare.map_or(0, |rare| {
            rare.search.wait(figures.search, searches, self.last)
        })
    }
}

/// Returns the slots that a batch needs of each class.
#[inline]
fn slots(batch: &AdmissionBatch) -> [(RequestClass, u32); 2] {
    [
        (RequestClass::Read, batch.reads),
        (RequestClass::Write, batch.writes),
    ]
}

/// Returns the limits that a batch is checked for.
#[inline]
fn concerned(figures: &EffectiveFigures, batch: &AdmissionBatch) -> LimitSet {
    let (_, weight, searches) = batch.counted();
    let mut met = LimitSet::default();
    for (limit, concerns) in [
        (Limit::Standard, weight > 0),
        (Limit::Search, searches > 0),
        (Limit::ConcurrentReads, batch.reads > 0),
        (Limit::ConcurrentWrites, batch.writes > 0),
        (Limit::Cost, figures.cost.is_some()),
    ] {
        met.set(limit, concerns);
    }
    met
}

#[cfg(test)]
mod tests {
    use super::LimiterAccount;

    #[test]
    fn an_account_is_two_cache_lines() {
        assert_eq!(size_of::<LimiterAccount>(), 128);
    }

    #[test]
    fn time_is_not_regained_twice_when_the_clock_steps_back() {
        let mut account = LimiterAccount::default();
        account.advance(100_000);
        assert!(account.balance.admits(60));
        account.settle(61, 100_000);
        assert_eq!(account.balance.wait(60), 1_001);
        account.advance(50_000);
        account.advance(100_000);
        assert_eq!(account.balance.wait(60), 1_001);
    }
}
