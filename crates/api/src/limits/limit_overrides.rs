//! Limits of single apps and tokens that override the settings.
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Limits of an app or a token that override the settings. Those of an app apply to each of its tokens separately,
/// because tokens share no limits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LimitOverride {
    /// Requests per minute, instead of the quota of the plan.
    pub standard: Option<u32>,
    /// Searches per minute.
    pub search: Option<u32>,
    /// Maximum number of concurrent reads.
    pub concurrent_reads: Option<u32>,
    /// Maximum number of concurrent writes.
    pub concurrent_writes: Option<u32>,
    /// Credits regained per minute.
    pub cost: Option<u32>,
}

impl LimitOverride {
    /// Returns these overrides; `other` provides the values that they lack.
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

/// Apps and tokens with overrides. A token's overrides take precedence over its app's.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LimitOverrides {
    /// Overrides by the number of the app.
    pub apps: HashMap<u64, LimitOverride>,
    /// Overrides by the number of the token's record.
    pub tokens: HashMap<u64, LimitOverride>,
}

/// The effective overrides. Usually there are none; looking that up costs a request one atomic load.
#[derive(Debug, Default)]
pub(crate) struct ActiveLimitOverrides {
    any: AtomicBool,
    quotas: RwLock<LimitOverrides>,
}

impl ActiveLimitOverrides {
    pub(crate) fn set(&self, quotas: LimitOverrides) {
        let any = !quotas.apps.is_empty() || !quotas.tokens.is_empty();
        *self.quotas.write() = quotas;
        self.any.store(any, Release);
    }

    /// Returns the override of a token; the override of its app provides the values that it lacks.
    pub(crate) fn of(&self, app: Option<u64>, token: u64) -> LimitOverride {
        if !self.any.load(Acquire) {
            return LimitOverride::default();
        }
        let quotas = self.quotas.read();
        let app = app.and_then(|app| quotas.apps.get(&app)).copied();
        let token = quotas.tokens.get(&token).copied();
        token.unwrap_or_default().or(app.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_before_its_app_figure_by_figure() {
        let kept = ActiveLimitOverrides::default();
        assert_eq!(kept.of(Some(1), 2), LimitOverride::default());
        let own = |standard, search| LimitOverride {
            standard,
            search,
            ..LimitOverride::default()
        };
        kept.set(LimitOverrides {
            apps: [(1, own(Some(10), Some(20)))].into(),
            tokens: [(2, own(Some(30), None))].into(),
        });
        assert_eq!(kept.of(Some(1), 2), own(Some(30), Some(20)));
        assert_eq!(kept.of(Some(1), 3), own(Some(10), Some(20)));
        assert_eq!(kept.of(None, 2), own(Some(30), None));
        kept.set(LimitOverrides::default());
        assert_eq!(kept.of(Some(1), 2), LimitOverride::default());
    }
}
