//! Totals of all keys of one owner together, beside the limits of each key.
//!
//! There is a bucket for each figure: use fills it, and it drains evenly, a quota a minute. So no minute admits more
//! than two quotas, any longer time admits a quota for each minute and one more, and an owner who stays below the quota
//! is never refused. That is coarser than the window of a key, and takes three numbers for an owner instead of an
//! instant for each request.
//!
//! Use is kept as the time in which it drains: one of a quota of 60 is a second. So keys with different quotas use
//! parts of one and the same total, each in proportion to its own quota.
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::SystemTime;

use crate::limit::Limit;
use crate::limit_exceeded::LimitExceeded;
use crate::sync::{Mutex, SHARDS, lock};
use crate::time_units::millis;

/// Limits that owners have totals of.
pub const TOTALS: [Limit; 3] = [Limit::Standard, Limit::Search, Limit::Cost];

/// Nanoseconds in which a full total drains, whatever its quota is.
const MINUTE: u64 = 60_000_000_000;

/// Nanoseconds of a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// Share of one total that a request uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TotalShare {
    /// Weight that the request uses. A weight of 0 needs no room, except of the cost, which is known only afterwards.
    pub weight: u32,
    /// Weight that all keys together may use in a minute, computed with the quota of this key; `None` for no limit.
    pub quota: Option<u32>,
}

impl TotalShare {
    /// Returns the nanoseconds in which the used weight drains, rounded down, so that a whole quota has room in any
    /// parts.
    #[must_use]
    pub fn time(self) -> u64 {
        let (Some(quota), 1..) = (self.quota, self.weight) else {
            return 0;
        };
        let (quota, weight) = (u64::from(quota.max(1)), u64::from(self.weight));
        match weight.checked_mul(MINUTE) {
            Some(all) => all / quota,
            None => (MINUTE / quota).saturating_mul(weight),
        }
    }
}

/// Nanoseconds that each share of a request uses.
type DrainTimes = [u64; TOTALS.len()];

#[derive(Debug, Default)]
struct OwnerUsage {
    /// Millisecond of the last update.
    at: u64,
    /// Nanoseconds from then on in which each total drains.
    used: DrainTimes,
}

/// Hasher for the numbers of owners, which the service itself gives out in order.
#[derive(Debug, Default)]
struct OwnerHasher(u64);

impl Hasher for OwnerHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

type Owners = HashMap<u64, OwnerUsage, BuildHasherDefault<OwnerHasher>>;

impl OwnerUsage {
    /// Lets time pass.
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

    fn fill(&mut self, times: DrainTimes) {
        for (used, time) in self.used.iter_mut().zip(times) {
            *used = used.saturating_add(time);
        }
    }

    /// Returns the first total without room, and the milliseconds after which all of them have room.
    fn refusal(
        &self,
        shares: &[TotalShare; TOTALS.len()],
        times: DrainTimes,
    ) -> Option<LimitExceeded> {
        let (mut first, mut wait) = (None, 0);
        let each = self.used.iter().zip(shares).zip(times).zip(TOTALS);
        for (((used, share), time), limit) in each {
            let Some(most) = share.quota else { continue };
            if share.weight == 0 && limit != Limit::Cost {
                continue;
            }
            let needed = time.clamp(1, MINUTE);
            let over = used.saturating_add(needed).saturating_sub(MINUTE);
            if over > 0 || most == 0 {
                first = first.or(Some(limit));
                // Without a quota there is never room; a minute is as good as any.
                wait = wait.max(if most == 0 { MINUTE } else { over });
            }
        }
        first.map(|limit| LimitExceeded::new(limit, wait.div_ceil(MILLISECOND)))
    }

    /// Returns true if nothing is left of the use.
    fn is_clear(&self, now: u64) -> bool {
        let passed = now.saturating_sub(self.at);
        let drained = passed.saturating_mul(MILLISECOND);
        self.used.iter().all(|used| *used <= drained)
    }
}

/// Totals of all owners. Shared by reference between threads; it never reads a clock.
#[derive(Debug)]
pub struct OwnerTotals {
    shards: Vec<Mutex<Owners>>,
}

impl Default for OwnerTotals {
    fn default() -> Self {
        Self::new()
    }
}

fn times(shares: &[TotalShare; TOTALS.len()]) -> DrainTimes {
    shares.map(TotalShare::time)
}

impl OwnerTotals {
    /// Makes the totals of owners that have used nothing.
    #[must_use]
    pub fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards }
    }

    fn with<T>(&self, owner: u64, work: impl FnOnce(&mut OwnerUsage) -> T) -> Option<T> {
        // Owners are often numbered one after another, or in steps.
        let mixed = owner.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let at = usize::try_from(mixed).unwrap_or(0) % SHARDS;
        let mut owners = lock(self.shards.get(at)?);
        Some(work(owners.entry(owner).or_default()))
    }

    /// Charges a request to the totals of an owner, all of them or none.
    ///
    /// # Errors
    /// A [`LimitExceeded`] of the first total without room, with the wait after which all of them have.
    pub fn admit(
        &self,
        owner: u64,
        shares: &[TotalShare; TOTALS.len()],
        now: SystemTime,
    ) -> Result<(), LimitExceeded> {
        let (times, now) = (times(shares), millis(now));
        let decided = self.with(owner, |owner| {
            owner.drain(now);
            match owner.refusal(shares, times) {
                Some(refusal) => Err(refusal),
                None => {
                    owner.fill(times);
                    Ok(())
                }
            }
        });
        decided.unwrap_or(Ok(()))
    }

    /// Returns the milliseconds that a request would wait for the totals of an owner; 0 if there is room now. It
    /// charges nothing.
    #[must_use]
    pub fn wait(&self, owner: u64, shares: &[TotalShare; TOTALS.len()], now: SystemTime) -> u64 {
        let (times, now) = (times(shares), millis(now));
        let refusal = self.with(owner, |owner| {
            owner.drain(now);
            owner.refusal(shares, times)
        });
        refusal.flatten().map_or(0, |refusal| refusal.wait_ms)
    }

    /// Charges a use that is known only afterwards, whether there is room for it or not.
    pub fn charge(&self, owner: u64, shares: &[TotalShare; TOTALS.len()], now: SystemTime) {
        let (times, now) = (times(shares), millis(now));
        self.with(owner, |owner| {
            owner.drain(now);
            owner.fill(times);
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
    use std::time::{Duration, UNIX_EPOCH};

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
        let totals = OwnerTotals::new();
        let ask = |owner, ms| totals.admit(owner, &shares(1, 60), at(ms));
        for _ in 0..60 {
            assert_eq!(ask(1, 0), Ok(()));
        }
        let refused = ask(1, 0).unwrap_err();
        assert_eq!((refused.limit, refused.wait_ms), (Limit::Standard, 1_000));
        assert_eq!(ask(2, 0), Ok(()), "others have their own");
        assert!(ask(1, 999).is_err());
        assert_eq!(ask(1, 1_000), Ok(()));
        assert!(ask(1, 1_000).is_err());
        let one_more = (0..100).filter(|_| ask(1, 61_000).is_ok()).count();
        assert_eq!(one_more, 60);
        // A clock that goes back gains nothing.
        assert!(ask(1, 0).is_err());
    }

    #[test]
    fn a_full_total_refuses_only_what_uses_it() {
        let totals = OwnerTotals::new();
        let ask = |requests, searches, quota| {
            let share = |weight| TotalShare {
                weight,
                quota: Some(quota),
            };
            let all = [share(requests), share(searches), TotalShare::default()];
            totals
                .admit(1, &all, at(0))
                .map_err(|refused| refused.limit)
        };
        assert_eq!(ask(0, 2, 2), Ok(()));
        assert_eq!(ask(0, 1, 2), Err(Limit::Search));
        assert_eq!(ask(2, 0, 2), Ok(()), "the total of searches is not asked");
        assert_eq!(ask(1, 0, 2), Err(Limit::Standard));
        assert_eq!(ask(1, 1, 2), Err(Limit::Standard));
        assert_eq!(ask(0, 0, 2), Ok(()));
        assert_eq!(ask(0, 0, 0), Ok(()), "nor is one that never has room");
    }

    /// After the wait of the refusal, and not before, the same request is admitted; and no time admits more than what
    /// drains in it, and a quota besides.
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
            let totals = OwnerTotals::new();
            let quota = 1 + random(2_000) as u32;
            let (mut now, mut admitted) = (0, 0_u64);
            for charges in 1..=200 {
                now += random(3_000);
                let weight = 1 + random(u64::from(quota).min(20)) as u32;
                let ask = shares(weight, quota);
                let mut got = totals.admit(1, &ask, at(now));
                if let Err(refusal) = got {
                    assert_eq!(totals.wait(1, &ask, at(now)), refusal.wait_ms);
                    if refusal.wait_ms > 1 {
                        let early = totals.admit(1, &ask, at(now + refusal.wait_ms - 1));
                        assert!(early.is_err(), "{refusal:?}");
                    }
                    now += refusal.wait_ms;
                    got = totals.admit(1, &ask, at(now));
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
        let totals = OwnerTotals::new();
        let cost = |weight, quota| {
            let none = TotalShare::default();
            [none, none, TotalShare { weight, quota }]
        };
        let ask = |ms| totals.admit(1, &cost(0, Some(100)), at(ms));
        assert_eq!(ask(0), Ok(()));
        totals.charge(1, &cost(300, Some(100)), at(0));
        let refused = ask(0).unwrap_err();
        assert_eq!((refused.limit, refused.retry_after), (Limit::Cost, 121));
        assert!(ask(120_000).is_err());
        assert_eq!(ask(120_001), Ok(()), "as soon as anything is left");
        for _ in 0..1_000 {
            totals.charge(2, &cost(u32::MAX, None), at(0));
            assert_eq!(totals.admit(2, &cost(9, None), at(0)), Ok(()));
        }
    }

    #[test]
    fn a_whole_quota_has_room_in_parts_of_any_size_and_no_more() {
        for quota in [1, 2, 7, 11, 149, 1_499, 15_001, 99_991] {
            for weight in [1, 2, 3] {
                let totals = OwnerTotals::new();
                let ask = || totals.admit(1, &shares(weight, quota), at(0));
                for n in 0..quota / weight {
                    assert_eq!(ask(), Ok(()), "{n} of {weight} for {quota}");
                }
                assert!(weight > quota || ask().is_err(), "{weight} for {quota}");
            }
        }
    }

    #[test]
    fn keys_with_different_quotas_use_parts_of_the_same_total() {
        let totals = OwnerTotals::new();
        let ask = |weight, quota, ms| totals.admit(1, &shares(weight, quota), at(ms));
        // A tenth of the weight that keys with this quota have together.
        assert_eq!(ask(10_000, 100_000, 0), Ok(()));
        let small = (0..2_000).filter(|_| ask(1, 1_500, 0).is_ok()).count();
        assert_eq!(small, 1_350, "nine tenths are left for the others");
        assert_eq!(ask(1, 100_000, 0).unwrap_err().wait_ms, 1);
        assert_eq!(ask(1, 1_500, 0).unwrap_err().wait_ms, 40);
        // It drains as fast for all, also if other keys make requests in between.
        for ms in 1..=40 {
            assert_eq!(ask(0, [1_500, 100_000][ms as usize % 2], ms), Ok(()));
        }
        assert_eq!(ask(1, 1_500, 40), Ok(()));
        assert!(ask(1, 1_500, 79).is_err());
        assert_eq!(ask(1_000, 100_000, 640), Ok(()));
        assert_eq!(ask(100_000, 100_000, 60_640), Ok(()), "a minute empties it");
        assert_eq!(ask(1, 100_000, 60_640).unwrap_err().wait_ms, 1);
    }

    /// A weight that is too large for the unit of the counts still makes a debt of about its size.
    #[test]
    fn the_largest_weights_stay_in_proportion() {
        let share = |weight, quota| TotalShare {
            weight,
            quota: Some(quota),
        };
        assert_eq!(share(u32::MAX, u32::MAX).time(), 13 * u64::from(u32::MAX));
        assert_eq!(
            share(u32::MAX, 60_000).time(),
            u64::from(u32::MAX) * 1_000_000
        );
        assert_eq!(share(300_000_000, 300_000_000).time(), MINUTE);
    }

    #[test]
    fn owners_are_forgotten_when_nothing_is_left_of_them() {
        let totals = OwnerTotals::new();
        for owner in 0..1_000 {
            assert_eq!(totals.admit(owner, &shares(1, 60), at(owner)), Ok(()));
        }
        totals.sweep(at(999));
        assert_eq!(totals.tracked(), 1_000);
        totals.sweep(at(1_500));
        assert_eq!(totals.tracked(), 499);
        totals.sweep(at(5_000));
        assert_eq!(totals.tracked(), 0);
    }
}
