//! Tests that no answer of a limiter makes a law panic, with a limiter that answers at random, including extreme values.

use super::law_limit::{LawLimit, LawRefusal};
use super::law_request::LawRequest;
use super::law_settings::LawSettings;
use proptest::prelude::*;

use super::{AdmissionTicket, LAWS, ScenarioRandom, TestedLimiter};

/// Limiter whose answers are unrelated to the requests.
struct HostileLimiter {
    random: ScenarioRandom,
    refused_percent: u64,
}

impl HostileLimiter {
    fn extreme(&mut self) -> u64 {
        match self.random.within(0, 7) {
            0..3 => 0,
            3 => 1,
            4 => u64::MAX,
            5 => u64::MAX - 1,
            6 => u64::MAX / 1_000,
            _ => self.random.next(),
        }
    }
}

impl TestedLimiter for HostileLimiter {
    fn admit(&mut self, _request: &LawRequest, _now: u64) -> Result<AdmissionTicket, LawRefusal> {
        if !self.random.chance(self.refused_percent) {
            return Ok(AdmissionTicket(self.extreme()));
        }
        let limits = LawLimit::ALL.len() as u64;
        let position = usize::try_from(self.random.within(0, limits - 1)).unwrap_or(0);
        Err(LawRefusal {
            limit: LawLimit::ALL[position],
            retry_after: self.extreme(),
            wait_ms: self.extreme(),
        })
    }

    fn settle(&mut self, _ticket: AdmissionTicket, _cost: u32, _now: u64) {}
    fn finish(&mut self, _ticket: AdmissionTicket) {}
    fn set(&mut self, _settings: LawSettings) {}
    fn sweep(&mut self, _now: u64) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_answer_of_a_limiter_makes_a_law_panic(
        seed in any::<u64>(),
        refused_percent in prop_oneof![Just(0), Just(100), 0u64..=100],
    ) {
        let make = |_settings| {
            let random = ScenarioRandom::new(seed);
            Box::new(HostileLimiter { random, refused_percent }) as Box<dyn TestedLimiter>
        };
        for law in LAWS {
            // The law may be broken or kept, as long as it says so.
            if let Err(violation) = law.check(&make, seed, 200) {
                prop_assert!(violation.to_string().contains(law.name));
            }
        }
    }
}
