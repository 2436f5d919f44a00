//! The naive limiter: lists of everything, searched from end to end.

use std::collections::BTreeMap;

use super::{Subject, Ticket, deadline_ms, slots};
use crate::refusal::Limit;
use crate::request::{Class, Rate};
use crate::settings::Key;
use crate::window::{MAX_WEIGHT, Terms, WINDOW_MS};
use crate::{Refusal, Request, Settings};

/// A limiter as slow and as plain as its description. It never evicts anything.
#[derive(Clone, Debug)]
pub struct Reference {
    settings: Settings,
    pasts: BTreeMap<Key, Past>,
    flights: BTreeMap<Ticket, Flight>,
    admitted: u64,
}

#[derive(Clone, Debug, Default)]
struct Past {
    last: u64,
    standard: Log,
    search: Log,
    spent: i128,
    spent_at: u64,
    regained_per_ms: u32,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    key: Key,
    class: Class,
    deadline: u64,
    ceiling: Option<u32>,
}

/// Every attempt of the last minute: its time, and whether it was admitted.
#[derive(Clone, Debug, Default)]
struct Log {
    attempts: Vec<(u64, bool)>,
    remembered: u32,
    held: usize,
    held_since: u64,
}

impl Log {
    fn fits(&self, terms: Terms, weight: u32, now: u64) -> bool {
        let counted = self
            .attempts
            .iter()
            .filter(|(at, _)| now - at < WINDOW_MS)
            .count();
        weight <= MAX_WEIGHT && counted + weight as usize <= terms.quota as usize
    }

    fn charge(&mut self, terms: Terms, weight: u32, now: u64) -> bool {
        self.attempts.retain(|(at, _)| now - at < WINDOW_MS);
        let refused = |log: &Self| {
            log.attempts
                .iter()
                .filter(|(_, admitted)| !admitted)
                .count()
        };
        if terms.remembered < self.remembered {
            self.held = refused(self);
            self.held_since = now;
        }
        self.remembered = terms.remembered;
        let admitted = self.fits(terms, weight, now);
        self.attempts
            .extend((0..weight.min(MAX_WEIGHT)).map(|_| (now, admitted)));
        if !admitted {
            let held = if now - self.held_since < WINDOW_MS {
                self.held
            } else {
                0
            };
            let room = held.max(terms.remembered as usize);
            let mut surplus = refused(self).saturating_sub(room);
            self.attempts.retain(|(_, admitted)| {
                let drop = !admitted && surplus > 0;
                surplus -= usize::from(drop);
                !drop
            });
        }
        admitted
    }

    fn wait(&self, terms: Terms, weight: u32, now: u64) -> u64 {
        let instants = self
            .attempts
            .iter()
            .map(|(at, _)| WINDOW_MS - (now - at))
            .filter(|&wait| wait > 0);
        let mut waits: Vec<u64> = std::iter::once(0).chain(instants).collect();
        waits.sort_unstable();
        waits.dedup();
        let enough = |wait: &u64| {
            let left = self
                .attempts
                .iter()
                .filter(|(at, _)| now - at + wait < WINDOW_MS)
                .count();
            weight <= MAX_WEIGHT && left + weight as usize <= terms.quota as usize
        };
        waits.into_iter().find(enough).unwrap_or(WINDOW_MS)
    }
}

impl Reference {
    /// A limiter that has seen nothing.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            pasts: BTreeMap::new(),
            flights: BTreeMap::new(),
            admitted: 0,
        }
    }

    /// What each limit would have the request wait after its last attempt, 0 for those with room.
    #[must_use]
    pub fn waits(&mut self, request: &Request, now: u64) -> Vec<(Limit, u64)> {
        let (standard, search, concurrent) = self.needs(request);
        let flights: Vec<u64> = self
            .flights_of(request)
            .map(|flight| flight.deadline)
            .collect();
        let settings = self.settings;
        let past = self.pasts.entry(request.key).or_default();
        let now = past.last.max(now);
        let full = flights.len() >= concurrent.1 as usize;
        let latest = flights
            .iter()
            .max()
            .map_or(deadline_ms(&settings), |at| at.saturating_sub(now));
        let cost = settings.cost_per_minute.map_or(0, |per_minute| {
            let per_minute = i128::from(per_minute.max(1));
            let left = per_minute * 60_000 - past.spent;
            if left > 0 {
                0
            } else {
                u64::try_from(-left / per_minute + 1).unwrap_or(u64::MAX)
            }
        });
        let rate = |log: &Log, need: (Terms, u32)| {
            if need.1 == 0 {
                0
            } else {
                log.wait(need.0, need.1, now)
            }
        };
        vec![
            (Limit::Standard, rate(&past.standard, standard)),
            (Limit::Search, rate(&past.search, search)),
            (concurrent.0, if full { latest.max(1) } else { 0 }),
            (Limit::Cost, cost),
        ]
    }

    fn needs(&self, request: &Request) -> ((Terms, u32), (Terms, u32), (Limit, u32)) {
        let (quota, weight, searches) = match request.rate {
            Rate::Standard { quota } => (quota, request.weight, 0),
            Rate::Search => (0, 0, request.weight),
            Rate::Mixed { quota, searches } => (quota, request.weight, searches),
        };
        let limit = match request.class {
            Class::Read => Limit::ConcurrentReads,
            Class::Write => Limit::ConcurrentWrites,
        };
        let settings = &self.settings;
        let slots = slots(settings, request.class);
        let search = Terms {
            quota: settings.search_per_minute,
            remembered: 0,
        };
        (
            (settings.standard.terms(quota), weight),
            (search, searches),
            (limit, slots),
        )
    }

    fn flights_of(&self, request: &Request) -> impl Iterator<Item = &Flight> {
        let Request { key, class, .. } = *request;
        self.flights
            .values()
            .filter(move |flight| flight.key == key && flight.class == class)
    }
}

impl Past {
    fn regain(&mut self, now: u64) {
        let regained = i128::from(now - self.spent_at) * i128::from(self.regained_per_ms);
        self.spent = (self.spent - regained).max(0);
        self.spent_at = now;
    }
}

impl Subject for Reference {
    fn admit(&mut self, request: &Request, now: u64) -> Result<Ticket, Refusal> {
        let (standard, search, _) = self.needs(request);
        let past = self.pasts.entry(request.key).or_default();
        past.last = past.last.max(now);
        let now = past.last;
        let mut refused = Vec::new();
        if standard.1 > 0 && !past.standard.charge(standard.0, standard.1, now) {
            refused.push(Limit::Standard);
        }
        if search.1 > 0 && !past.search.charge(search.0, search.1, now) {
            refused.push(Limit::Search);
        }
        if let Some(per_minute) = self.settings.cost_per_minute {
            past.regain(now);
            past.regained_per_ms = per_minute.max(1);
        }
        let mut waits = self.waits(request, now);
        let shadow = self.settings.shadow;
        waits.iter_mut().for_each(|(limit, wait)| {
            if *shadow.of(*limit) {
                *wait = 0;
            }
        });
        refused.extend(
            waits
                .iter()
                .skip(2)
                .filter(|(_, wait)| *wait > 0)
                .map(|(limit, _)| *limit),
        );
        refused.retain(|limit| !shadow.of(*limit));
        if let Some(&limit) = refused.first() {
            return Err(Refusal::new(
                limit,
                waits.iter().map(|(_, wait)| *wait).max().unwrap_or(0),
            ));
        }
        let ticket = Ticket(self.admitted);
        self.admitted += 1;
        let Settings {
            cost_per_minute,
            cost_ceiling,
            ..
        } = self.settings;
        let deadline = now.saturating_add(deadline_ms(&self.settings));
        let ceiling = cost_per_minute.map(|_| cost_ceiling);
        self.flights.insert(
            ticket,
            Flight {
                key: request.key,
                class: request.class,
                deadline,
                ceiling,
            },
        );
        Ok(ticket)
    }

    fn settle(&mut self, ticket: Ticket, cost: u32, now: u64) {
        let Some(Flight {
            key,
            ceiling: Some(ceiling),
            ..
        }) = self.flights.get(&ticket)
        else {
            return;
        };
        let past = self.pasts.entry(*key).or_default();
        past.last = past.last.max(now);
        past.regain(past.last);
        past.spent += i128::from(cost.min(*ceiling)) * 60_000;
    }

    fn finish(&mut self, ticket: Ticket) {
        self.flights.remove(&ticket);
    }

    fn set(&mut self, settings: Settings) {
        self.settings = settings;
    }

    fn sweep(&mut self, _now: u64) {}
}
