//! What is remembered of one key, and the decision about one request.

use crate::concurrency::{Flights, Others};
use crate::cost::Balance;
use crate::refusal::{Limit, Refusal};
use crate::request::{Batch, Class};
use crate::settings::Key;
use crate::shared::{Bits, Figures};
use crate::state::State;
use crate::window::{Attempt, Log};

/// The state of every limiter for one key, on two cache lines.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Account {
    pub(crate) key: Key,
    /// The latest time the account has seen.
    last: u64,
    rare: Option<Box<Rare>>,
    balance: Balance,
    flights: Flights,
    standard: Log,
}

/// What most keys never need: most never search, and have one request of a kind in flight.
#[derive(Clone, Debug, Default)]
struct Rare {
    search: Log,
    others: Others,
}

/// The answer to a request, and the limits that would have refused it if they were not in shadow mode.
pub(crate) struct Decision {
    /// The deadline until which the request is admitted.
    pub(crate) answer: Result<u64, Refusal>,
    pub(crate) shadowed: Bits,
    /// The limits it had to do with.
    pub(crate) met: Bits,
}

impl Account {
    /// A new account whose time is not before `floor`.
    pub(crate) fn new(key: Key, floor: u64) -> Self {
        Self {
            key,
            last: floor,
            ..Self::default()
        }
    }

    /// Admits a request until the returned deadline, or refuses it. Either way its attempt is counted once.
    pub(crate) fn decide(
        &mut self,
        figures: &Figures,
        batch: &Batch,
        label: u16,
        now: u64,
    ) -> Decision {
        let now = self.advance(now);
        let (quota, weight, searches) = batch.counted();
        let slots = [(Class::Read, batch.reads), (Class::Write, batch.writes)];
        let terms = figures.standard(quota);
        let attempt = |weight| Attempt {
            weight,
            label,
            write: batch.writes > 0,
        };

        let mut met = Bits::default();
        for (limit, concerns) in [
            (Limit::Standard, weight > 0),
            (Limit::Search, searches > 0),
            (Limit::ConcurrentReads, batch.reads > 0),
            (Limit::ConcurrentWrites, batch.writes > 0),
            (Limit::Cost, figures.cost.is_some()),
        ] {
            met.set(limit, concerns);
        }

        let mut over = Bits::default();
        if !self.standard.charge(terms, attempt(weight), now) {
            over.add(Limit::Standard);
        }
        if searches > 0 {
            let search = &mut self.rare.get_or_insert_default().search;
            if !search.charge(figures.search, attempt(searches), now) {
                over.add(Limit::Search);
            }
        }
        for (class, more) in slots {
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
            let deadline = now.saturating_add(figures.deadline_ms);
            for (class, more) in slots {
                for _ in 0..more {
                    let rare = &mut self.rare;
                    self.flights
                        .take(class, deadline, || &mut rare.get_or_insert_default().others);
                }
            }
            return Decision {
                answer: Ok(deadline),
                shadowed,
                met,
            };
        };

        Decision {
            answer: Err(Refusal::new(limit, self.longest(figures, batch))),
            shadowed,
            met,
        }
    }

    /// How long the same requests would wait if they came again, in milliseconds; 0 if there is room now.
    pub(crate) fn wait(&mut self, figures: &Figures, batch: &Batch, now: u64) -> u64 {
        self.advance(now);
        self.longest(figures, batch)
    }

    /// What the client is told: the wait of the same request after this one was counted, which every limiter may add to.
    #[cold]
    #[inline(never)]
    fn longest(&self, figures: &Figures, batch: &Batch) -> u64 {
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
            (Limit::ConcurrentReads, slot(Class::Read, batch.reads)),
            (Limit::ConcurrentWrites, slot(Class::Write, batch.writes)),
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
    pub(crate) fn release(&mut self, class: Class, deadline: u64) {
        let others = self.rare.as_mut().map(|rare| &mut rare.others);
        self.flights.release(class, deadline, others);
    }

    /// Moves the account to `now`, gives back memory, and says whether a new account would behave the same from now on.
    pub(crate) fn is_neutral(&mut self, now: u64) -> bool {
        let now = self.advance(now);
        self.standard.shrink(now);
        let idle =
            self.flights.running(Class::Read) == 0 && self.flights.running(Class::Write) == 0;
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

    /// What every limiter has counted at `now`. The account stays as it is.
    pub(crate) fn state(&self, figures: &Figures, quota: u32, now: u64) -> State {
        let mut then = self.clone();
        let now = then.advance(now);
        let none = Log::default();
        let search = then.rare.as_ref().map_or(&none, |rare| &rare.search);
        State::new(
            figures,
            quota,
            &then.standard,
            search,
            &then.flights,
            &then.balance,
            now,
        )
    }

    /// The latest time the account has seen.
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

    fn wait_to_search(&self, figures: &Figures, searches: u32) -> u64 {
        let rare = self.rare.as_ref();
        rare.map_or(0, |rare| {
            rare.search.wait(figures.search, searches, self.last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Account;

    #[test]
    fn an_account_is_two_cache_lines() {
        assert_eq!(size_of::<Account>(), 128);
    }

    #[test]
    fn time_is_not_regained_twice_when_the_clock_steps_back() {
        let mut account = Account::default();
        account.advance(100_000);
        assert!(account.balance.admits(60));
        account.settle(61, 100_000);
        assert_eq!(account.balance.wait(60), 1_001);
        account.advance(50_000);
        account.advance(100_000);
        assert_eq!(account.balance.wait(60), 1_001);
    }
}
