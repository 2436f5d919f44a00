//! Verdict of a rule about clients.

/// Verdict of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Holds,
    /// What the client did, in place of what it should.
    Broken(String),
    /// What would have to happen for the rule to be judged.
    Skipped(&'static str),
}
