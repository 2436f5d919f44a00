//! The laws a limiter keeps, as functions over any limiter: each drives one with made-up traffic on a virtual clock
//! and returns a readable counterexample.
//!
//! [`LAWS`] is the list; [`Law::check`] runs one. [`Reference`] is the naive limiter the laws are stated with,
//! [`Twin`] the broken ones that show each law can fail.

mod desk;
mod pace;
mod pair;
mod random;
mod rate;
mod reference;
mod shared;
mod side;
mod subject;
mod twins;

#[cfg(test)]
mod proptests;
#[cfg(test)]
mod tests;

pub use desk::{Desk, Event};
pub use random::Random;
pub use reference::Reference;
pub use subject::{Make, Real, Subject, Ticket};
pub use twins::Twin;

use std::fmt;

use crate::{Class, Settings};

/// One law.
#[derive(Clone, Copy)]
pub struct Law {
    /// Its short name, `L1`.
    pub name: &'static str,
    /// What it says.
    pub rule: &'static str,
    /// What a limiter must have for the law to mean anything, besides a quota.
    pub needs: &'static [Need],
    /// One scenario, made up from the randomness; returns the operations it took, or what went wrong.
    round: fn(Make<'_>, &mut Random) -> Result<u64, String>,
}

/// Something that a limiter may not have at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Permits for concurrent requests.
    Permits,
    /// A cost taken after the request.
    Cost,
    /// The very algorithm of this crate: the log of the last minute, refused attempts included.
    Log,
}

/// A scenario in which a limiter broke a law.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The law.
    pub law: &'static str,
    /// The seed that makes up the scenario again, as the first round of [`Law::check`].
    pub seed: u64,
    /// What happened, ending with the last operations.
    pub story: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is broken (seed {:#x}): {}",
            self.law, self.seed, self.story
        )
    }
}

impl std::error::Error for Violation {}

impl Law {
    /// Runs rounds until `operations` are done; returns how many were.
    ///
    /// # Errors
    /// The first violation.
    pub fn check(&self, make: Make<'_>, seed: u64, operations: u64) -> Result<u64, Violation> {
        let mut seed = seed;
        let mut done = 0;
        while done < operations {
            let round = (self.round)(make, &mut Random::new(seed));
            done += round
                .map_err(|story| Violation {
                    law: self.name,
                    seed,
                    story,
                })?
                .max(1);
            seed = Random::new(seed).next();
        }
        Ok(done)
    }

    /// Runs rounds until `operations` are done, and returns the shortest of the violations found.
    #[must_use]
    pub fn counterexample(&self, make: Make<'_>, seed: u64, operations: u64) -> Option<Violation> {
        let (mut seed, mut done, mut shortest) = (seed, 0, None::<Violation>);
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
            seed = Random::new(seed).next();
        }
        shortest
    }
}

/// Every law.
pub static LAWS: &[Law] = &[
    Law {
        name: "L0",
        rule: "every answer is that of the naive log, whatever the figures",
        needs: &[Need::Permits, Need::Cost, Need::Log],
        round: shared::model,
    },
    Law {
        name: "L1",
        rule: "no minute admits more than the quota",
        needs: &[],
        round: rate::cap,
    },
    Law {
        name: "L2",
        rule: "after the stated wait the same request is admitted",
        needs: &[],
        round: rate::truth,
    },
    Law {
        name: "L3",
        rule: "one millisecond or one second less is refused",
        needs: &[],
        round: rate::minimal,
    },
    Law {
        name: "L4",
        rule: "Retry-After of a quota is 1 to 60 whole seconds",
        needs: &[],
        round: rate::range,
    },
    Law {
        name: "L5",
        rule: "each early retry takes one from the next window",
        needs: &[],
        round: rate::debt,
    },
    Law {
        name: "L6",
        rule: "a minute of silence restores everything",
        needs: &[],
        round: pace::recovery,
    },
    Law {
        name: "L7",
        rule: "hammering gets the floor, however fast",
        needs: &[],
        round: pace::floor,
    },
    Law {
        name: "L8",
        rule: "even pacing at the quota is never refused",
        needs: &[],
        round: pace::pacing,
    },
    Law {
        name: "L9",
        rule: "if every attempt counts, one more lets no other in",
        needs: &[],
        round: pace::monotone,
    },
    Law {
        name: "L10",
        rule: "keys do not affect each other",
        needs: &[],
        round: side::isolation,
    },
    Law {
        name: "L11",
        rule: "searches and other requests do not affect each other",
        needs: &[],
        round: side::separation,
    },
    Law {
        name: "L12",
        rule: "a batch counts like its actions",
        needs: &[],
        round: rate::weight,
    },
    Law {
        name: "L13",
        rule: "a clock that steps back stands still",
        needs: &[],
        round: side::time,
    },
    Law {
        name: "L14",
        rule: "eviction is invisible",
        needs: &[],
        round: side::eviction,
    },
    Law {
        name: "L15",
        rule: "no more permits than the cap, and none is lost",
        needs: &[Need::Permits],
        round: shared::permits,
    },
    Law {
        name: "L16",
        rule: "reads and writes do not take each other's permits",
        needs: &[Need::Permits],
        round: shared::classes,
    },
    Law {
        name: "L17",
        rule: "the cost quota admits while above zero, and every cost is taken once",
        needs: &[Need::Cost],
        round: shared::cost,
    },
    Law {
        name: "L19",
        rule: "the wait is true with every limit at work",
        needs: &[Need::Permits, Need::Cost],
        round: shared::combined,
    },
    Law {
        name: "L20",
        rule: "a change of the quota forgets nothing and frees nothing early",
        needs: &[],
        round: side::change,
    },
];

/// The number of requests of a class that may run at once.
fn slots(settings: &Settings, class: Class) -> u32 {
    match class {
        Class::Read => settings.concurrent_reads,
        Class::Write => settings.concurrent_writes,
    }
}

/// The deadline in milliseconds.
fn deadline_ms(settings: &Settings) -> u64 {
    u64::try_from(settings.deadline.as_millis()).unwrap_or(u64::MAX)
}
