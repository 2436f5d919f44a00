//! Reference limiter: lists of everything, searched completely.

use super::WINDOW_MS;
use super::law_class::RequestClass;
use super::law_limit::{LawLimit, LawRefusal};
use super::law_request::{LawRequest, RateQuota};
use super::law_settings::LawSettings;
use crate::admission_request::LimitKey;
use crate::window::MAX_WEIGHT;
use crate::window::WindowTerms;
use std::collections::BTreeMap;

use super::{AdmissionTicket, TestedLimiter, deadline_ms};

/// Limiter that is as slow and as simple as its description. It never evicts anything.
#[derive(Clone, Debug)]
pub struct ReferenceLimiter {
    settings: LawSettings,
    pasts: BTreeMap<LimitKey, ReferenceAccount>,
    flights: BTreeMap<AdmissionTicket, Flight>,
    admitted: u64,
}

#[derive(Clone, Debug, Default)]
struct ReferenceAccount {
    last: u64,
    standard: ReferenceLog,
    search: ReferenceLog,
    spent: i128,
    spent_at: u64,
    regained_per_ms: u32,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    key: LimitKey,
    class: RequestClass,
    deadline: u64,
    ceiling: Option<u32>,
}

/// Attempts of the last minute: the time of each, and whether it was admitted.
#[derive(Clone, Debug, Default)]
struct ReferenceLog {
    attempts: Vec<(u64, bool)>,
    remembered: u32,
    held: usize,
    held_since: u64,
}

impl ReferenceLog {
    fn fits(&self, terms: WindowTerms, weight: u32, now: u64) -> bool {
        let counted = self
            .attempts
            .iter()
            .filter(|(at, _)| now - at < WINDOW_MS)
            .count();
        weight <= MAX_WEIGHT && counted + weight as usize <= terms.quota as usize
    }

    fn charge(&mut self, terms: WindowTerms, weight: u32, now: u64) -> bool {
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

    fn wait(&self, terms: WindowTerms, weight: u32, now: u64) -> u64 {
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

impl ReferenceLimiter {
    /// Makes a limiter that has seen no requests.
    #[must_use]
    pub fn new(settings: LawSettings) -> Self {
        Self {
            settings,
            pasts: BTreeMap::new(),
            flights: BTreeMap::new(),
            admitted: 0,
        }
    }

    /// Returns the wait of the request after its last attempt, for each limit; 0 for limits with room.
    #[must_use]
    pub fn waits(&mut self, request: &LawRequest, now: u64) -> Vec<(LawLimit, u64)> {
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
        let rate = |log: &ReferenceLog, need: (WindowTerms, u32)| {
            if need.1 == 0 {
                0
            } else {
                log.wait(need.0, need.1, now)
            }
        };
        vec![
            (LawLimit::Standard, rate(&past.standard, standard)),
            (LawLimit::Search, rate(&past.search, search)),
            (concurrent.0, if full { latest.max(1) } else { 0 }),
            (LawLimit::Cost, cost),
        ]
    }

    fn needs(
        &self,
        request: &LawRequest,
    ) -> ((WindowTerms, u32), (WindowTerms, u32), (LawLimit, u32)) {
        let (quota, weight, searches) = match request.rate {
            RateQuota::Standard { quota } => (quota, request.weight, 0),
            RateQuota::Search => (0, 0, request.weight),
            RateQuota::Mixed { quota, searches } => (quota, request.weight, searches),
        };
        let limit = match request.class {
            RequestClass::Read => LawLimit::ConcurrentReads,
            RequestClass::Write => LawLimit::ConcurrentWrites,
        };
        let settings = &self.settings;
        let slots = settings.slots(request.class);
        let search = WindowTerms {
            quota: settings.search_per_minute,
            remembered: 0,
            length: crate::rate::WindowLength::MINUTE,
        };
        (
            (settings.standard.terms(quota), weight),
            (search, searches),
            (limit, slots),
        )
    }

    fn flights_of(&self, request: &LawRequest) -> impl Iterator<Item = &Flight> {
        let LawRequest { key, class, .. } = *request;
        self.flights
            .values()
            .filter(move |flight| flight.key == key && flight.class == class)
    }
}

impl ReferenceAccount {
    fn regain(&mut self, now: u64) {
        let regained = i128::from(now - self.spent_at) * i128::from(self.regained_per_ms);
        self.spent = (self.spent - regained).max(0);
        self.spent_at = now;
    }
}

impl TestedLimiter for ReferenceLimiter {
    fn admit(&mut self, request: &LawRequest, now: u64) -> Result<AdmissionTicket, LawRefusal> {
        let (standard, search, _) = self.needs(request);
        let past = self.pasts.entry(request.key).or_default();
        past.last = past.last.max(now);
        let now = past.last;
        let mut refused = Vec::new();
        if standard.1 > 0 && !past.standard.charge(standard.0, standard.1, now) {
            refused.push(LawLimit::Standard);
        }
        if search.1 > 0 && !past.search.charge(search.0, search.1, now) {
            refused.push(LawLimit::Search);
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
            return Err(LawRefusal::new(
                limit,
                waits.iter().map(|(_, wait)| *wait).max().unwrap_or(0),
            ));
        }
        let ticket = AdmissionTicket(self.admitted);
        self.admitted += 1;
        let LawSettings {
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

    fn settle(&mut self, ticket: AdmissionTicket, cost: u32, now: u64) {
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

    fn finish(&mut self, ticket: AdmissionTicket) {
        self.flights.remove(&ticket);
    }

    fn set(&mut self, settings: LawSettings) {
        self.settings = settings;
    }

    fn sweep(&mut self, _now: u64) {}
}
