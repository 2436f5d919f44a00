//! Candidate sources: the lists that a store keeps for the conditions of a query.
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::search::{
    Clause, ColumnSet, IndexColumn, SearchLink, SearchQuery, SortOrder, ValuePredicate, WordQuery,
};

/// List of candidates for a condition.
#[derive(Clone, Copy)]
pub(super) enum CandidateSource<'q> {
    Links(&'q [(SearchLink, Gid)]),
    Column(IndexColumn, i64, i64),
    /// Entries with no value in a column, or with a value other than these.
    Others(IndexColumn, &'q [(SearchLink, Gid)]),
    /// Entries with a column set that may match, modified within the bounds of the query.
    Shapes,
    Words(&'q WordQuery),
    /// Nodes with a word that begins with `prefix`, a word of the query. If `is_only` is true, the prefix alone decides the
    /// condition.
    Prefix {
        prefix: &'q str,
        names_only: bool,
        is_only: bool,
    },
    Value(Gid, &'q ValuePredicate),
}

/// Returns the sources of a query, with the indices of their conditions. Each source contains every
/// node for which its condition holds.
pub(super) fn sources(query: &SearchQuery) -> Vec<(usize, CandidateSource<'_>)> {
    let by_who = |of: &[(SearchLink, Gid)]| of.iter().any(|(by, _)| *by == SearchLink::Responsible);
    // Entries of an assignee are listed by completion and due time.
    let with_assignee = query.clauses.iter().any(|clause| match clause {
        Clause::Any(of) => by_who(of) && of.iter().all(|(by, _)| *by == SearchLink::Responsible),
        Clause::All(of) => by_who(of),
        _ => false,
    });
    let clauses = query.clauses.iter().enumerate();
    let all = clauses.flat_map(|(at, clause)| of_clause(clause).into_iter().map(move |s| (at, s)));
    let is_listed = |clause: &Clause| with_assignee && matches!(clause, Clause::Completed(_));
    let shaped = |clause: &Clause| clause.is_shaped() && !is_listed(clause);
    let shaped = query.clauses.iter().position(shaped);
    let all = all.chain(shaped.map(|at| (at, CandidateSource::Shapes)));
    all.filter(|(_, source)| {
        !(with_assignee && matches!(source, CandidateSource::Column(IndexColumn::Due, ..)))
    })
    .collect()
}

impl CandidateSource<'_> {
    /// Returns true if the source consists of lists that have the values of the order and are probably short: lists of the
    /// objects that a user is responsible for. Matches of a condition that holds for most entries are found sooner by a scan
    /// in order.
    pub(super) fn has_short_ranked_lists(&self, order: SortOrder) -> bool {
        let is_given = matches!(
            order,
            SortOrder::Column(IndexColumn::Due | IndexColumn::Modified)
        );
        match self {
            Self::Links(links) => {
                is_given && links.iter().all(|(by, _)| *by == SearchLink::Responsible)
            }
            _ => false,
        }
    }

    /// Returns true if the source contains only nodes for which its condition holds.
    pub(super) fn is_exact(&self) -> bool {
        match self {
            // The key of a number only approximates it, and a reference counts only for a viewer who sees its object.
            Self::Value(_, test) => test.is_about_texts(),
            Self::Words(_) => true,
            // If there are several prefixes, the nodes of a list may lack the others.
            Self::Prefix { is_only, .. } => *is_only,
            _ => false,
        }
    }
}

fn of_clause(clause: &Clause) -> Vec<CandidateSource<'_>> {
    let flag = |column| vec![CandidateSource::Column(column, 1, 1)];
    match clause {
        Clause::Any(of) if of.iter().all(|(by, _)| by.is_listed()) => {
            vec![CandidateSource::Links(of)]
        }
        Clause::All(of) => of
            .iter()
            .filter(|(by, _)| by.is_listed())
            .map(|pair| CandidateSource::Links(std::slice::from_ref(pair)))
            .collect(),
        Clause::None(of) => others(of).into_iter().collect(),
        Clause::Within(column, range) if *column != IndexColumn::Modified => {
            vec![CandidateSource::Column(
                *column,
                *range.start(),
                *range.end(),
            )]
        }
        Clause::Words(words) if words.match_prefixes => prefixes(words),
        Clause::Words(words) => vec![CandidateSource::Words(words)],
        Clause::Value(field, test) if *test != ValuePredicate::Set(false) => {
            vec![CandidateSource::Value(*field, test)]
        }
        Clause::Linked(SearchLink::Parent, true) => flag(IndexColumn::Subtask),
        Clause::Blocked(true) => flag(IndexColumn::Blocked),
        Clause::Blocking(true) => flag(IndexColumn::Blocking),
        _ => Vec::new(),
    }
}

/// Returns a source for each word that no other word begins with: a node with the longer word also has the shorter one. The
/// longest words come first; they are probably the rarest.
fn prefixes(words: &WordQuery) -> Vec<CandidateSource<'_>> {
    let is_implied = |word: &&String| {
        let mut others = words.words.iter().filter(|other| other != word);
        others.any(|other| other.starts_with(word.as_str()))
    };
    let mut all: Vec<&str> = words
        .words
        .iter()
        .filter(|word| !is_implied(word))
        .map(String::as_str)
        .collect();
    all.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let is_only = all.len() == 1;
    let source = |prefix| CandidateSource::Prefix {
        prefix,
        names_only: words.names_only,
        is_only,
    };
    all.into_iter().map(source).collect()
}

/// Returns the source of nodes that are linked to none of these, if index entries have that link.
fn others(of: &[(SearchLink, Gid)]) -> Option<CandidateSource<'_>> {
    let mut columns = of.iter().map(|(by, _)| by.column());
    let first = columns.next()??;
    let same = columns.all(|column| column == Some(first));
    (same && ColumnSet::default().has(first).is_some())
        .then_some(CandidateSource::Others(first, of))
}

impl Clause {
    /// Returns true if index entries decide the condition, at least for some nodes.
    pub(super) fn is_on_entries(&self) -> bool {
        let of_entry = |(by, _): &(SearchLink, Gid)| by.column().is_some();
        match self {
            Self::Any(of) | Self::All(of) | Self::None(of) => of.iter().any(of_entry),
            Self::Words(_) | Self::Blocked(_) | Self::Value(..) => false,
            Self::Linked(by, _) => by.column().is_some() || *by == SearchLink::Parent,
            _ => true,
        }
    }

    /// Returns true if the condition is about values in the column set of an entry, or about its
    /// modification time.
    const fn is_shaped(&self) -> bool {
        matches!(
            self,
            Self::Lacks(_)
                | Self::DueAtInstant(_)
                | Self::Linked(
                    SearchLink::Responsible | SearchLink::Creator | SearchLink::Assigner,
                    _
                )
                | Self::Completed(_)
                | Self::Within(IndexColumn::Modified, _)
        )
    }
}

impl SearchLink {
    /// Returns true if the node at the other end of the link has a list of the nodes that link to it.
    const fn is_listed(self) -> bool {
        !matches!(self, Self::Commenter | Self::Attachment)
    }
}

impl ValuePredicate {
    /// Returns ranges of the keys that may meet the predicate.
    pub(super) fn ranges(&self) -> Vec<(IndexKey, IndexKey)> {
        let last = || IndexKey::Text(char::MAX.to_string().repeat(2));
        match self {
            Self::Within(ranges) | Self::Number(_, ranges) => ranges.clone(),
            Self::Between(from, to) => vec![(from.clone(), to.clone())],
            Self::Set(_) => vec![(IndexKey::FIRST, last())],
            Self::EndsWith(_) | Self::Contains(_) => vec![(IndexKey::Text(String::new()), last())],
        }
    }
}

impl SearchQuery {
    /// Returns the completion that the query requires of matches, if any.
    pub(super) fn done(&self) -> Option<bool> {
        self.clauses.iter().find_map(|clause| match clause {
            Clause::Completed(on) => Some(*on),
            _ => None,
        })
    }

    /// Returns the bounds that all conditions set on a column's values, if any condition does.
    pub(super) fn within(&self, of: IndexColumn) -> Option<(i64, i64)> {
        let bounds = self.bounds(of);
        (bounds != Self::UNBOUND).then_some(bounds)
    }
}
