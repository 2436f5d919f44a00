//! Search: a closed language of conditions, the meaning of each, and the ways to find matches.
//!
//! [`SearchQuery::matches`] alone defines the meaning of a query, for one node and the data known about it. The module `planner`
//! finds candidates: from the smallest lists that a store keeps for the conditions, or along the requested order. Each candidate
//! is then checked for a match.
mod column_set;
mod index_column;
mod index_entry;
mod predicate;
mod word_query;
mod word_split;

pub use column_set::ColumnSet;
pub use index_column::IndexColumn;
pub use index_entry::{EntryList, EntryScan, IndexEntry, is_searchable};
pub use word_query::{NodeWords, WORDS_MAX, WordQuery, split_words};
pub use word_split::WORD_MAX;

use crate::graph_store_error::GraphStoreError;
use crate::model::decimal::Decimal;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type};
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

/// One or more queries; the matches of each query come after the matches of the query before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Search {
    /// Workspace, as an index into [`crate::storage::ReadQuery::node_refs`].
    pub workspace: usize,
    /// Queries, in the order of their matches.
    pub queries: Vec<SearchQuery<usize>>,
    /// Maximum number of matches.
    pub limit: usize,
    /// Maximum number of index entries that each way of finding matches reads, including those that do not match or that the
    /// viewer cannot see. A query that reaches it ends with the matches found so far.
    pub cap: usize,
    /// Limits on each way of finding matches; usually [`SearchEffort::USUAL`].
    pub effort: SearchEffort,
}

/// Limits on each way of finding matches before another way is tried. The matches do not depend on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchEffort {
    /// Maximum number of candidates of each condition that are read before a scan in order is tried.
    pub probe: usize,
    /// The same maximum for lists of the objects that a user is responsible for, if the lists have the values of the order:
    /// their candidates are sorted without reading their index entries.
    pub probe_ranked: usize,
    /// Maximum number of candidates that are sorted at once if their index entries must be read first. With more candidates,
    /// a scan in order may find enough matches sooner.
    pub sort: usize,
    /// Number of index entries that are scanned in order before more candidates are gathered; fewer if hardly any of the
    /// first entries match.
    pub trial_scan: usize,
    /// Number of candidates of one condition that are gathered before a longer scan is tried.
    pub gather: usize,
    /// Minimum number of candidates for which the list of another condition is read to exclude some. The index entries of
    /// fewer candidates are faster to read.
    pub narrow: usize,
    /// Number of index entries that are scanned in order before candidates of a condition are
    /// gathered up to the search's cap.
    pub walk: usize,
}

impl SearchEffort {
    /// Effort for searches by users: each way takes some ten milliseconds.
    pub const USUAL: Self = Self {
        probe: 1_000,
        probe_ranked: 4_000,
        sort: 4_000,
        trial_scan: 250,
        gather: 20_000,
        narrow: 64,
        walk: 20_000,
    };
}

/// Query of a search: conditions and order. `N` is the form in which nodes are named: by index into
/// [`crate::storage::ReadQuery::node_refs`], or by gid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchQuery<N = Gid> {
    /// Type of the nodes to find.
    pub ty: Type,
    /// Conditions, all of which must hold.
    pub clauses: Vec<Clause<N>>,
    /// Order in which matches are returned.
    pub order: SortOrder,
    /// True if the order is from the least to the greatest. Nodes without a value come last in both
    /// directions; nodes with equal values are ordered by gid, in the same direction.
    pub ascending: bool,
}

/// Condition on a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Clause<N = Gid> {
    /// The node has these words.
    Words(WordQuery),
    /// The node has at least one of these links.
    Any(Vec<(SearchLink, N)>),
    /// The node has all of these links.
    All(Vec<(SearchLink, N)>),
    /// The node has none of these links.
    None(Vec<(SearchLink, N)>),
    /// The node has a value in a column, and the value is within these bounds.
    Within(IndexColumn, RangeInclusive<i64>),
    /// The node has no value in a column.
    Lacks(IndexColumn),
    /// The node is due at an instant (true), or on a day or never (false).
    DueAtInstant(bool),
    /// The node has (true) or lacks (false) a link of this kind to a live node.
    Linked(SearchLink, bool),
    /// At least one of these conditions holds.
    Either(Vec<Self>),
    /// The node is completed (true) or not (false).
    Completed(bool),
    /// The node depends on a task that is not completed (true), or on none (false).
    Blocked(bool),
    /// The node is not completed and a task depends on it (true), or not (false).
    Blocking(bool),
    /// The node's value of a custom field meets a predicate.
    Value(N, ValuePredicate),
    /// Matches no node.
    Never,
}

/// Link of a node to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchLink {
    /// The other node is the assignee of a task, or the owner of a project.
    Responsible,
    /// The other node created it.
    Creator,
    /// The other node assigned it.
    Assigner,
    /// The task is in that project.
    Project,
    /// The task is in that section of a project or of a task list.
    Section,
    /// The task has that tag.
    Tag,
    /// The other node follows the task.
    Follower,
    /// The project, or a project of the task, is shared with that team.
    Team,
    /// The project, or a project of the task, is an item of that portfolio.
    Portfolio,
    /// The other node is a member of the project.
    Member,
    /// The user is a member of that workspace.
    Workspace,
    /// The other node likes the task.
    Liker,
    /// The other node wrote a comment on the task.
    Commenter,
    /// The other node is attached to the task.
    Attachment,
    /// The other node is the parent task of this subtask.
    Parent,
    /// The task has that status of its custom type.
    CustomStatus,
}

/// Bounds of a number, compared as decimals.
pub type NumberBounds = (Bound<Decimal>, Bound<Decimal>);

/// Condition on a custom field value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValuePredicate {
    /// A value exists (true), or not (false).
    Set(bool),
    /// The value has a key in one of these ranges, ends included; see
    /// [`crate::storage::custom_field_index`].
    Within(Vec<(IndexKey, IndexKey)>),
    /// The value of a number field is within the bounds; the value of any other field has a key in one of the ranges, ends
    /// included.
    Number(NumberBounds, Vec<(IndexKey, IndexKey)>),
    /// The value has a key between the bounds, bounds excluded.
    Between(IndexKey, IndexKey),
    /// The text ends with this string (in lower case).
    EndsWith(String),
    /// The text contains this string (in lower case).
    Contains(String),
}

/// Order in which a search returns its matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortOrder {
    /// By the value of an index column.
    Column(IndexColumn),
    /// Nodes with all words in the name first, then all other nodes.
    Relevance,
    /// By the number of tasks that the viewer assigned to the user, among the last tasks that the viewer assigned.
    Contact,
}

/// Number of last tasks assigned by the viewer that count for [`SortOrder::Contact`].
pub const CONTACTS: usize = 500;

/// Look-ups for conditions that need more than the index entry. Every store answers them from one snapshot.
pub trait EvalContext {
    /// Returns the live node, with its body.
    ///
    /// # Errors
    /// Fails if the store fails; the same holds for every method.
    fn node(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, GraphStoreError>;
    /// Returns the edges of one relation that start at the node.
    ///
    /// # Errors
    /// Fails if the store fails.
    fn edges(&mut self, gid: Gid, rel: Relation) -> Result<Vec<Edge>, GraphStoreError>;
    /// Returns true if the edge of a relation between two nodes exists.
    ///
    /// # Errors
    /// Fails if the store fails.
    fn linked(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError>;
    /// Returns the nodes with an edge of a relation into the node.
    ///
    /// # Errors
    /// Fails if the store fails.
    fn sources(&mut self, gid: Gid, rel: Relation) -> Result<Vec<Gid>, GraphStoreError>;
    /// Returns true if the viewer may see a live node. Conditions ignore nodes that the viewer may not see.
    ///
    /// # Errors
    /// Fails if the store fails.
    fn is_visible(&mut self, gid: Gid) -> Result<bool, GraphStoreError>;
    /// Returns the stories on a task.
    ///
    /// # Errors
    /// Fails if the store fails.
    fn stories(&mut self, task: Gid) -> Result<Vec<Arc<Node>>, GraphStoreError>;
    /// Returns the number of tasks assigned to this user, among the last [`CONTACTS`] tasks that
    /// the viewer assigned in the workspace.
    ///
    /// # Errors
    /// Fails if the store fails.
    fn contacts(&mut self, user: Gid) -> Result<i64, GraphStoreError>;
    /// Returns the keys of a custom field's value; for a field that numbers tasks, the key of the id.
    ///
    /// # Errors
    /// Fails if the store fails.
    fn keys(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError>;
}

impl<N> SearchQuery<N> {
    /// Returns the same query with nodes named in another form; `None` if a node has no name in that form.
    pub fn renamed<M>(&self, name: &dyn Fn(&N) -> Option<M>) -> Option<SearchQuery<M>> {
        let clauses = self.clauses.iter().map(|clause| clause.renamed(name));
        Some(SearchQuery {
            ty: self.ty,
            clauses: clauses.collect::<Option<_>>()?,
            order: self.order,
            ascending: self.ascending,
        })
    }
}

impl<N> Clause<N> {
    fn renamed<M>(&self, name: &dyn Fn(&N) -> Option<M>) -> Option<Clause<M>> {
        let pairs = |all: &[(SearchLink, N)]| -> Option<Vec<(SearchLink, M)>> {
            all.iter().map(|(by, n)| Some((*by, name(n)?))).collect()
        };
        Some(match self {
            Self::Words(words) => Clause::Words(words.clone()),
            Self::Any(of) => Clause::Any(pairs(of)?),
            Self::All(of) => Clause::All(pairs(of)?),
            Self::None(of) => Clause::None(pairs(of)?),
            Self::Within(column, range) => Clause::Within(*column, range.clone()),
            Self::Lacks(column) => Clause::Lacks(*column),
            Self::DueAtInstant(on) => Clause::DueAtInstant(*on),
            Self::Linked(by, on) => Clause::Linked(*by, *on),
            Self::Either(of) => {
                let of = of.iter().map(|clause| clause.renamed(name));
                Clause::Either(of.collect::<Option<_>>()?)
            }
            Self::Completed(on) => Clause::Completed(*on),
            Self::Blocked(on) => Clause::Blocked(*on),
            Self::Blocking(on) => Clause::Blocking(*on),
            Self::Value(field, test) => Clause::Value(name(field)?, test.clone()),
            Self::Never => Clause::Never,
        })
    }
}

impl SearchQuery {
    /// Returns true if a node matches the query. The viewer's access is not considered.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn matches(
        &self,
        entry: &IndexEntry,
        around: &mut dyn EvalContext,
    ) -> Result<bool, GraphStoreError> {
        self.matches_else(entry, &[], around)
    }

    /// Returns true if a node matches, given that the conditions with the indices `known` hold.
    pub(crate) fn matches_else(
        &self,
        entry: &IndexEntry,
        known: &[usize],
        around: &mut dyn EvalContext,
    ) -> Result<bool, GraphStoreError> {
        // Conditions that the index entry answers come first, then conditions with look-ups.
        if !self.may_match(entry) {
            return Ok(false);
        }
        for (at, clause) in self.clauses.iter().enumerate() {
            if clause.on_card(entry).is_none()
                && !known.contains(&at)
                && !clause.looked_up(entry, around)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if the index entry contradicts no condition.
    pub(crate) fn may_match(&self, entry: &IndexEntry) -> bool {
        entry.ty == self.ty
            && self
                .clauses
                .iter()
                .all(|clause| clause.on_card(entry) != Some(false))
    }

    /// Returns true if index entries with these columns may match.
    pub(crate) fn may_have(&self, shape: ColumnSet) -> bool {
        self.clauses.iter().all(|clause| clause.may_have(shape))
    }

    /// Returns the sort value of a node in the order, without its gid.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn rank(
        &self,
        entry: &IndexEntry,
        around: &mut dyn EvalContext,
    ) -> Result<Option<i64>, GraphStoreError> {
        let column = match self.order {
            SortOrder::Column(column) => column,
            SortOrder::Relevance => {
                let text = around
                    .node(entry.gid)?
                    .map(|n| NodeWords::of_name(&n))
                    .unwrap_or_default();
                let named = self.words().any(|words| words.in_name(&text));
                return Ok(Some(i64::from(named)));
            }
            SortOrder::Contact => return around.contacts(entry.gid).map(Some),
        };
        Ok(entry.value(column))
    }

    /// Returns the words that the query looks for.
    pub fn words(&self) -> impl Iterator<Item = &WordQuery> {
        self.clauses.iter().filter_map(|clause| match clause {
            Clause::Words(words) => Some(words),
            _ => None,
        })
    }

    /// Compares two sort positions: (rank, gid) of each.
    #[must_use]
    pub fn compare(&self, a: (Option<i64>, Gid), b: (Option<i64>, Gid)) -> std::cmp::Ordering {
        let unset = a.0.is_none().cmp(&b.0.is_none());
        let order = a.cmp(&b);
        unset.then(if self.ascending {
            order
        } else {
            order.reverse()
        })
    }
}
