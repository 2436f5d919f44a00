//! Verdict of a rule about clients.

/// Verdict of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Holds,
    /// The client did this, in place of what it should.
    Broken(String),
    /// The rule could not be judged: this would have to happen.
    Skipped(&'static str),
}
