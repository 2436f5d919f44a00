//! What all keys of one owner use together, beside the limits of each key.
//!
//! A bucket for each figure: use fills it, and it drains evenly, a quota a minute. So no minute admits
//! more than two quotas, any longer time admits a quota for each minute and one more, and whoever stays
//! below their quota never meets it. That is coarser than the window of a key, and takes three numbers
//! for an owner instead of an instant for each request.
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::SystemTime;

use crate::limiter::millis;
use crate::refusal::{Limit, Refusal};
use crate::sync::{Mutex, SHARDS, lock};

/// The figures that owners have totals of.
pub const TOTALS: [Limit; 3] = [Limit::Standard, Limit::Search, Limit::Cost];

/// One unit of use, in parts of which a quota drains one each millisecond.
const UNIT: u64 = 60_000;

/// What a request asks of one total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// What it uses. What uses nothing needs no room, except of the cost, which is known only afterwards.
    pub weight: u32,
    /// What all keys may use in a minute; none for no limit.
    pub quota: Option<u32>,
}

#[derive(Debug, Default)]
struct Owner {
    /// The millisecond in which it was last looked at.
    at: u64,
    used: [u64; TOTALS.len()],
    /// What of each was drained in a millisecond then.
    quotas: [u64; TOTALS.len()],
}

/// Spreads the numbers of owners, which are given out in order, and by the service itself.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
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

type Owners = HashMap<u64, Owner, BuildHasherDefault<Spread>>;

impl Owner {
    /// Lets time pass.
    fn drain(&mut self, quotas: [u64; TOTALS.len()], now: u64) {
        let passed = now.saturating_sub(self.at);
        self.quotas = quotas;
        if passed == 0 {
            return;
        }
        self.at = now;
        for (used, quota) in self.used.iter_mut().zip(quotas) {
            *used = used.saturating_sub(passed.saturating_mul(quota));
        }
    }

    fn fill(&mut self, shares: &[Share; TOTALS.len()]) {
        for (used, share) in self.used.iter_mut().zip(shares) {
            *used = used.saturating_add(u64::from(share.weight) * UNIT);
        }
    }

    /// The first total without room, and the milliseconds after which all of them have.
    fn refusal(
        &self,
        shares: &[Share; TOTALS.len()],
        quotas: [u64; TOTALS.len()],
    ) -> Option<Refusal> {
        let (mut first, mut wait) = (None, 0);
        let each = self.used.iter().zip(shares).zip(quotas).zip(TOTALS);
        for (((used, share), quota), limit) in each {
            let Some(most) = share.quota else { continue };
            if share.weight == 0 && limit != Limit::Cost {
                continue;
            }
            let room = u64::from(most) * UNIT;
            let needed = u64::from(share.weight.max(1)).min(most.into()) * UNIT;
            let over = used.saturating_add(needed).saturating_sub(room);
            if over > 0 || most == 0 {
                first = first.or(Some(limit));
                // Without a quota there is never room; a minute is as good as any.
                let drained = if most == 0 {
                    UNIT
                } else {
                    over.div_ceil(quota)
                };
                wait = wait.max(drained);
            }
        }
        first.map(|limit| Refusal::new(limit, wait))
    }

    /// Whether nothing is left of what was used.
    fn is_clear(&self, now: u64) -> bool {
        let passed = now.saturating_sub(self.at);
        let mut each = self.used.iter().zip(self.quotas);
        each.all(|(used, quota)| *used <= passed.saturating_mul(quota))
    }
}

/// The totals of all owners. Shared by reference between threads; it never reads a clock.
#[derive(Debug)]
pub struct Totals {
    shards: Vec<Mutex<Owners>>,
}

impl Default for Totals {
    fn default() -> Self {
        Self::new()
    }
}

/// What is drained in a millisecond; a total without a limit is always empty.
fn quotas(shares: &[Share; TOTALS.len()]) -> [u64; TOTALS.len()] {
    shares.map(|share| share.quota.map_or(u64::MAX, |quota| quota.max(1).into()))
}

impl Totals {
    /// Totals of owners that have used nothing.
    #[must_use]
    pub fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards }
    }

    fn with<T>(&self, owner: u64, work: impl FnOnce(&mut Owner) -> T) -> Option<T> {
        // Owners are often numbered one after another, or in steps.
        let mixed = owner.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let at = usize::try_from(mixed).unwrap_or(0) % SHARDS;
        let mut owners = lock(self.shards.get(at)?);
        Some(work(owners.entry(owner).or_default()))
    }

    /// Charges a request to the totals of an owner, all of them or none.
    ///
    /// # Errors
    /// A [`Refusal`] of the first total without room, with the wait after which all of them have.
    pub fn admit(
        &self,
        owner: u64,
        shares: &[Share; TOTALS.len()],
        now: SystemTime,
    ) -> Result<(), Refusal> {
        let (quotas, now) = (quotas(shares), millis(now));
        let decided = self.with(owner, |owner| {
            owner.drain(quotas, now);
            match owner.refusal(shares, quotas) {
                Some(refusal) => Err(refusal),
                None => {
                    owner.fill(shares);
                    Ok(())
                }
            }
        });
        decided.unwrap_or(Ok(()))
    }

    /// How long a request would wait for the totals of an owner, in milliseconds; 0 if there is room now. It charges
    /// nothing.
    #[must_use]
    pub fn wait(&self, owner: u64, shares: &[Share; TOTALS.len()], now: SystemTime) -> u64 {
        let (quotas, now) = (quotas(shares), millis(now));
        let refusal = self.with(owner, |owner| {
            owner.drain(quotas, now);
            owner.refusal(shares, quotas)
        });
        refusal.flatten().map_or(0, |refusal| refusal.wait_ms)
    }

    /// Charges what is known only afterwards, whether there is room for it or not.
    pub fn charge(&self, owner: u64, shares: &[Share; TOTALS.len()], now: SystemTime) {
        let (quotas, now) = (quotas(shares), millis(now));
        self.with(owner, |owner| {
            owner.drain(quotas, now);
            owner.fill(shares);
        });
    }

    /// Drops what is remembered of owners that would be treated as new anyway.
    pub fn sweep(&self, now: SystemTime) {
        let now = millis(now);
        for shard in &self.shards {
            lock(shard).retain(|_, owner| !owner.is_clear(now));
        }
    }

    /// The number of owners something is remembered of.
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

    fn shares(requests: u32, quota: u32) -> [Share; 3] {
        let none = Share::default();
        let quota = Some(quota);
        let standard = Share {
            weight: requests,
            quota,
        };
        [standard, none, none]
    }

    #[test]
    fn an_owner_has_a_quota_at_once_and_one_a_minute() {
        let totals = Totals::new();
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
        let totals = Totals::new();
        let ask = |requests, searches, quota| {
            let share = |weight| Share {
                weight,
                quota: Some(quota),
            };
            let all = [share(requests), share(searches), Share::default()];
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

    /// After the wait that was told, and not before, the same request is admitted; and no time admits
    /// more than what drains in it, and a quota besides.
    #[test]
    fn waits_are_exact_and_no_time_admits_more_than_it_drains() {
        let mut dice = 7_u64;
        let mut roll = |n: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (dice >> 33) % n
        };
        for _ in 0..200 {
            let totals = Totals::new();
            let quota = 1 + roll(2_000) as u32;
            let (mut now, mut admitted) = (0, 0_u64);
            for _ in 0..200 {
                now += roll(3_000);
                let weight = 1 + roll(u64::from(quota).min(20)) as u32;
                let ask = shares(weight, quota);
                let mut got = totals.admit(1, &ask, at(now));
                let wait = got.map_or_else(|refusal| refusal.wait_ms, |()| 0);
                if let Err(refusal) = got {
                    let asked = totals.wait(1, &ask, at(now));
                    assert_eq!(asked, wait, "asking for the wait is no attempt");
                    if refusal.wait_ms > 1 {
                        let early = totals.admit(1, &ask, at(now + refusal.wait_ms - 1));
                        assert!(early.is_err(), "{refusal:?}");
                    }
                    now += refusal.wait_ms;
                    got = totals.admit(1, &ask, at(now));
                }
                assert_eq!(got, Ok(()), "after the wait there is room");
                admitted += u64::from(weight);
                let drained = u64::from(quota) * UNIT + now * u64::from(quota);
                assert!(admitted * UNIT <= drained);
            }
        }
    }

    #[test]
    fn what_is_known_afterwards_may_leave_a_debt_and_a_limit_may_be_off() {
        let totals = Totals::new();
        let cost = |weight, quota| {
            let none = Share::default();
            [none, none, Share { weight, quota }]
        };
        let ask = |ms| totals.admit(1, &cost(0, Some(100)), at(ms));
        assert_eq!(ask(0), Ok(()));
        totals.charge(1, &cost(300, Some(100)), at(0));
        let refused = ask(0).unwrap_err();
        assert_eq!((refused.limit, refused.retry_after), (Limit::Cost, 121));
        assert!(ask(120_599).is_err());
        assert_eq!(ask(120_600), Ok(()));
        for _ in 0..1_000 {
            totals.charge(2, &cost(u32::MAX, None), at(0));
            assert_eq!(totals.admit(2, &cost(9, None), at(0)), Ok(()));
        }
    }

    #[test]
    fn owners_are_forgotten_when_nothing_is_left_of_them() {
        let totals = Totals::new();
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
