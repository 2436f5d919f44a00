//! Laws of limiters, as functions over any limiter: each one sends generated traffic to it on a virtual clock and
//! returns a readable counterexample.
//!
//! [`LAWS`] is the list; [`LimiterLaw::check`] runs one. [`ReferenceLimiter`] is the naive limiter that defines the laws;
//! [`MutantLimiter`] contains broken limiters, which show that each law can fail.

mod differential;
mod harness;
mod invariance;
mod law_class;
mod law_limit;
mod law_limiter;
mod law_request;
mod law_settings;
mod mutants;
mod pacing;
mod permits_and_cost;
mod rate;
mod reference;
mod scenario_random;
mod tested_limiter;

#[cfg(test)]
mod hostile_limiter;
#[cfg(test)]
mod proptests;
#[cfg(test)]
mod tests;

pub use crate::admission_request::LimitKey;
pub use harness::{HarnessEvent, LimiterHarness};
pub use law_class::RequestClass;
pub use law_limit::{LawCounts, LawLimit, LawRefusal, PerLimit};
pub use law_limiter::LawLimiter;
pub use law_request::{LawBatch, LawCharges, LawRequest, RateQuota};
pub use law_settings::{LawOverrides, LawSettings, Quota};
pub use mutants::MutantLimiter;
pub use reference::ReferenceLimiter;
pub use scenario_random::ScenarioRandom;
pub use tested_limiter::{AdmissionTicket, MakeLimiter, RealLimiter, TestedLimiter};

use std::fmt;

/// Length of the quotas of the laws, in milliseconds.
pub const WINDOW_MS: u64 = 60_000;

/// Law of limiters, with the scenario that checks it.
#[derive(Clone, Copy)]
pub struct LimiterLaw {
    /// Short name of the law, such as `L1`.
    pub name: &'static str,
    /// Rule that the law states.
    pub rule: &'static str,
    /// Features that a limiter must have for the law to be meaningful, besides a quota.
    pub needs: &'static [RequiredFeature],
    /// Function that runs one random scenario; returns the number of operations, or the fault found.
    round: fn(MakeLimiter<'_>, &mut ScenarioRandom) -> Result<u64, String>,
}

/// Feature that a limiter may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredFeature {
    /// Permits for concurrent requests.
    Permits,
    /// Cost taken after the request.
    Cost,
    /// The exact algorithm of this crate: the log of the last minute, refused attempts included.
    Log,
}

/// Scenario in which a limiter violates a law.
#[derive(Clone, Debug)]
pub struct LimiterViolation {
    /// Name of the law.
    pub law: &'static str,
    /// Seed that reproduces the scenario, as the first round of [`LimiterLaw::check`].
    pub seed: u64,
    /// Text of the counterexample, ending with the last operations.
    pub story: String,
}

impl fmt::Display for LimiterViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is broken (seed {:#x}): {}",
            self.law, self.seed, self.story
        )
    }
}

impl std::error::Error for LimiterViolation {}

impl LimiterLaw {
    /// Runs rounds until `operations` are done; returns the number of operations.
    ///
    /// # Errors
    /// Fails with the first violation.
    pub fn check(
        &self,
        make: MakeLimiter<'_>,
        seed: u64,
        operations: u64,
    ) -> Result<u64, LimiterViolation> {
        let mut seed = seed;
        let mut done = 0;
        while done < operations {
            let round = (self.round)(make, &mut ScenarioRandom::new(seed));
            done += round
                .map_err(|story| LimiterViolation {
                    law: self.name,
                    seed,
                    story,
                })?
                .max(1);
            seed = ScenarioRandom::new(seed).next();
        }
        Ok(done)
    }

    /// Runs rounds until `operations` are done, and returns the shortest of the violations found.
    #[must_use]
    pub fn counterexample(
        &self,
        make: MakeLimiter<'_>,
        seed: u64,
        operations: u64,
    ) -> Option<LimiterViolation> {
        let (mut seed, mut done, mut shortest) = (seed, 0, None::<LimiterViolation>);
        while done < operations {
            match self.check(make, seed, 1) {
                Ok(count) => done += count,
                Err(violation) => {
                    done += 100; // about what a scenario takes
                    if shortest
                        .as_ref()
                        .is_none_or(|best| violation.story.len() < best.story.len())
                    {
                        shortest = Some(violation);
                    }
                }
            }
            seed = ScenarioRandom::new(seed).next();
        }
        shortest
    }
}

/// All laws.
pub static LAWS: &[LimiterLaw] = &[
    LimiterLaw {
        name: "L0",
        rule: "every answer is that of the naive log, whatever the figures",
        needs: &[
            RequiredFeature::Permits,
            RequiredFeature::Cost,
            RequiredFeature::Log,
        ],
        round: permits_and_cost::model,
    },
    LimiterLaw {
        name: "L1",
        rule: "no minute admits more than the quota",
        needs: &[],
        round: rate::cap,
    },
    LimiterLaw {
        name: "L2",
        rule: "after the stated wait the same request is admitted",
        needs: &[],
        round: rate::truth,
    },
    LimiterLaw {
        name: "L3",
        rule: "one millisecond or one second less is refused",
        needs: &[],
        round: rate::minimal,
    },
    LimiterLaw {
        name: "L4",
        rule: "Retry-After of a quota is 1 to 60 whole seconds",
        needs: &[],
        round: rate::range,
    },
    LimiterLaw {
        name: "L5",
        rule: "each early retry takes one from the next window",
        needs: &[],
        round: rate::debt,
    },
    LimiterLaw {
        name: "L6",
        rule: "a minute of silence restores everything",
        needs: &[],
        round: pacing::recovery,
    },
    LimiterLaw {
        name: "L7",
        rule: "hammering gets the floor, however fast",
        needs: &[],
        round: pacing::floor,
    },
    LimiterLaw {
        name: "L8",
        rule: "even pacing at the quota is never refused",
        needs: &[],
        round: pacing::pacing,
    },
    LimiterLaw {
        name: "L9",
        rule: "if every attempt counts, one more lets no other in",
        needs: &[],
        round: pacing::monotone,
    },
    LimiterLaw {
        name: "L10",
        rule: "keys do not affect each other",
        needs: &[],
        round: invariance::isolation,
    },
    LimiterLaw {
        name: "L11",
        rule: "searches and other requests do not affect each other",
        needs: &[],
        round: invariance::separation,
    },
    LimiterLaw {
        name: "L12",
        rule: "a batch counts like its actions",
        needs: &[],
        round: rate::weight,
    },
    LimiterLaw {
        name: "L13",
        rule: "a clock that steps back stands still",
        needs: &[],
        round: invariance::time,
    },
    LimiterLaw {
        name: "L14",
        rule: "eviction is invisible",
        needs: &[],
        round: invariance::eviction,
    },
    LimiterLaw {
        name: "L15",
        rule: "no more permits than the cap, and none is lost",
        needs: &[RequiredFeature::Permits],
        round: permits_and_cost::permits,
    },
    LimiterLaw {
        name: "L16",
        rule: "reads and writes do not take each other's permits",
        needs: &[RequiredFeature::Permits],
        round: permits_and_cost::classes,
    },
    LimiterLaw {
        name: "L17",
        rule: "the cost quota admits while above zero, and every cost is taken once",
        needs: &[RequiredFeature::Cost],
        round: permits_and_cost::cost,
    },
    LimiterLaw {
        name: "L19",
        rule: "the wait is true with every limit at work",
        needs: &[RequiredFeature::Permits, RequiredFeature::Cost],
        round: permits_and_cost::combined,
    },
    LimiterLaw {
        name: "L20",
        rule: "a change of the quota forgets nothing and frees nothing early",
        needs: &[],
        round: invariance::change,
    },
];

/// Returns the deadline in milliseconds.
fn deadline_ms(settings: &LawSettings) -> u64 {
    u64::try_from(settings.deadline.as_millis()).unwrap_or(u64::MAX)
}
