//! The limits of a token, as settings of its limiter.
use parking_lot::RwLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use workgraph_limits::{
    ConcurrentSettings, CostSettings, Limit, LimiterSettings, LimiterState, PerTime, WindowSettings,
};

/// The requests per minute of a token.
pub const STANDARD: Limit = Limit::window("standard", 0);
/// The searches per minute of a token.
pub const SEARCH: Limit = Limit::window("search", 1);
/// The concurrent reads of a token.
pub const CONCURRENT_READS: Limit = Limit::concurrent("concurrent_reads", 0);
/// The concurrent writes of a token.
pub const CONCURRENT_WRITES: Limit = Limit::concurrent("concurrent_writes", 1);
/// The credits per minute of a token.
pub const COST: Limit = Limit::cost("cost");

/// All limits of a token, in the order in which they are checked.
pub const LIMITS: [Limit; 5] = [STANDARD, SEARCH, CONCURRENT_READS, CONCURRENT_WRITES, COST];

/// Values of the limits of a token; all of them may change while the server runs
/// ([`Api::set_token_limits`](crate::state::Api::set_token_limits)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLimits {
    /// Standard quota of requests, by plan.
    pub standard: PlanQuotas,
    /// Searches per minute, counted separately from the standard quota. Refused searches do not count.
    pub search_per_minute: u32,
    /// Reads that may run at the same time. 0 refuses every read.
    pub concurrent_reads: u32,
    /// Writes that may run at the same time. 0 refuses every write.
    pub concurrent_writes: u32,
    /// Credits regained per minute, which is also their maximum; `None` disables the limit. 0 is treated as 1.
    pub cost_per_minute: Option<u32>,
    /// Maximum cost of one reply, in credits.
    pub cost_ceiling: u32,
    /// Time by which every admitted request has ended, since the server stops it by then.
    pub deadline: Duration,
    /// Limits that count but refuse nothing ([`WindowSettings::shadow`]).
    pub shadow: ShadowLimits,
}

/// Requests per minute, by plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanQuotas {
    /// Quota of a token whose user has no paid workspace.
    pub free: u32,
    /// Quota of a token whose user has a paid workspace.
    pub paid: u32,
    /// Percentage of its quota that a client still gets if it never pauses ([`WindowSettings::floor_percent`]).
    pub floor_percent: u8,
}

/// Limits in shadow mode: a flag for each of [`LIMITS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShadowLimits([bool; LIMITS.len()]);

impl ShadowLimits {
    /// Returns true if a limit is in shadow mode.
    #[must_use]
    pub fn has(&self, limit: Limit) -> bool {
        self.iter().any(|of| of == limit)
    }

    /// Puts a limit into shadow mode.
    pub fn add(&mut self, limit: Limit) {
        for (of, is_in) in LIMITS.iter().zip(&mut self.0) {
            *is_in |= *of == limit;
        }
    }

    /// Returns the limits in shadow mode, in order.
    pub fn iter(&self) -> impl Iterator<Item = Limit> {
        let each = LIMITS.into_iter().zip(self.0);
        each.filter(|(_, is_in)| *is_in).map(|(limit, _)| limit)
    }
}

impl Default for TokenLimits {
    fn default() -> Self {
        Self {
            standard: PlanQuotas {
                free: 150,
                paid: 1_500,
                floor_percent: 10,
            },
            search_per_minute: 60,
            concurrent_reads: 50,
            concurrent_writes: 15,
            cost_per_minute: Some(600_000),
            cost_ceiling: 60_000,
            deadline: Duration::from_secs(30),
            shadow: ShadowLimits::default(),
        }
    }
}

impl From<&TokenLimits> for LimiterSettings {
    fn from(of: &TokenLimits) -> Self {
        let window = |limit: Limit, quota: u32, floor_percent| WindowSettings {
            floor_percent,
            shadow: of.shadow.has(limit),
            ..WindowSettings::new(limit.name(), quota.per_minute())
        };
        let class = |limit: Limit, most| ConcurrentSettings {
            shadow: of.shadow.has(limit),
            ..ConcurrentSettings::new(limit.name(), most)
        };
        // Every request carries the standard quota of its token. Refused searches do not count anywhere.
        let standard = of.standard;
        Self {
            windows: vec![
                window(STANDARD, standard.free, standard.floor_percent),
                window(SEARCH, of.search_per_minute, 100),
            ],
            concurrent: vec![
                class(CONCURRENT_READS, of.concurrent_reads),
                class(CONCURRENT_WRITES, of.concurrent_writes),
            ],
            cost: CostSettings {
                quota: of.cost_per_minute,
                ceiling: of.cost_ceiling,
                shadow: of.shadow.has(COST),
                ..CostSettings::new(COST.name(), 0.per_minute())
            },
            deadline: of.deadline,
        }
    }
}

/// The effective limits. Every request reads the quotas of the plans, without a lock.
#[derive(Debug)]
pub(crate) struct ActiveTokenLimits {
    plans: AtomicU64,
    all: RwLock<TokenLimits>,
}

impl ActiveTokenLimits {
    pub(crate) fn new(limits: TokenLimits) -> Self {
        Self {
            plans: AtomicU64::new(plans(&limits)),
            all: RwLock::new(limits),
        }
    }

    pub(crate) fn set(&self, limits: TokenLimits) {
        *self.all.write() = limits;
        self.plans.store(plans(&limits), Relaxed);
    }

    pub(crate) fn all(&self) -> TokenLimits {
        *self.all.read()
    }

    /// Returns the standard quota of a token, by whether its user has a paid workspace.
    pub(crate) fn standard(&self, is_paid: bool) -> u32 {
        let plans = self.plans.load(Relaxed);
        let [a, b, c, d, e, f, g, h] = plans.to_be_bytes();
        u32::from_be_bytes(if is_paid { [a, b, c, d] } else { [e, f, g, h] })
    }
}

/// Returns a number with the quota of the paid plan in the upper half, and the quota of the free plan in the lower half.
fn plans(limits: &TokenLimits) -> u64 {
    u64::from(limits.standard.paid) << 32 | u64::from(limits.standard.free)
}

/// Remaining quotas of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemainingLimits {
    /// Requests left in the standard quota.
    pub standard: u32,
    /// Maximum number of requests in the standard quota.
    pub standard_limit: u32,
    /// Searches left in the search quota.
    pub search: u32,
    /// Maximum number of searches in the search quota.
    pub search_limit: u32,
    /// Credits left, below 0 in debt, and their maximum; `None` if there is no such limit.
    pub credits: Option<(i64, u32)>,
}

impl From<&workgraph_limits::RemainingLimits> for RemainingLimits {
    fn from(left: &workgraph_limits::RemainingLimits) -> Self {
        let of = |limit: Limit| left.windows.get(limit.index()).copied().unwrap_or_default();
        let ((standard, standard_limit), (search, search_limit)) = (of(STANDARD), of(SEARCH));
        Self {
            standard,
            standard_limit,
            search,
            search_limit,
            credits: left.credits,
        }
    }
}

impl From<&LimiterState> for RemainingLimits {
    fn from(state: &LimiterState) -> Self {
        (&workgraph_limits::RemainingLimits::from(state)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> &'static str {
        include_str!("../../../docs/LIMITS.md")
    }

    #[test]
    fn the_figures_of_the_examples_are_the_defaults() {
        let limits = TokenLimits::default();
        for figure in [
            format!("{} requests a minute", limits.standard.free),
            "At 1,500 requests a minute, 600,000 credits are".to_owned(),
            format!("\"search\";q={};", limits.search_per_minute),
            format!("\"concurrent_reads\";q={};", limits.concurrent_reads),
            format!("\"concurrent_writes\";q={};", limits.concurrent_writes),
        ] {
            assert!(document().contains(&figure), "{figure}");
        }
        assert_eq!(limits.standard.paid, 1_500);
        assert_eq!(limits.cost_per_minute, Some(600_000));
    }

    #[test]
    fn the_limiter_has_the_limits_of_a_token_under_their_names() {
        let mut limits = TokenLimits::default();
        limits.shadow.add(SEARCH);
        limits.shadow.add(COST);
        assert_eq!(limits.shadow.iter().collect::<Vec<_>>(), [SEARCH, COST]);
        let limiter = workgraph_limits::DigestLimiter::new((&limits).into());
        let counts = limiter.counts().limits;
        assert!(counts.iter().map(|(limit, _)| *limit).eq(LIMITS));
        let settings = limiter.settings();
        let shadow = settings.windows.iter().map(|window| window.shadow);
        assert_eq!(shadow.collect::<Vec<_>>(), [false, true]);
        assert!(settings.cost.shadow && !settings.concurrent[0].shadow);
    }

    #[test]
    fn each_plan_has_its_quota() {
        let mut limits = TokenLimits::default();
        let active = ActiveTokenLimits::new(limits);
        assert_eq!(
            (active.standard(false), active.standard(true)),
            (150, 1_500)
        );
        (limits.standard.free, limits.standard.paid) = (u32::MAX, 7);
        active.set(limits);
        assert_eq!(
            (active.standard(false), active.standard(true)),
            (u32::MAX, 7)
        );
        assert_eq!(active.all(), limits);
    }
}
