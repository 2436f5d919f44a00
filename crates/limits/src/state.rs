//! What the limiters have counted for a key, to explain its answers.

use crate::concurrency::Flights;
use crate::cost::{Balance, CREDIT};
use crate::refusal::Limit;
use crate::request::Class;
use crate::shared::Figures;
use crate::window::{Log, RECENT, Terms};

/// The state of every limiter for one key. Times are milliseconds from the instant it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The standard quota.
    pub standard: RateState,
    /// The search quota.
    pub search: RateState,
    /// Concurrent reads.
    pub reads: SlotState,
    /// Concurrent writes.
    pub writes: SlotState,
    /// The cost quota, unless it is off.
    pub cost: Option<CostState>,
    /// The requests admitted in the last minute, the newest first: of each quota the last six at least, and at most
    /// sixteen of both.
    pub recent: Vec<Recent>,
}

/// The state of a quota per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateState {
    /// The quota.
    pub limit: u32,
    /// What counts at present: weight admitted and refused. It exceeds the limit if that has been lowered.
    pub used: u32,
    /// The part of it that was refused.
    pub refused: u32,
    /// The weight that would be admitted now.
    pub remaining: u32,
    /// When the oldest unit leaves the window; 0 if nothing is used.
    pub next_ms: u64,
    /// When everything has left the window; 0 if nothing is used.
    pub full_ms: u64,
    /// Whether the limit only counts and does not refuse.
    pub shadow: bool,
}

/// The state of a number of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotState {
    /// How many may run at the same time.
    pub limit: u32,
    /// How many are running.
    pub running: u32,
    /// When all of them have ended at the latest; 0 if none is running.
    pub full_ms: u64,
    /// Whether the limit only counts and does not refuse.
    pub shadow: bool,
}

/// The state of the cost quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostState {
    /// Credits regained per minute, which is also the most there can be.
    pub limit: u32,
    /// Credits left, rounded down; below 0 in debt.
    pub balance: i64,
    /// When something is left again, if nothing else is taken; 0 if it is so now.
    pub next_ms: u64,
    /// When everything has been regained, if nothing else is taken; 0 if it is so now.
    pub full_ms: u64,
    /// Whether the limit only counts and does not refuse.
    pub shadow: bool,
}

/// A request admitted in the last minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recent {
    /// How long ago, in milliseconds.
    pub age_ms: u64,
    /// The label the caller gave it ([`Custom::label`](crate::Custom::label)).
    pub label: u16,
    /// Whether it read or wrote.
    pub class: Class,
    /// The quota that counted it; a batch with searches is listed once for each.
    pub limit: Limit,
    /// How much it counted.
    pub weight: u32,
}

impl State {
    pub(crate) fn new(
        figures: &Figures,
        quota: u32,
        standard: &Log,
        search: &Log,
        flights: &Flights,
        balance: &Balance,
        now: u64,
    ) -> Self {
        let mut recent: Vec<Recent> = [(Limit::Standard, standard), (Limit::Search, search)]
            .into_iter()
            .flat_map(|(limit, log)| log.recent(now).map(move |one| (limit, one)))
            .map(|(limit, (age_ms, entry))| Recent {
                age_ms,
                label: entry.label,
                class: if entry.writes() {
                    Class::Write
                } else {
                    Class::Read
                },
                limit,
                weight: entry.weight(),
            })
            .collect();
        recent.sort_by_key(|one| one.age_ms);
        recent.truncate(RECENT);
        let rate = |limit, terms: Terms, log: &Log| {
            let used = log.admitted() + log.refused();
            let counted = u32::try_from(used).unwrap_or(u32::MAX);
            RateState {
                limit: terms.quota,
                used: counted,
                refused: u32::try_from(log.refused()).unwrap_or(u32::MAX),
                remaining: terms.quota.saturating_sub(counted),
                next_ms: log.frees(1, now).unwrap_or(0),
                full_ms: log.frees(used, now).unwrap_or(0),
                shadow: figures.shadow.has(limit),
            }
        };
        let slots = |class| SlotState {
            limit: figures.slots(class),
            running: flights.running(class),
            full_ms: flights
                .latest(class)
                .map_or(0, |latest| latest.saturating_sub(now)),
            shadow: figures.shadow.has(Limit::concurrent(class)),
        };
        let cost = |limit: u32| {
            let rate = limit.max(1);
            let left = i128::from(u64::from(rate) * CREDIT) - i128::from(balance.spent());
            CostState {
                limit: rate,
                balance: i64::try_from(left.div_euclid(CREDIT.into())).unwrap_or(i64::MIN),
                next_ms: balance.wait(rate),
                full_ms: balance.spent().div_ceil(rate.into()),
                shadow: figures.shadow.has(Limit::Cost),
            }
        };
        Self {
            standard: rate(Limit::Standard, figures.standard(quota), standard),
            search: rate(Limit::Search, figures.search, search),
            reads: slots(Class::Read),
            writes: slots(Class::Write),
            cost: figures.cost.map(cost),
            recent,
        }
    }
}
