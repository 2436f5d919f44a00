//! The lists that a store keeps for the conditions of a query.
use crate::gid::Gid;
use crate::index::Key;
use crate::search::{By, Clause, Column, Query, Test, Words};

/// Where candidates for a condition are listed.
#[derive(Clone, Copy)]
pub(super) enum Source<'q> {
    Links(&'q [(By, Gid)]),
    Column(Column, i64, i64),
    Words(&'q Words),
    Value(Gid, &'q Test),
}

/// The sources of a query, with the places of their conditions: each has every node that its condition
/// holds for.
pub(super) fn sources(query: &Query) -> Vec<(usize, Source<'_>)> {
    let by_who = |of: &[(By, Gid)]| of.iter().any(|(by, _)| *by == By::Who);
    // What someone has is listed by when it is due.
    let with_due = query.clauses.iter().any(|clause| match clause {
        Clause::Any(of) => by_who(of) && of.iter().all(|(by, _)| *by == By::Who),
        Clause::All(of) => by_who(of),
        _ => false,
    });
    let clauses = query.clauses.iter().enumerate();
    let all = clauses.flat_map(|(at, clause)| of_clause(clause).into_iter().map(move |s| (at, s)));
    all.filter(|(_, source)| !(with_due && matches!(source, Source::Column(Column::Due, ..))))
        .collect()
}

impl Source<'_> {
    /// Whether it has nothing else, so that its condition is known to hold for what it gives.
    pub(super) const fn is_exact(&self) -> bool {
        matches!(self, Self::Words(_) | Self::Value(..))
    }
}

fn of_clause(clause: &Clause) -> Vec<Source<'_>> {
    let flag = |column| vec![Source::Column(column, 1, 1)];
    match clause {
        Clause::Any(of) if of.iter().all(|(by, _)| by.is_listed()) => vec![Source::Links(of)],
        Clause::All(of) => of
            .iter()
            .filter(|(by, _)| by.is_listed())
            .map(|pair| Source::Links(std::slice::from_ref(pair)))
            .collect(),
        Clause::Within(column, range) => {
            vec![Source::Column(*column, *range.start(), *range.end())]
        }
        Clause::Words(words) => vec![Source::Words(words)],
        Clause::Value(field, test) if *test != Test::Set(false) => {
            vec![Source::Value(*field, test)]
        }
        Clause::Done(true) => vec![Source::Column(Column::Completed, i64::MIN, i64::MAX)],
        Clause::Blocked(true) => flag(Column::Waits),
        Clause::Blocking(true) => flag(Column::Blocks),
        _ => Vec::new(),
    }
}

impl By {
    /// Whether what is linked so is listed at the other end.
    const fn is_listed(self) -> bool {
        !matches!(self, Self::Commenter)
    }
}

impl Test {
    /// Ranges of the keys that may fit.
    pub(super) fn ranges(&self) -> Vec<(Key, Key)> {
        let last = || Key::Text(char::MAX.to_string().repeat(2));
        match self {
            Self::Within(ranges) => ranges.clone(),
            Self::Between(from, to) => vec![(from.clone(), to.clone())],
            Self::Set(_) => vec![(Key::FIRST, last())],
            Self::Ends(_) | Self::Contains(_) => vec![(Key::Text(String::new()), last())],
        }
    }
}

impl Query {
    /// Whether matches are completed, if it says.
    pub(super) fn done(&self) -> Option<bool> {
        self.clauses.iter().find_map(|clause| match clause {
            Clause::Done(on) => Some(*on),
            _ => None,
        })
    }

    /// The bounds of a column's values that all conditions leave, if any does.
    pub(super) fn within(&self, of: Column) -> Option<(i64, i64)> {
        let bounds = self.bounds(of);
        (bounds != Self::UNBOUND).then_some(bounds)
    }
}
