//! Reproducible randomness for generated traffic (splitmix64).

use super::WINDOW_MS;
use super::law_class::RequestClass;
use super::law_limit::{LawLimit, PerLimit};
use super::law_request::{LawRequest, RateQuota};
use super::law_settings::{LawSettings, Quota};
use std::time::Duration;

/// Generator of random numbers; the same seed gives the same numbers.
#[derive(Clone, Debug)]
pub struct ScenarioRandom(u64);

impl ScenarioRandom {
    /// Makes a generator that starts from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low).saturating_add(1).max(1)
    }

    /// Returns a 32-bit number from `low` to `high`, both included.
    pub fn figure(&mut self, low: u32, high: u32) -> u32 {
        u32::try_from(self.within(low.into(), high.into())).unwrap_or(high)
    }

    /// Returns true with a probability of `percent`.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.within(1, 100) <= percent
    }

    /// Returns a quota per minute, usually small, so that limits are reached soon.
    pub fn quota(&mut self) -> u32 {
        match self.within(0, 9) {
            0 => 1,
            1 => 150,
            _ => self.figure(2, 40),
        }
    }

    /// Returns the start of a scenario, in milliseconds; sometimes just before the low 32 bits overflow.
    pub fn start(&mut self) -> u64 {
        match self.within(0, 3) {
            0 => self.within(0, 1),
            1 => (self.within(1, 500) << 32) - self.within(1, 2 * WINDOW_MS),
            _ => 1_800_000_000_000 + self.within(0, 1 << 40),
        }
    }

    /// Returns the time between two requests of a client that makes `quota` a minute or more: often none, rarely long.
    pub fn gap(&mut self, quota: u32) -> u64 {
        let fair = WINDOW_MS / u64::from(quota.max(1));
        match self.within(0, 19) {
            0..5 => 0,
            5..10 => self.within(1, fair / 2 + 1),
            10..15 => self.within(1, 2 * fair + 1),
            15..18 => self.within(1, 5_000),
            18 => self.within(1, WINDOW_MS),
            _ => self.within(WINDOW_MS - 1, 2 * WINDOW_MS),
        }
    }

    /// Returns settings with every limit low.
    pub fn tight(&mut self) -> LawSettings {
        LawSettings {
            standard: self.terms(),
            search_per_minute: self.figure(0, 20),
            concurrent_reads: self.figure(1, 6),
            concurrent_writes: self.figure(1, 4),
            cost_per_minute: if self.chance(80) {
                Some(self.figure(1, 400))
            } else {
                None
            },
            cost_ceiling: 1_000,
            deadline: Duration::from_millis(self.within(1, 40_000)),
            shadow: PerLimit::default(),
        }
    }

    /// Returns random limits in shadow mode.
    pub fn shadow(&mut self) -> PerLimit<bool> {
        let mut shadow = PerLimit::default();
        for limit in LawLimit::ALL {
            *shadow.of_mut(limit) = self.chance(40);
        }
        shadow
    }

    /// Returns settings with only the quotas; `standard.quota` is the standard one.
    pub fn quotas(&mut self) -> LawSettings {
        LawSettings {
            standard: self.terms(),
            search_per_minute: self.quota(),
            concurrent_reads: u32::MAX,
            concurrent_writes: u32::MAX,
            cost_per_minute: None,
            ..LawSettings::default()
        }
    }

    /// Returns a request under one of three keys, of any kind.
    pub fn request(&mut self, settings: &LawSettings) -> LawRequest {
        let quota = if self.chance(95) {
            settings.standard.quota
        } else {
            settings.standard.other_quota
        };
        let rate = match self.within(0, 9) {
            0..7 => RateQuota::Standard { quota },
            7..9 => RateQuota::Search,
            _ => RateQuota::Mixed {
                quota,
                searches: self.figure(0, 4),
            },
        };
        let weight = if self.chance(80) {
            1
        } else {
            self.figure(0, 12)
        };
        let class = if self.chance(50) {
            RequestClass::Read
        } else {
            RequestClass::Write
        };
        LawRequest {
            key: self.key(),
            class,
            rate,
            weight,
        }
    }

    fn key(&mut self) -> [u8; 16] {
        let mut key = [0; 16];
        if let Some(first) = key.first_mut() {
            *first = u8::try_from(self.within(1, 3)).unwrap_or(1);
        }
        key
    }

    fn terms(&mut self) -> Quota {
        let floor_percent = match self.within(0, 9) {
            0 => 0,
            1 => 50,
            2 => 100,
            _ => 10,
        };
        Quota {
            quota: self.quota(),
            other_quota: self.quota(),
            floor_percent,
        }
    }
}
