//! Cost quota: credits that are regained over time and taken after the reply is built.

/// Credits that a key has spent and not yet regained. The owner of the balance supplies the elapsed time, and the
/// time in which a quota is regained: `length` milliseconds.
///
/// A credit has as many units as the length has milliseconds, so that a quota of one credit regains one unit per millisecond.
///
/// It stores spent credits instead of the remaining ones, so that a new balance is 0 for any quota, and changing the quota
/// does not change the spent credits. Credits are regained at the quota that was effective when the elapsed time began.
#[derive(Clone, Debug, Default)]
pub(crate) struct CreditBalance {
    spent: u64,
    rate: u32,
}

impl CreditBalance {
    /// Regains the credits for a time in milliseconds.
    pub(crate) fn regain(&mut self, elapsed: u64) {
        if self.spent > 0 {
            let regained = elapsed.saturating_mul(self.rate.into());
            self.spent = self.spent.saturating_sub(regained);
        }
    }

    /// Makes a quota effective from now on, and returns true if it has any credits left.
    #[inline]
    pub(crate) fn admits(&mut self, quota: u32, length: u64) -> bool {
        self.rate = quota.max(1);
        self.spent == 0 || self.spent < u64::from(self.rate).saturating_mul(length)
    }

    /// Returns the milliseconds until a credit is available, if nothing else is taken; 0 if one is available now.
    pub(crate) fn wait(&self, quota: u32, length: u64) -> u64 {
        let rate = u64::from(quota.max(1));
        match self.spent.checked_sub(rate.saturating_mul(length)) {
            None => 0,
            Some(debt) => debt / rate + 1,
        }
    }

    /// Returns the credits left in a quota, rounded down; below 0 in debt.
    pub(crate) fn left(&self, quota: u32, length: u64) -> i64 {
        let whole = i128::from(quota.max(1)) * i128::from(length);
        let left = whole - i128::from(self.spent);
        i64::try_from(left.div_euclid(length.into())).unwrap_or(i64::MIN)
    }

    /// Returns the milliseconds until everything is regained at a quota, if nothing else is taken.
    pub(crate) fn full_in(&self, quota: u32) -> u64 {
        self.spent.div_ceil(quota.max(1).into())
    }

    /// Takes `cost` credits, even if that leads to debt.
    pub(crate) fn take(&mut self, cost: u32, length: u64) {
        let units = u64::from(cost).saturating_mul(length);
        self.spent = self.spent.saturating_add(units);
    }

    /// Returns true if everything is regained.
    pub(crate) fn is_full(&self) -> bool {
        self.spent == 0
    }
}
