//! Counts of the limiters for a key, which explain its answers.

use crate::admission_request::RequestClass;
use crate::atomic_settings::EffectiveFigures;
use crate::cost::CreditBalance;
use crate::in_flight::InFlight;
use crate::limit::Limit;
use crate::window::{RECENT, WindowLog, WindowTerms};

/// State of every limiter for one key. Times are milliseconds from the instant of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterState {
    /// State of the standard quota.
    pub standard: RateState,
    /// State of the search quota.
    pub search: RateState,
    /// State of the limit of concurrent reads.
    pub reads: SlotState,
    /// State of the limit of concurrent writes.
    pub writes: SlotState,
    /// State of the cost quota; `None` if it is off.
    pub cost: Option<CostState>,
    /// Requests admitted in the last minute, the newest first: of each quota the last six at least, and at most sixteen
    /// of both.
    pub recent: Vec<RecentRequest>,
}

/// State of a quota per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateState {
    /// Quota in force: weight per minute.
    pub limit: u32,
    /// Weight that counts at present, admitted and refused. It exceeds the limit if that has been lowered.
    pub used: u32,
    /// Part of the used weight that was refused.
    pub refused: u32,
    /// Weight that would be admitted now.
    pub remaining: u32,
    /// Milliseconds until the oldest unit leaves the window; 0 if nothing is used.
    pub next_ms: u64,
    /// Milliseconds until everything has left the window; 0 if nothing is used.
    pub full_ms: u64,
    /// True if the limit is in shadow mode: it counts, but refuses nothing.
    pub shadow: bool,
}

/// State of a limit of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotState {
    /// Most requests that may run at the same time.
    pub limit: u32,
    /// Number of requests that are running.
    pub running: u32,
    /// Milliseconds until all of them have ended at the latest; 0 if none is running.
    pub full_ms: u64,
    /// True if the limit is in shadow mode: it counts, but refuses nothing.
    pub shadow: bool,
}

/// State of the cost quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostState {
    /// Credits regained per minute, which is also the most there can be.
    pub limit: u32,
    /// Credits left, rounded down; below 0 in debt.
    pub balance: i64,
    /// Milliseconds until a credit is left again, if nothing else is taken; 0 if one is left now.
    pub next_ms: u64,
    /// Milliseconds until everything has been regained, if nothing else is taken; 0 if it is so now.
    pub full_ms: u64,
    /// True if the limit is in shadow mode: it counts, but refuses nothing.
    pub shadow: bool,
}

/// Request admitted in the last minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentRequest {
    /// Age of the request, in milliseconds.
    pub age_ms: u64,
    /// Label that the caller gave it ([`RequestOverrides::label`](crate::RequestOverrides::label)).
    pub label: u16,
    /// Class of the request.
    pub class: RequestClass,
    /// Limit whose quota counted it; a batch with searches is listed once for each.
    pub limit: Limit,
    /// Weight that was counted.
    pub weight: u32,
}

/// Rest of the quotas of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemainingLimits {
    /// Requests left of the standard quota.
    pub standard: u32,
    /// The standard quota.
    pub standard_limit: u32,
    /// Searches left.
    pub search: u32,
    /// The quota of searches.
    pub search_limit: u32,
    /// Credits left, below 0 in debt, and the most there can be; `None` if there is no such limit.
    pub credits: Option<(i64, u32)>,
}

impl From<&LimiterState> for RemainingLimits {
    fn from(state: &LimiterState) -> Self {
        Self {
            standard: state.standard.remaining,
            standard_limit: state.standard.limit,
            search: state.search.remaining,
            search_limit: state.search.limit,
            credits: state.cost.as_ref().map(|cost| (cost.balance, cost.limit)),
        }
    }
}

impl LimiterState {
    pub(crate) fn new(
        figures: &EffectiveFigures,
        quota: u32,
        standard: &WindowLog,
        search: &WindowLog,
        flights: &InFlight,
        balance: &CreditBalance,
        now: u64,
    ) -> Self {
        let mut recent: Vec<RecentRequest> = [(Limit::Standard, standard), (Limit::Search, search)]
            .into_iter()
            .flat_map(|(limit, log)| log.recent(now).map(move |one| (limit, one)))
            .map(|(limit, (age_ms, entry))| RecentRequest {
                age_ms,
                label: entry.label,
                class: if entry.writes() {
                    RequestClass::Write
                } else {
                    RequestClass::Read
                },
                limit,
                weight: entry.weight(),
            })
            .collect();
        recent.sort_by_key(|one| one.age_ms);
        recent.truncate(RECENT);
        let rate = |limit, terms: WindowTerms, log: &WindowLog| {
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
            CostState {
                limit: rate,
                balance: balance.left(rate),
                next_ms: balance.wait(rate),
                full_ms: balance.spent().div_ceil(rate.into()),
                shadow: figures.shadow.has(Limit::Cost),
            }
        };
        Self {
            standard: rate(Limit::Standard, figures.standard(quota), standard),
            search: rate(Limit::Search, figures.search, search),
            reads: slots(RequestClass::Read),
            writes: slots(RequestClass::Write),
            cost: figures.cost.map(cost),
            recent,
        }
    }
}
