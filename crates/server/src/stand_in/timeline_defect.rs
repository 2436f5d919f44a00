//! Defects of a timeline that tests ask for, to prove that they would find them.

/// Defect of a timeline. Only debug builds have one, if the environment variable `WORKGRAPH_TEST_TIMELINE` names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimelineDefect {
    /// Deliveries are not part of the timeline.
    NoDeliveries,
    /// The timeline does not move from one due act to the next, but checks at every full minute.
    Polled,
}

impl TimelineDefect {
    /// Returns the defect that the environment names.
    #[cfg(debug_assertions)]
    pub(crate) fn of_environment() -> Option<Self> {
        match std::env::var("WORKGRAPH_TEST_TIMELINE").ok()?.as_str() {
            "no_deliveries" => Some(Self::NoDeliveries),
            "polled" => Some(Self::Polled),
            _ => None,
        }
    }

    /// Returns the defect that the environment names: none, in a release.
    #[cfg(not(debug_assertions))]
    pub(crate) const fn of_environment() -> Option<Self> {
        None
    }
}
