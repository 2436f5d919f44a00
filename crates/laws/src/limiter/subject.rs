//! The limiter under test, as the laws see it.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::SubjectError;

/// Optional ability of a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimiterAbility {
    /// A quota in each window. Every subject has it.
    Quota,
    /// A maximum number of concurrent requests.
    Permits,
    /// A cost that is taken after the request.
    Cost,
    /// Requests that weigh more than one.
    Weights,
    /// Changes of the quota while it runs.
    Change,
    /// Eviction of idle keys.
    Sweep,
    /// A clock that may step back.
    Clock,
}

/// Figures for creating a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterSetup {
    /// Length of the window, in milliseconds.
    pub window_ms: u64,
    /// Weight that fits into any window.
    pub quota: u32,
    /// Maximum number of concurrent requests of one key.
    pub permits: Option<u32>,
    /// Cost that a key regains in a window, which is also its maximum.
    pub cost: Option<u32>,
}

/// Answer of a limiter to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimiterAnswer {
    /// The request may run.
    Admitted {
        /// Number for finishing or settling the request.
        ticket: u64,
    },
    /// The limiter refuses the request.
    Refused {
        /// Stated wait, in milliseconds; 0 if none is stated.
        wait_ms: u64,
    },
}

/// Properties of a subject that determine which laws are judged, and how.
#[derive(Clone, Debug)]
pub struct LimiterProfile {
    /// Name that the report shows.
    pub name: String,
    /// Optional abilities that the limiter has.
    pub abilities: BTreeSet<LimiterAbility>,
    /// The figures, if they can't be chosen.
    pub fixed: Option<(u64, u32)>,
    /// True if refusals state how long to wait; otherwise laws about waits do not apply.
    pub states_wait: bool,
    /// Unit of the stated wait, in milliseconds: 1, or 1,000 if it states whole seconds.
    pub wait_unit_ms: u64,
    /// Milliseconds by which a real clock may be off; 0 with a virtual clock.
    pub tolerance_ms: u64,
}

impl LimiterProfile {
    /// Returns the profile of a limiter with a virtual clock, waits in milliseconds, and these abilities.
    #[must_use]
    pub fn new(name: impl Into<String>, abilities: &[LimiterAbility]) -> Self {
        Self {
            name: name.into(),
            abilities: abilities.iter().copied().collect(),
            fixed: None,
            states_wait: true,
            wait_unit_ms: 1,
            tolerance_ms: 0,
        }
    }
}

/// Limiter under test. Times are milliseconds of a virtual clock.
pub trait LimiterSubject {
    /// Returns a description of the limiter: its name, its abilities and its units.
    fn profile(&self) -> &LimiterProfile;

    /// Starts with a new limiter that has seen no requests.
    ///
    /// # Errors
    /// Fails if the subject can't be reached or its answer is invalid; so do the other methods.
    fn start(&mut self, setup: &LimiterSetup) -> Result<(), SubjectError>;

    /// Counts a request and decides about it.
    ///
    /// # Errors
    /// See [`LimiterSubject::start`].
    fn admit(&mut self, key: &str, weight: u32, now: u64) -> Result<LimiterAnswer, SubjectError>;

    /// Ends an admitted request.
    ///
    /// # Errors
    /// See [`LimiterSubject::start`].
    fn finish(&mut self, ticket: u64) -> Result<(), SubjectError>;

    /// Takes the cost of an admitted request that has not been finished.
    ///
    /// # Errors
    /// See [`LimiterSubject::start`].
    fn settle(&mut self, ticket: u64, cost: u32, now: u64) -> Result<(), SubjectError>;

    /// Replaces the quota.
    ///
    /// # Errors
    /// See [`LimiterSubject::start`].
    fn set_quota(&mut self, quota: u32) -> Result<(), SubjectError>;

    /// Evicts idle keys.
    ///
    /// # Errors
    /// See [`LimiterSubject::start`].
    fn sweep(&mut self, now: u64) -> Result<(), SubjectError>;
}
