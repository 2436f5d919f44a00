//! The limits as requests meet them: what each weighs, and the figures of its token.
use crate::fault::Failure;
use crate::operation::Operation;
use crate::pipeline::Api;
use crate::request::Method;
use std::collections::HashMap;
use std::iter::Sum;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{PoisonError, RwLock};
use std::time::SystemTime;
use workgraph_auth::{Grant, Tier};
use workgraph_limits::totals::TOTALS;
use workgraph_limits::{Batch, Custom, Key, Limit, Permit, Rate, Share, State};

/// What requests that are admitted together weigh.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Load {
    /// Those that count against the standard quota.
    standard: u32,
    /// Those that count against the search quota.
    searches: u32,
    /// Those that take a slot of the reads.
    reads: u32,
    /// Those that take a slot of the writes.
    writes: u32,
}

impl Load {
    /// A plain read.
    pub(crate) const READ: Self = Self {
        standard: 1,
        searches: 0,
        reads: 1,
        writes: 0,
    };
    /// A request that ends before it does anything.
    pub(crate) const FAILING: Self = Self::READ;

    /// One request of an operation.
    pub(crate) fn of(operation: &Operation) -> Self {
        let reads = u32::from(operation.method == Method::Get);
        let searches = u32::from(operation.search);
        Self {
            standard: 1 - searches,
            searches,
            reads,
            writes: 1 - reads,
        }
    }
}

impl Sum for Load {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            standard: sum.standard + one.standard,
            searches: sum.searches + one.searches,
            reads: sum.reads + one.reads,
            writes: sum.writes + one.writes,
        })
    }
}

/// Figures that an app or a token has instead of those of the settings. For an app they are those of each of its
/// tokens, for nothing is shared between tokens.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Own {
    /// Requests per minute, instead of what the plan gives.
    pub standard: Option<u32>,
    /// Searches per minute.
    pub search: Option<u32>,
    /// Reads at the same time.
    pub concurrent_reads: Option<u32>,
    /// Writes at the same time.
    pub concurrent_writes: Option<u32>,
    /// Credits per minute.
    pub cost: Option<u32>,
}

impl Own {
    /// These, and the others where these say nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            standard: self.standard.or(other.standard),
            search: self.search.or(other.search),
            concurrent_reads: self.concurrent_reads.or(other.concurrent_reads),
            concurrent_writes: self.concurrent_writes.or(other.concurrent_writes),
            cost: self.cost.or(other.cost),
        }
    }
}

/// The apps and tokens with figures of their own. What a token says goes before what its app says.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Quotas {
    /// By the number of the app.
    pub apps: HashMap<u64, Own>,
    /// By the number of the token's record.
    pub tokens: HashMap<u64, Own>,
}

/// The quotas in force. Mostly there are none, which costs a request one load.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    any: AtomicBool,
    quotas: RwLock<Quotas>,
}

impl Kept {
    fn set(&self, quotas: Quotas) {
        let any = !quotas.apps.is_empty() || !quotas.tokens.is_empty();
        *self.quotas.write().unwrap_or_else(PoisonError::into_inner) = quotas;
        self.any.store(any, Release);
    }

    fn of(&self, app: Option<u64>, token: u64) -> Own {
        if !self.any.load(Acquire) {
            return Own::default();
        }
        let quotas = self.quotas.read().unwrap_or_else(PoisonError::into_inner);
        let app = app.and_then(|app| quotas.apps.get(&app)).copied();
        let token = quotas.tokens.get(&token).copied();
        token.unwrap_or_default().or(app.unwrap_or_default())
    }
}

/// A token's limits: under which key it is counted, and its figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    key: Key,
    quota: u32,
    custom: Custom,
    /// Whose tokens are counted together.
    user: u64,
}

impl Api {
    /// The terms of a token, from what is in memory.
    pub(crate) fn terms(&self, grant: &Grant) -> Terms {
        let own = self.quotas.of(grant.app, grant.token);
        let plan = self.limiter.quota(grant.tier == Tier::Paid);
        Terms {
            key: grant.key,
            user: grant.user,
            quota: own.standard.unwrap_or(plan),
            custom: Custom {
                label: 0,
                search_per_minute: own.search,
                concurrent_reads: own.concurrent_reads,
                concurrent_writes: own.concurrent_writes,
                cost_per_minute: own.cost,
            },
        }
    }

    /// Charges the limits with requests: all of them are admitted, or none. `label` is the number of
    /// the operation, for whoever asks later what used a quota.
    ///
    /// # Errors
    /// The refusal of the token's limits, or else that of what its user's tokens have together. The wait is the longest
    /// of both.
    pub(crate) fn admit(
        &self,
        terms: &Terms,
        load: Load,
        label: u16,
        now: SystemTime,
    ) -> Result<Permit, Failure> {
        let batch = Batch {
            key: terms.key,
            rate: Rate::Mixed {
                quota: terms.quota,
                searches: load.searches,
            },
            weight: load.standard,
            reads: load.reads,
            writes: load.writes,
        };
        let custom = Custom {
            label,
            ..terms.custom
        };
        let admitted = self.limiter.admit_batch(&batch, &custom, now);
        let Some(shares) = self.shares(terms, [load.standard, load.searches, 0]) else {
            return admitted.map_err(Failure::Limited);
        };
        let refusal = match admitted {
            Ok(permit) => match self.totals.admit(terms.user, &shares, now) {
                Ok(()) => return Ok(permit),
                Err(refusal) => {
                    // The next attempt has its slots again, but not what it was charged.
                    drop(permit);
                    refusal.or_longer(self.limiter.wait(&batch, &custom, now))
                }
            },
            Err(refusal) => refusal.or_longer(self.totals.wait(terms.user, &shares, now)),
        };
        Err(Failure::Limited(refusal))
    }

    /// Charges the cost of a reply to what all tokens of its user have together.
    pub(crate) fn charge_together(&self, terms: &Terms, cost: u32) {
        if let Some(shares) = self.shares(terms, [0, 0, cost]) {
            self.totals.charge(terms.user, &shares, self.clock.now());
        }
    }

    /// What a request asks of all tokens of its user together, in the order of
    /// [`TOTALS`](workgraph_limits::totals::TOTALS); none if there is no such limit.
    fn shares(&self, terms: &Terms, weights: [u32; 3]) -> Option<[Share; 3]> {
        let multiple = self.user_multiple.load(Relaxed);
        if multiple == 0 {
            return None;
        }
        let (settings, own) = (self.limiter.settings(), &terms.custom);
        let search = own.search_per_minute.unwrap_or(settings.search_per_minute);
        let cost = own.cost_per_minute.or(settings.cost_per_minute);
        // As for a token, none is taken as one.
        let cost = cost.map(|cost| cost.max(1));
        let quotas = [Some(terms.quota), Some(search), cost];
        let mut shares = [Share::default(); TOTALS.len()];
        let each = shares.iter_mut().zip(weights).zip(quotas).zip(TOTALS);
        for (((share, weight), quota), limit) in each {
            let quota = quota.filter(|_| !settings.shadow.of(limit));
            share.weight = weight;
            if limit == Limit::Cost {
                share.weight = weight.min(settings.cost_ceiling);
            }
            share.quota = quota.map(|quota| quota.saturating_mul(multiple));
        }
        Some(shares)
    }

    /// Replaces how many times what a token may use all tokens of its user may use together; none for
    /// no such limit.
    pub fn set_user_multiple(&self, multiple: Option<u32>) {
        self.user_multiple.store(multiple.unwrap_or(0), Relaxed);
    }

    /// Drops what is remembered of tokens and users that would be treated as new anyway.
    pub fn sweep_limits(&self) {
        let now = self.clock.now();
        self.limiter.sweep(now);
        self.totals.sweep(now);
    }

    /// What the limits have counted for a token. Asking changes nothing.
    pub(crate) fn counted(&self, terms: &Terms) -> State {
        self.limiter
            .state_with(&terms.key, terms.quota, &terms.custom, self.clock.now())
    }

    /// Replaces the figures that apps and tokens have of their own, from the next request on. What was counted stays
    /// counted.
    pub fn set_quotas(&self, quotas: Quotas) {
        self.quotas.set(quotas);
    }

    /// Replaces the most jobs of one user, for those that are started from now on.
    pub fn set_jobs(&self, most: u32) {
        self.jobs.store(most, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_before_its_app_figure_by_figure() {
        let kept = Kept::default();
        assert_eq!(kept.of(Some(1), 2), Own::default());
        let own = |standard, search| Own {
            standard,
            search,
            ..Own::default()
        };
        kept.set(Quotas {
            apps: [(1, own(Some(10), Some(20)))].into(),
            tokens: [(2, own(Some(30), None))].into(),
        });
        assert_eq!(kept.of(Some(1), 2), own(Some(30), Some(20)));
        assert_eq!(kept.of(Some(1), 3), own(Some(10), Some(20)));
        assert_eq!(kept.of(None, 2), own(Some(30), None));
        kept.set(Quotas::default());
        assert_eq!(kept.of(Some(1), 2), Own::default());
    }
}
