//! Totals over all keys of an owner, in addition to the limits of each key.
//!
//! There is a bucket for each window and for the cost: use fills it, and it drains evenly, one quota per length. So no
//! span of that length admits more than two quotas, any longer time admits one quota per length plus one more, and an
//! owner who stays below the quota is never refused. That is less exact than the window of a key, but only stores a number
//! for each limit of an owner instead of a timestamp for each request.
//!
//! Use is stored as the time in which it drains: with a quota of 60 a minute, one request is a second. So keys with
//! different quotas use parts of the same total, each in proportion to its own quota.
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, SystemTime};

use crate::limit::{Limit, LimitKind};
use crate::limit_exceeded::{LimitExceeded, LimitUsage};
use crate::limiter_settings::LimiterSettings;
use crate::rate::WindowLength;
use crate::sync::{Mutex, SHARDS, lock};
use crate::time_units::{length_ms, millis};

/// Nanoseconds per millisecond.
const MILLISECOND: u64 = 1_000_000;

/// Share of one total that a request uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TotalShare {
    /// Weight that the request uses. A weight of 0 needs no room, except for the cost, which is only known afterwards.
    pub weight: u32,
    /// Weight that all keys together may use in the length, computed with the quota of this key; `None` for no limit.
    pub quota: Option<u32>,
}

impl TotalShare {
    /// Returns the nanoseconds in which the used weight drains if a quota drains in `length`, rounded down, so that a
    /// whole quota has room when split into any parts.
    #[must_use]
    pub fn drain_ns(self, length: Duration) -> u64 {
        self.time(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
    }

    fn time(self, full: u64) -> u64 {
        let (Some(quota), 1..) = (self.quota, self.weight) else {
            return 0;
        };
        let (quota, weight) = (u64::from(quota.max(1)), u64::from(self.weight));
        match weight.checked_mul(full) {
            Some(all) => all / quota,
            None => (full / quota).saturating_mul(weight),
        }
    }
}

/// Limit for which owners have a total, and the nanoseconds in which a full one drains, regardless of its quota.
#[derive(Clone, Copy, Debug)]
struct TotalRule {
    limit: Limit,
    full: u64,
}

/// Use that counts towards the totals of an owner.
#[derive(Debug, Default)]
struct OwnerUsage {
    /// Millisecond of the last update.
    at: u64,
    /// Nanoseconds from `at` in which each total drains.
    used: Box<[u64]>,
}

impl OwnerUsage {
    /// Advances time.
    fn drain(&mut self, now: u64) {
        let passed = now.saturating_sub(self.at);
        if passed == 0 {
            return;
        }
        self.at = now;
        let drained = passed.saturating_mul(MILLISECOND);
        for used in &mut self.used {
            *used = used.saturating_sub(drained);
        }
    }

    fn fill(&mut self, rules: &[TotalRule], shares: &[TotalShare]) {
        for ((used, share), rule) in self.used.iter_mut().zip(shares).zip(rules) {
            *used = used.saturating_add(share.time(rule.full));
        }
    }

    /// Returns the first total without room, and the milliseconds after which all of them have room.
    fn refusal(&self, rules: &[TotalRule], shares: &[TotalShare]) -> Option<LimitExceeded> {
        let (mut first, mut wait) = (None, 0);
        for ((used, share), rule) in self.used.iter().zip(shares).zip(rules) {
            let Some(most) = share.quota else { continue };
            if share.weight == 0 && rule.limit.kind() != LimitKind::Cost {
                continue;
            }
            let needed = share.time(rule.full).clamp(1, rule.full);
            let over = used.saturating_add(needed).saturating_sub(rule.full);
            if over > 0 || most == 0 {
                first = first.or(Some((rule, *used, most)));
                // A quota of 0 never has room, so any wait is as good as a whole length.
                wait = wait.max(if most == 0 { rule.full } else { over });
            }
        }
        let (rule, used, most) = first?;
        let free = u128::from(rule.full.saturating_sub(used)) * u128::from(most);
        let usage = LimitUsage {
            limit: most,
            remaining: u32::try_from(free / u128::from(rule.full)).unwrap_or(most),
            reset_ms: used.div_ceil(MILLISECOND),
        };
        let wait_ms = wait.div_ceil(MILLISECOND);
        Some(LimitExceeded::new(rule.limit, wait_ms).with_usage(usage))
    }

    /// Returns true if all earlier use has drained.
    fn is_clear(&self, now: u64) -> bool {
        let passed = now.saturating_sub(self.at);
        let drained = passed.saturating_mul(MILLISECOND);
        self.used.iter().all(|used| *used <= drained)
    }
}

/// Totals of all owners. They are shared by reference between threads, and never read a clock.
///
/// An owner is any second key shared by several keys: the user of some tokens, the customer of some users.
/// The shares of a request are in the order of the limiter's windows, followed by that of the cost; a missing share
/// means no limit.
#[derive(Debug)]
pub struct OwnerTotals<O, S = RandomState> {
    rules: Box<[TotalRule]>,
    shards: Vec<Mutex<HashMap<O, OwnerUsage, S>>>,
    hasher: S,
}

impl<O: Hash + Eq + Clone, S: BuildHasher + Clone + Default> OwnerTotals<O, S> {
    /// Makes the totals of owners without use, one for each window of a limiter and one for its cost.
    #[must_use]
    pub fn new(settings: &LimiterSettings) -> Self {
        let hasher = S::default();
        let windows = settings.windows.iter().enumerate();
        let windows = windows.map(|(at, of)| {
            let length = WindowLength::of(of.rate.length);
            (Limit::window(of.name, at), length.millis())
        });
        let cost = &settings.cost;
        let cost = (Limit::cost(cost.name), length_ms(cost.length).max(1));
        let rule = |(limit, length): (Limit, u64)| TotalRule {
            limit,
            full: length.saturating_mul(MILLISECOND),
        };
        let shard = |_| Mutex::new(HashMap::with_hasher(hasher.clone()));
        Self {
            rules: windows.chain([cost]).map(rule).collect(),
            shards: (0..SHARDS).map(shard).collect(),
            hasher,
        }
    }
}

impl<O: Hash + Eq + Clone, S: BuildHasher> OwnerTotals<O, S> {
    fn with<T>(&self, owner: &O, work: impl FnOnce(&mut OwnerUsage) -> T) -> Option<T> {
        let top = self.hasher.hash_one(owner) >> 48;
        let at = usize::try_from(top).unwrap_or(0) % SHARDS;
        let mut owners = lock(self.shards.get(at)?);
        if let Some(usage) = owners.get_mut(owner) {
            return Some(work(usage));
        }
        let new = || OwnerUsage {
            at: 0,
            used: vec![0; self.rules.len()].into(),
        };
        Some(work(owners.entry(owner.clone()).or_insert_with(new)))
    }

    /// Charges a request to all totals of an owner, or to none.
    ///
    /// # Errors
    /// Fails with a [`LimitExceeded`] of the first total without room, with the wait after which all of them have room.
    pub fn admit(
        &self,
        owner: &O,
        shares: &[TotalShare],
        now: SystemTime,
    ) -> Result<(), LimitExceeded> {
        let (rules, now) = (&*self.rules, millis(now));
        let decided = self.with(owner, |owner| {
            owner.drain(now);
            match owner.refusal(rules, shares) {
                Some(refusal) => Err(refusal),
                None => {
                    owner.fill(rules, shares);
                    Ok(())
                }
            }
        });
        decided.unwrap_or(Ok(()))
    }

    /// Returns the milliseconds that a request would have to wait for the totals of an owner; 0 if there is room now. It
    /// charges nothing.
    #[must_use]
    pub fn wait(&self, owner: &O, shares: &[TotalShare], now: SystemTime) -> u64 {
        let (rules, now) = (&*self.rules, millis(now));
        let refusal = self.with(owner, |owner| {
            owner.drain(now);
            owner.refusal(rules, shares)
        });
        refusal.flatten().map_or(0, |refusal| refusal.wait_ms)
    }

    /// Charges a use that is only known afterwards, even if there is no room for it.
    pub fn charge(&self, owner: &O, shares: &[TotalShare], now: SystemTime) {
        let (rules, now) = (&*self.rules, millis(now));
        self.with(owner, |owner| {
            owner.drain(now);
            owner.fill(rules, shares);
        });
    }

    /// Drops the totals of owners that would be treated as new anyway.
    pub fn sweep(&self, now: SystemTime) {
        let now = millis(now);
        for shard in &self.shards {
            lock(shard).retain(|_, owner| !owner.is_clear(now));
        }
    }

    /// Returns the number of owners that have totals in memory.
    #[must_use]
    pub fn tracked(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CostSettings, PerTime, WindowSettings};
    use std::time::{Duration, UNIX_EPOCH};

    const MINUTE: u64 = 60_000_000_000;

    /// Returns the totals of two windows of a minute, and of the cost.
    fn new_totals() -> OwnerTotals<u64> {
        let window = |name| WindowSettings::new(name, 60.per_minute());
        OwnerTotals::new(&LimiterSettings {
            windows: vec![window("standard"), window("search")],
            cost: CostSettings::new("cost", 100.per_minute()),
            ..LimiterSettings::default()
        })
    }

    fn at(ms: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(1_800_000_000_000 + ms)
    }

    fn shares(requests: u32, quota: u32) -> [TotalShare; 3] {
        let none = TotalShare::default();
        let quota = Some(quota);
        let standard = TotalShare {
            weight: requests,
            quota,
        };
        [standard, none, none]
    }

    #[test]
    fn an_owner_has_a_quota_at_once_and_one_a_minute() {
        let totals = new_totals();
        let ask = |owner, ms| totals.admit(&owner, &shares(1, 60), at(ms));
        for _ in 0..60 {
            assert_eq!(ask(1, 0), Ok(()));
        }
        let refused = ask(1, 0).unwrap_err();
        assert_eq!(
            (refused.limit, refused.wait_ms),
            (Limit::window("standard", 0), 1_000)
        );
        assert_eq!(ask(2, 0), Ok(()), "others have their own");
        assert!(ask(1, 999).is_err());
        assert_eq!(ask(1, 1_000), Ok(()));
        assert!(ask(1, 1_000).is_err());
        let one_more = (0..100).filter(|_| ask(1, 61_000).is_ok()).count();
        assert_eq!(one_more, 60);
        // Setting the clock back has no advantage.
        assert!(ask(1, 0).is_err());
    }

    #[test]
    fn a_full_total_refuses_only_what_uses_it() {
        let totals = new_totals();
        let ask = |requests, searches, quota| {
            let share = |weight| TotalShare {
                weight,
                quota: Some(quota),
            };
            let all = [share(requests), share(searches), TotalShare::default()];
            totals
                .admit(&1, &all, at(0))
                .map_err(|refused| refused.limit)
        };
        assert_eq!(ask(0, 2, 2), Ok(()));
        assert_eq!(ask(0, 1, 2), Err(Limit::window("search", 1)));
        assert_eq!(ask(2, 0, 2), Ok(()), "the total of searches is not asked");
        assert_eq!(ask(1, 0, 2), Err(Limit::window("standard", 0)));
        assert_eq!(ask(1, 1, 2), Err(Limit::window("standard", 0)));
        assert_eq!(ask(0, 0, 2), Ok(()));
        assert_eq!(ask(0, 0, 0), Ok(()), "nor is one that never has room");
    }

    /// After the wait of the refusal, but not before, the same request is admitted; and no span of time admits more than
    /// drains in it, plus one quota.
    #[test]
    fn waits_are_exact_and_no_time_admits_more_than_it_drains() {
        let mut state = 7_u64;
        let mut random = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let totals = new_totals();
            let quota = 1 + random(2_000) as u32;
            let (mut now, mut admitted) = (0, 0_u64);
            for charges in 1..=200 {
                now += random(3_000);
                let weight = 1 + random(u64::from(quota).min(20)) as u32;
                let ask = shares(weight, quota);
                let mut got = totals.admit(&1, &ask, at(now));
                if let Err(refusal) = got {
                    assert_eq!(totals.wait(&1, &ask, at(now)), refusal.wait_ms);
                    if refusal.wait_ms > 1 {
                        let early = totals.admit(&1, &ask, at(now + refusal.wait_ms - 1));
                        assert!(early.is_err(), "{refusal:?}");
                    }
                    now += refusal.wait_ms;
                    got = totals.admit(&1, &ask, at(now));
                }
                assert_eq!(got, Ok(()), "after the wait there is room");
                admitted += u64::from(weight);
                // Each charge may be rounded down by a nanosecond.
                let drained = MINUTE + now * MILLISECOND + charges;
                assert!(admitted * MINUTE <= drained * u64::from(quota));
            }
        }
    }

    #[test]
    fn what_is_known_afterwards_may_leave_a_debt_and_a_limit_may_be_off() {
        let totals = new_totals();
        let cost = |weight, quota| {
            let none = TotalShare::default();
            [none, none, TotalShare { weight, quota }]
        };
        let ask = |ms| totals.admit(&1, &cost(0, Some(100)), at(ms));
        assert_eq!(ask(0), Ok(()));
        totals.charge(&1, &cost(300, Some(100)), at(0));
        let refused = ask(0).unwrap_err();
        assert_eq!(
            (refused.limit, refused.retry_after),
            (Limit::cost("cost"), 121)
        );
        assert!(ask(120_000).is_err());
        assert_eq!(ask(120_001), Ok(()), "as soon as anything is left");
        for _ in 0..1_000 {
            totals.charge(&2, &cost(u32::MAX, None), at(0));
            assert_eq!(totals.admit(&2, &cost(9, None), at(0)), Ok(()));
        }
    }

    #[test]
    fn a_whole_quota_has_room_in_parts_of_any_size_and_no_more() {
        for quota in [1, 2, 7, 11, 149, 1_499, 15_001, 99_991] {
            for weight in [1, 2, 3] {
                let totals = new_totals();
                let ask = || totals.admit(&1, &shares(weight, quota), at(0));
                for n in 0..quota / weight {
                    assert_eq!(ask(), Ok(()), "{n} of {weight} for {quota}");
                }
                assert!(weight > quota || ask().is_err(), "{weight} for {quota}");
            }
        }
    }

    #[test]
    fn keys_with_different_quotas_use_parts_of_the_same_total() {
        let totals = new_totals();
        let ask = |weight, quota, ms| totals.admit(&1, &shares(weight, quota), at(ms));
        // A tenth of the weight that keys with this quota have together.
        assert_eq!(ask(10_000, 100_000, 0), Ok(()));
        let small = (0..2_000).filter(|_| ask(1, 1_500, 0).is_ok()).count();
        assert_eq!(small, 1_350, "nine tenths are left for the others");
        assert_eq!(ask(1, 100_000, 0).unwrap_err().wait_ms, 1);
        assert_eq!(ask(1, 1_500, 0).unwrap_err().wait_ms, 40);
        // It drains equally fast for all, even if other keys make requests in between.
        for ms in 1..=40 {
            assert_eq!(ask(0, [1_500, 100_000][ms as usize % 2], ms), Ok(()));
        }
        assert_eq!(ask(1, 1_500, 40), Ok(()));
        assert!(ask(1, 1_500, 79).is_err());
        assert_eq!(ask(1_000, 100_000, 640), Ok(()));
        assert_eq!(ask(100_000, 100_000, 60_640), Ok(()), "a minute empties it");
        assert_eq!(ask(1, 100_000, 60_640).unwrap_err().wait_ms, 1);
    }

    /// A weight that is too large for the unit of the counts still causes a debt of about its size.
    #[test]
    fn the_largest_weights_stay_in_proportion() {
        let share = |weight, quota| TotalShare {
            weight,
            quota: Some(quota),
        };
        assert_eq!(
            share(u32::MAX, u32::MAX).time(MINUTE),
            13 * u64::from(u32::MAX)
        );
        assert_eq!(
            share(u32::MAX, 60_000).time(MINUTE),
            u64::from(u32::MAX) * 1_000_000
        );
        assert_eq!(share(300_000_000, 300_000_000).time(MINUTE), MINUTE);
    }

    #[test]
    fn owners_are_forgotten_when_nothing_is_left_of_them() {
        let totals = new_totals();
        for owner in 0..1_000 {
            assert_eq!(totals.admit(&owner, &shares(1, 60), at(owner)), Ok(()));
        }
        totals.sweep(at(999));
        assert_eq!(totals.tracked(), 1_000);
        totals.sweep(at(1_500));
        assert_eq!(totals.tracked(), 499);
        totals.sweep(at(5_000));
        assert_eq!(totals.tracked(), 0);
    }
}
