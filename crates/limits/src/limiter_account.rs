//! Account of one key, and the decisions about its requests.

use crate::admission_request::{AdmissionRequest, SlotRequest, WindowCharge};
use crate::cost::CreditBalance;
use crate::in_flight::{self, IN_PLACE, InFlight, OtherDeadlines};
use crate::limit::Limit;
use crate::limit_exceeded::{LimitCounts, LimitExceeded};
use crate::rules::{Rules, SlotRule, WindowRule};
use crate::window::{WindowAttempt, WindowLog, WindowTerms};

/// State of every limit for one key; with a key of 16 bytes it takes two cache lines.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct LimiterAccount<K> {
    pub(crate) key: K,
    /// Latest time the account has seen.
    last: u64,
    rare: Option<Box<RareState>>,
    balance: CreditBalance,
    flights: InFlight,
    first: WindowLog,
}

/// State stored separately: further windows once they have counted something, and further requests in flight.
#[derive(Clone, Debug, Default)]
struct RareState {
    /// Logs of the windows after the first.
    windows: Vec<WindowLog>,
    others: OtherDeadlines,
}

/// Counts of a limiter, by limit: windows in order, then concurrent requests, then the cost.
pub(crate) type CountsByLimit = [LimitCounts];

/// Admission of a request: its deadline, the slots of the first classes, and the maximum credits that a settlement takes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Admitted {
    pub(crate) deadline: u64,
    pub(crate) slots: [u32; IN_PLACE],
    pub(crate) ceiling: Option<u32>,
}

impl<K> LimiterAccount<K> {
    /// Makes a new account whose time is not before `floor`.
    pub(crate) fn new(key: K, floor: u64) -> Self {
        Self {
            key,
            last: floor,
            rare: None,
            balance: CreditBalance::default(),
            flights: InFlight::default(),
            first: WindowLog::default(),
        }
    }

    /// Admits a request until a deadline, or refuses it. Either way, the attempt is counted once.
    #[inline]
    pub(crate) fn decide(
        &mut self,
        rules: &Rules,
        request: &AdmissionRequest<'_, K>,
        counts: &mut CountsByLimit,
        now: u64,
    ) -> Result<Admitted, LimitExceeded> {
        let now = self.advance(rules, now);
        let mut refused = None;
        for (at, rule) in rules.windows.iter().enumerate() {
            let charge = request.charge(at);
            if charge.weight == 0 {
                continue;
            }
            if !self.count(at, rule, charge, request.label, now) {
                refused = refused.or(note_full(counts, at, rule.is_shadow()));
            }
            note_passed(counts, at);
        }
        let windows = rules.windows.len();
        let cost = windows + rules.slots.len();
        let credits = rules.cost.quota(request.own_credits());
        let has_credit = match credits {
            Some(quota) => {
                note_passed(counts, cost);
                self.balance.admits(quota, rules.cost.length_ms)
                    || note_full(counts, cost, rules.cost.is_shadow()).is_none()
            }
            None => true,
        };
        // If another limit refuses, slots are not taken, since they would be freed again.
        let may_take = refused.is_none() && has_credit;
        let mut has_room = may_take;
        let mut admitted = Admitted {
            deadline: now.saturating_add(rules.deadline_ms()),
            slots: [0; IN_PLACE],
            ceiling: credits.map(|_| rules.cost.ceiling()),
        };
        let implied = rules.implied_slot(request);
        for (class, rule) in rules.slots.iter().enumerate() {
            let SlotRequest { slots, most } = request.slot(class);
            let more = slots + if class == 0 { implied } else { 0 };
            if more == 0 {
                continue;
            }
            let running = self.flights.running(class, self.others());
            if !in_flight::has_room(running, more, rule.most(most)) {
                refused = refused.or(note_full(counts, windows + class, rule.is_shadow()));
                has_room &= refused.is_none();
            }
            if has_room {
                self.take_slots(class, more, admitted.deadline);
                if let Some(slots) = admitted.slots.get_mut(class) {
                    *slots = more;
                }
            }
            note_passed(counts, windows + class);
        }
        if has_room {
            return Ok(admitted);
        }
        let taken = may_take.then_some(admitted.deadline);
        let limit = rules.limit(refused.unwrap_or(cost));
        Err(self.refusal(rules, request, counts, limit, taken))
    }

    /// Counts an attempt in a window, and returns true if there is room for it.
    #[inline]
    fn count(
        &mut self,
        window: usize,
        rule: &WindowRule,
        charge: WindowCharge,
        label: u16,
        now: u64,
    ) -> bool {
        let WindowCharge { weight, quota } = charge;
        let attempt = WindowAttempt { weight, label };
        let tick = rule.length.tick(now);
        if window == 0 && self.first.admit_in_place(rule.quota(quota), attempt, tick) {
            return true;
        }
        self.count_in_log(window, rule.terms(quota), attempt, tick)
    }

    #[inline(never)]
    fn count_in_log(
        &mut self,
        window: usize,
        terms: WindowTerms,
        attempt: WindowAttempt,
        tick: u64,
    ) -> bool {
        self.log_mut(window).charge(terms, attempt, tick)
    }

    /// Takes slots of a class until a deadline.
    #[inline]
    fn take_slots(&mut self, class: usize, slots: u32, deadline: u64) {
        if slots > 1 || !self.flights.take_only(class, deadline) {
            self.take(class, slots, deadline);
        }
    }

    #[inline(never)]
    fn take(&mut self, class: usize, slots: u32, deadline: u64) {
        for _ in 0..slots {
            let rare = &mut self.rare;
            self.flights
                .take(class, deadline, || &mut rare.get_or_insert_default().others);
        }
    }

    /// Counts a request that another limiter has decided about; returns the deadline and the slots of an admitted one.
    pub(crate) fn record(
        &mut self,
        rules: &Rules,
        request: &AdmissionRequest<'_, K>,
        admitted: bool,
        counts: &mut CountsByLimit,
        now: u64,
    ) -> Option<Admitted> {
        let now = self.advance(rules, now);
        for (at, rule, terms, weight) in rules.charges(request) {
            let attempt = attempt(request, weight);
            let tick = rule.length.tick(now);
            self.log_mut(at).record(terms, attempt, admitted, tick);
            if let Some(counts) = counts.get_mut(at) {
                counts.passed += u64::from(admitted);
            }
        }
        let credits = rules.cost.quota(request.own_credits());
        if let Some(quota) = credits {
            self.balance.admits(quota, rules.cost.length_ms);
            if let Some(counts) = counts.last_mut() {
                counts.passed += u64::from(admitted);
            }
        }
        if !admitted {
            return None;
        }
        let deadline = now.saturating_add(rules.deadline_ms());
        let mut slots = [0; IN_PLACE];
        for (class, _, more, _) in rules.slots_of(request) {
            self.take_slots(class, more, deadline);
            if let Some(slots) = slots.get_mut(class) {
                *slots = more;
            }
            if let Some(counts) = counts.get_mut(rules.windows.len() + class) {
                counts.passed += 1;
            }
        }
        Some(Admitted {
            deadline,
            slots,
            ceiling: credits.map(|_| rules.cost.ceiling()),
        })
    }

    /// Returns the milliseconds that the same request would have to wait if it came again; 0 if there is room now.
    pub(crate) fn wait(
        &mut self,
        rules: &Rules,
        request: &AdmissionRequest<'_, K>,
        now: u64,
    ) -> u64 {
        self.advance(rules, now);
        self.longest(rules, request)
    }

    /// Makes the refusal by a limit, and counts it. Reverts the counts of the limits that passed in this decision. `taken`
    /// is the deadline of the slots that were taken before a later class had no room; these slots are freed.
    #[cold]
    #[inline(never)]
    fn refusal(
        &mut self,
        rules: &Rules,
        request: &AdmissionRequest<'_, K>,
        counts: &mut CountsByLimit,
        limit: Limit,
        taken: Option<u64>,
    ) -> LimitExceeded {
        let windows = rules.charges(request).map(|(at, ..)| at);
        let slots = rules.slots_of(request);
        let slots = slots.map(|(at, ..)| rules.windows.len() + at);
        let credits = rules.cost.quota(request.own_credits());
        let cost = credits.map(|_| rules.len() - 1);
        for place in windows.chain(slots).chain(cost) {
            if let Some(counts) = counts.get_mut(place) {
                counts.passed -= 1;
            }
        }
        if let Some(counts) = counts.get_mut(rules.place(limit)) {
            counts.refused += 1;
        }
        if let Some(deadline) = taken {
            let before = |(class, ..): &(usize, &SlotRule, u32, u32)| *class < limit.index();
            for (class, _, more, _) in rules.slots_of(request).take_while(before) {
                self.release_slots(class, more, deadline);
            }
        }
        LimitExceeded::new(limit, self.longest(rules, request))
            .with_usage(self.usage(rules, request, limit))
    }

    /// Returns the wait for the client: the wait of the same request now that this one was counted. Every limit may
    /// contribute to it.
    fn longest(&self, rules: &Rules, request: &AdmissionRequest<'_, K>) -> u64 {
        let now = self.last;
        let mut longest = 0;
        for (at, rule, terms, weight) in rules.charges(request) {
            if !rule.is_shadow()
                && let Some(log) = self.log(at)
            {
                longest = longest.max(log.wait(terms, weight, now));
            }
        }
        for (at, rule, more, most) in rules.slots_of(request) {
            let others = self.others();
            if !rule.is_shadow()
                && !in_flight::has_room(self.flights.running(at, others), more, most)
            {
                // A request for more than the maximum never has room; it waits as long as a request may take.
                let latest = self.flights.latest(at, others);
                let wait = latest.map_or(rules.deadline_ms(), |latest| latest.saturating_sub(now));
                longest = longest.max(wait.max(1));
            }
        }
        match rules.cost.quota(request.own_credits()) {
            Some(quota) if !rules.cost.is_shadow() => {
                longest.max(self.balance.wait(quota, rules.cost.length_ms))
            }
            _ => longest,
        }
    }

    /// Takes the cost of a reply.
    pub(crate) fn settle(&mut self, rules: &Rules, cost: u32, now: u64) {
        self.advance(rules, now);
        self.balance.take(cost, rules.cost.length_ms);
    }

    /// Frees the slots of a request that was admitted until `deadline`.
    #[inline]
    pub(crate) fn release_slots(&mut self, class: usize, slots: u32, deadline: u64) {
        if !self.flights.release_only(class, slots) {
            self.release(class, slots, deadline);
        }
    }

    #[inline(never)]
    fn release(&mut self, class: usize, slots: u32, deadline: u64) {
        for _ in 0..slots {
            let others = self.rare.as_mut().map(|rare| &mut rare.others);
            self.flights.release(class, deadline, others);
        }
    }

    /// Moves the account to `now`, frees memory, and returns true if a new account would behave the same from now
    /// on.
    pub(crate) fn is_neutral(&mut self, rules: &Rules, now: u64) -> bool {
        let now = self.advance(rules, now);
        let mut is_counted = false;
        let rare = self.rare.as_mut();
        let logs = std::iter::once(&mut self.first)
            .chain(rare.into_iter().flat_map(|rare| &mut rare.windows));
        for (log, rule) in logs.zip(&rules.windows) {
            log.shrink(rule.length.ticks(), rule.length.tick(now));
            is_counted |= !log.is_empty();
        }
        let is_idle = self.flights.is_idle(self.others());
        if let Some(rare) = &self.rare
            && is_idle
            && rare.windows.iter().all(WindowLog::is_untouched)
        {
            self.rare = None;
        }
        is_idle && !is_counted && self.balance.is_full()
    }

    /// Clears everything but the key, and frees memory.
    pub(crate) fn clear(&mut self) {
        self.rare = None;
        self.balance = CreditBalance::default();
        self.flights = InFlight::default();
        self.first = WindowLog::default();
    }

    /// Returns the latest time the account has seen.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Moves the account to the time of an event, or to its latest time if that is later.
    #[inline]
    pub(crate) fn advance(&mut self, rules: &Rules, now: u64) -> u64 {
        let before = self.last;
        if now <= before {
            return before;
        }
        self.last = now;
        if let Some(rule) = rules.windows.first() {
            let (last, length) = (rule.length.tick(now), rule.length.ticks());
            self.first
                .expire(length, last - rule.length.tick(before), last);
        }
        if let Some(rare) = &mut self.rare {
            for (log, rule) in rare.windows.iter_mut().zip(rules.windows.iter().skip(1)) {
                let (last, length) = (rule.length.tick(now), rule.length.ticks());
                log.expire(length, last - rule.length.tick(before), last);
            }
        }
        self.balance.regain(now - before);
        now
    }

    /// Returns the log of a window, if it has counted anything.
    pub(crate) fn log(&self, window: usize) -> Option<&WindowLog> {
        match window.checked_sub(1) {
            None => Some(&self.first),
            Some(at) => self.rare.as_ref()?.windows.get(at),
        }
    }

    /// Returns the log of a window, for counting.
    #[inline]
    fn log_mut(&mut self, window: usize) -> &mut WindowLog {
        let Some(at) = window.checked_sub(1) else {
            return &mut self.first;
        };
        let windows = &mut self.rare.get_or_insert_default().windows;
        if windows.len() <= at {
            windows.resize_with(at + 1, WindowLog::default);
        }
        #[expect(clippy::indexing_slicing, reason = "the list was just made that long")]
        &mut windows[at]
    }

    pub(crate) fn others(&self) -> Option<&OtherDeadlines> {
        self.rare.as_ref().map(|rare| &rare.others)
    }

    pub(crate) fn balance(&self) -> &CreditBalance {
        &self.balance
    }

    pub(crate) fn flights(&self) -> &InFlight {
        &self.flights
    }
}

/// Counts a request that the limit at a place admits.
#[inline]
fn note_passed(counts: &mut CountsByLimit, place: usize) {
    if let Some(counts) = counts.get_mut(place) {
        counts.passed += 1;
    }
}

/// Counts a request that the limit at a place has no room for. Returns the place if the limit refuses it because it is not in
/// shadow mode.
#[cold]
#[inline(never)]
fn note_full(counts: &mut CountsByLimit, place: usize, is_shadow: bool) -> Option<usize> {
    if is_shadow && let Some(counts) = counts.get_mut(place) {
        counts.shadowed += 1;
    }
    (!is_shadow).then_some(place)
}

#[inline]
fn attempt<K>(request: &AdmissionRequest<'_, K>, weight: u32) -> WindowAttempt {
    WindowAttempt {
        weight,
        label: request.label,
    }
}

#[cfg(test)]
mod tests {
    use super::LimiterAccount;
    use crate::rules::Rules;
    use crate::{LimitKey, LimiterSettings};

    #[test]
    fn an_account_is_two_cache_lines() {
        assert_eq!(size_of::<LimiterAccount<LimitKey>>(), 128);
    }

    #[test]
    fn time_is_not_regained_twice_when_the_clock_steps_back() {
        let rules = Rules::new(&LimiterSettings::default());
        let length = rules.cost.length_ms;
        let mut account = LimiterAccount::new(0, 0);
        account.advance(&rules, 100_000);
        assert!(account.balance.admits(60, length));
        account.settle(&rules, 61, 100_000);
        assert_eq!(account.balance.wait(60, length), 1_001);
        account.advance(&rules, 50_000);
        account.advance(&rules, 100_000);
        assert_eq!(account.balance.wait(60, length), 1_001);
    }
}
