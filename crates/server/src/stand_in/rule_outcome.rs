//! Outcome of a rule about clients.

/// Outcome of a rule about clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RuleOutcome {
    Holds,
    /// The client did this, in place of what it should.
    Broken(String),
    /// The rule could not be judged: this would have to happen.
    Skipped(&'static str),
}
