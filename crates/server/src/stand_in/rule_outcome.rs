//! Outcome of judging clients by a rule.

/// Outcome of a rule about clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RuleOutcome {
    Holds,
    /// The client broke the rule; the text says how.
    Broken(String),
    /// The rule could not be judged; the text says what would have to happen first.
    Skipped(&'static str),
}
