//! The lists that a store keeps for the conditions of a query.
use crate::gid::Gid;
use crate::index::Key;
use crate::search::{By, Clause, Column, Query, Shape, Test, Words};

/// Where candidates for a condition are listed.
#[derive(Clone, Copy)]
pub(super) enum Source<'q> {
    Links(&'q [(By, Gid)]),
    Column(Column, i64, i64),
    /// What has a value in a column that is none of those, or no value.
    Others(Column, &'q [(By, Gid)]),
    /// What has one of the shapes that may match, and was modified in time.
    Shapes,
    Words(&'q Words),
    Value(Gid, &'q Test),
}

/// The sources of a query, with the places of their conditions: each has every node that its condition
/// holds for.
pub(super) fn sources(query: &Query) -> Vec<(usize, Source<'_>)> {
    let by_who = |of: &[(By, Gid)]| of.iter().any(|(by, _)| *by == By::Who);
    // What someone has is listed by whether it is done and when it is due.
    let with_who = query.clauses.iter().any(|clause| match clause {
        Clause::Any(of) => by_who(of) && of.iter().all(|(by, _)| *by == By::Who),
        Clause::All(of) => by_who(of),
        _ => false,
    });
    let clauses = query.clauses.iter().enumerate();
    let all = clauses.flat_map(|(at, clause)| of_clause(clause).into_iter().map(move |s| (at, s)));
    let told = |clause: &Clause| with_who && matches!(clause, Clause::Done(_));
    let shaped = |clause: &Clause| clause.is_shaped() && !told(clause);
    let shaped = query.clauses.iter().position(shaped);
    let all = all.chain(shaped.map(|at| (at, Source::Shapes)));
    all.filter(|(_, source)| !(with_who && matches!(source, Source::Column(Column::Due, ..))))
        .collect()
}

impl Source<'_> {
    /// Whether it has nothing else, so that its condition is known to hold for what it gives.
    pub(super) const fn is_exact(&self) -> bool {
        match self {
            Self::Value(..) => true,
            // Of several beginnings one is looked for.
            Self::Words(words) => !words.starts || words.all.len() == 1,
            _ => false,
        }
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
        Clause::None(of) => others(of).into_iter().collect(),
        Clause::Within(column, range) if *column != Column::Modified => {
            vec![Source::Column(*column, *range.start(), *range.end())]
        }
        Clause::Words(words) => vec![Source::Words(words)],
        Clause::Value(field, test) if *test != Test::Set(false) => {
            vec![Source::Value(*field, test)]
        }
        Clause::Blocked(true) => flag(Column::Waits),
        Clause::Blocking(true) => flag(Column::Blocks),
        _ => Vec::new(),
    }
}

/// What is linked to none of these, if cards tell.
fn others(of: &[(By, Gid)]) -> Option<Source<'_>> {
    let mut columns = of.iter().map(|(by, _)| by.column());
    let first = columns.next()??;
    let same = columns.all(|column| column == Some(first));
    (same && Shape::default().has(first).is_some()).then_some(Source::Others(first, of))
}

impl Clause {
    /// Whether it is about what the shape of a card tells, or about when it was modified.
    const fn is_shaped(&self) -> bool {
        matches!(
            self,
            Self::Lacks(_)
                | Self::Timed(_)
                | Self::Linked(By::Who | By::Creator | By::Assigner, _)
                | Self::Done(_)
                | Self::Within(Column::Modified, _)
        )
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
