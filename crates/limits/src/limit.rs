//! Names and kinds of a limiter's limits.

use std::fmt;

/// Kind of a limit: window, concurrent requests or cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitKind {
    /// A window: a maximum weight in any span of its length.
    Window,
    /// A maximum number of concurrent requests.
    Concurrent,
    /// The cost, taken after the reply is built.
    Cost,
}

/// Limit that a request can exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    name: &'static str,
    kind: LimitKind,
    index: usize,
}

impl Limit {
    /// Returns the window limit with this index among the windows of a limiter, from 0.
    #[must_use]
    pub const fn window(name: &'static str, index: usize) -> Self {
        let kind = LimitKind::Window;
        Self { name, kind, index }
    }

    /// Returns the concurrency limit with this index among those of a limiter, from 0.
    #[must_use]
    pub const fn concurrent(name: &'static str, index: usize) -> Self {
        let kind = LimitKind::Concurrent;
        Self { name, kind, index }
    }

    /// Returns the cost quota of a limiter.
    #[must_use]
    pub const fn cost(name: &'static str) -> Self {
        let (kind, index) = (LimitKind::Cost, 0);
        Self { name, kind, index }
    }

    /// Returns the limit's name in settings, headers and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the kind: window, concurrent requests or cost.
    #[must_use]
    pub const fn kind(self) -> LimitKind {
        self.kind
    }

    /// Returns the index of the limit among those of its kind, in the order in which the limiter was built.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }
}

/// Sentence form: `burst quota`, `limit of concurrent writes`, `cost quota`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |f: &mut fmt::Formatter<'_>| {
            for (at, word) in self.name.split('_').enumerate() {
                f.write_str(if at > 0 { " " } else { "" })?;
                f.write_str(word)?;
            }
            Ok(())
        };
        match self.kind {
            LimitKind::Window | LimitKind::Cost => {
                words(f)?;
                f.write_str(" quota")
            }
            LimitKind::Concurrent => {
                f.write_str("limit of ")?;
                words(f)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Limit;

    #[test]
    fn a_limit_is_named_in_a_sentence() {
        assert_eq!(Limit::window("burst", 0).to_string(), "burst quota");
        assert_eq!(Limit::cost("cost").to_string(), "cost quota");
        let writes = Limit::concurrent("concurrent_writes", 1);
        assert_eq!(writes.to_string(), "limit of concurrent writes");
    }
}
