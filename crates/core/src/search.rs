//! Search: a closed language of conditions, what each means, and how matches are found.
//!
//! [`Query::matches`] says what a query means, for one node and its facts; nothing else does. How
//! matches are found is in `run`: from the smallest lists that a store keeps of any condition, or
//! along the order asked for, and each candidate is then asked whether it matches.
mod card;
mod holds;
mod run;
mod shape;
mod words;

pub(crate) use card::is_told;
pub use card::{Card, CardList, CardScan, Column, fresh, is_found, renew};
pub(crate) use run::{run, sieve};
pub use shape::Shape;
pub use words::{Text, WORD_MAX, WORDS_MAX, Words, words};

use crate::gid::Gid;
use crate::graph::{Edge, StoreError};
use crate::index::Key;
use crate::node::Node;
use crate::registry::{Rel, Type};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// One or more queries; the matches of each come after those of the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Search {
    /// The workspace, as an index into [`crate::graph::Want::refs`].
    pub place: usize,
    /// The queries.
    pub queries: Vec<Query<usize>>,
    /// How many matches at most.
    pub limit: usize,
    /// How many cards each way of finding matches reads at most, whether or not they match and the
    /// viewer may see them; then a query ends with what it has.
    pub cap: usize,
    /// How much is read in one way before another is tried; usually [`Effort::USUAL`].
    pub effort: Effort,
}

/// How much is read in one way before another is tried. What is found does not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// The most candidates that are read of each condition before the order is tried.
    pub probe: usize,
    /// The most candidates that are sorted at once if their cards are to be read for it; of more,
    /// walking along the order may meet enough matches sooner.
    pub sort: usize,
    /// How many cards are walked along the order then, before more candidates are gathered; fewer if
    /// hardly any of the first ones match.
    pub peek: usize,
    /// How many candidates of one condition are gathered before a longer walk is tried.
    pub gather: usize,
    /// How many candidates there are at least when another condition's list is read to leave some
    /// out; the cards of fewer are read in less time.
    pub narrow: usize,
    /// How many cards are walked along the order before as many candidates of a condition are gathered
    /// as a search may read.
    pub walk: usize,
}

impl Effort {
    /// That of searches of people: each way takes some ten milliseconds.
    pub const USUAL: Self = Self {
        probe: 1_000,
        sort: 4_000,
        peek: 250,
        gather: 20_000,
        narrow: 64,
        walk: 20_000,
    };
}

/// What is looked for. `N` is how nodes are named: as indexes into [`crate::graph::Want::refs`], or
/// by gid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query<N = Gid> {
    /// The type.
    pub ty: Type,
    /// All of them must hold.
    pub clauses: Vec<Clause<N>>,
    /// The order of the matches.
    pub order: Order,
    /// From the least to the greatest. What has no value comes last either way; gids decide between
    /// equals, in the same direction.
    pub ascending: bool,
}

/// A condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Clause<N = Gid> {
    /// It has these words.
    Words(Words),
    /// It is linked to one of these.
    Any(Vec<(By, N)>),
    /// It is linked to each of these.
    All(Vec<(By, N)>),
    /// It is linked to none of these.
    None(Vec<(By, N)>),
    /// It has a value in a column, and within these bounds.
    Within(Column, RangeInclusive<i64>),
    /// It has no value in a column.
    Lacks(Column),
    /// Whether it is due at an instant, rather than on a day or never.
    Timed(bool),
    /// Whether it is linked to anything that is there in this way.
    Linked(By, bool),
    /// One of these holds.
    Either(Vec<Self>),
    /// Whether it is completed.
    Done(bool),
    /// Whether it waits for a task that is not completed.
    Blocked(bool),
    /// Whether it is not completed and a task waits for it.
    Blocking(bool),
    /// What its value of a custom field is like.
    Value(N, Test),
    /// Holds for nothing.
    Never,
}

/// How a node is linked to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// The other is the assignee of a task, the owner of a project.
    Who,
    /// The other created it.
    Creator,
    /// The other assigned it.
    Assigner,
    /// The task is in that project.
    Project,
    /// The task is in that section, of a project or of a task list.
    Section,
    /// The task has that tag.
    Tag,
    /// The other follows the task.
    Follower,
    /// The project, or a project of the task, is shared with that team.
    Team,
    /// The other is a member of the project.
    Member,
    /// The user has a seat in that workspace.
    Seat,
    /// The other likes the task.
    Liker,
    /// The other wrote a comment on the task.
    Commenter,
}

/// What a value of a custom field is like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Test {
    /// Whether there is one.
    Set(bool),
    /// It has a key in one of these ranges, their ends included; see [`crate::index`].
    Within(Vec<(Key, Key)>),
    /// It has a key other than the bounds and between them.
    Between(Key, Key),
    /// Its text ends so (in lower case).
    Ends(String),
    /// Its text has this in it (in lower case).
    Contains(String),
}

/// The order of matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// By the value of a column.
    Column(Column),
    /// By whether all words are in the name.
    Relevance,
    /// By how many of the last tasks that the viewer assigned to someone were for this user.
    Contact,
}

/// How many tasks say whom a viewer has to do with.
pub const CONTACTS: usize = 500;

/// What conditions look up besides the card. Every store answers from one snapshot.
pub trait Around {
    /// The live node, with its body.
    ///
    /// # Errors
    /// When the store fails; so for every method.
    fn node(&mut self, gid: Gid) -> Result<Option<Arc<Node>>, StoreError>;
    /// The edges of one relation that start at the node.
    ///
    /// # Errors
    /// When the store fails.
    fn edges(&mut self, gid: Gid, rel: Rel) -> Result<Vec<Edge>, StoreError>;
    /// Whether such an edge exists.
    ///
    /// # Errors
    /// When the store fails.
    fn linked(&mut self, src: Gid, rel: Rel, dst: Gid) -> Result<bool, StoreError>;
    /// How many live nodes have such an edge into the node.
    ///
    /// # Errors
    /// When the store fails.
    fn entering(&mut self, gid: Gid, rel: Rel) -> Result<u64, StoreError>;
    /// The stories on a task.
    ///
    /// # Errors
    /// When the store fails.
    fn stories(&mut self, task: Gid) -> Result<Vec<Arc<Node>>, StoreError>;
    /// How many of the last [`CONTACTS`] tasks that the viewer assigned in the workspace are
    /// assigned to this user.
    ///
    /// # Errors
    /// When the store fails.
    fn contacts(&mut self, user: Gid) -> Result<i64, StoreError>;
    /// The keys of a custom field's value; of one that numbers tasks, that of the id.
    ///
    /// # Errors
    /// When the store fails.
    fn keys(&mut self, node: Gid, field: Gid) -> Result<Vec<Key>, StoreError>;
}

impl<N> Query<N> {
    /// The same with nodes named otherwise; `None` if one has no such name.
    pub fn renamed<M>(&self, name: &dyn Fn(&N) -> Option<M>) -> Option<Query<M>> {
        let clauses = self.clauses.iter().map(|clause| clause.renamed(name));
        Some(Query {
            ty: self.ty,
            clauses: clauses.collect::<Option<_>>()?,
            order: self.order,
            ascending: self.ascending,
        })
    }
}

impl<N> Clause<N> {
    fn renamed<M>(&self, name: &dyn Fn(&N) -> Option<M>) -> Option<Clause<M>> {
        let pairs = |all: &[(By, N)]| -> Option<Vec<(By, M)>> {
            all.iter().map(|(by, n)| Some((*by, name(n)?))).collect()
        };
        Some(match self {
            Self::Words(words) => Clause::Words(words.clone()),
            Self::Any(of) => Clause::Any(pairs(of)?),
            Self::All(of) => Clause::All(pairs(of)?),
            Self::None(of) => Clause::None(pairs(of)?),
            Self::Within(column, range) => Clause::Within(*column, range.clone()),
            Self::Lacks(column) => Clause::Lacks(*column),
            Self::Timed(on) => Clause::Timed(*on),
            Self::Linked(by, on) => Clause::Linked(*by, *on),
            Self::Either(of) => {
                let of = of.iter().map(|clause| clause.renamed(name));
                Clause::Either(of.collect::<Option<_>>()?)
            }
            Self::Done(on) => Clause::Done(*on),
            Self::Blocked(on) => Clause::Blocked(*on),
            Self::Blocking(on) => Clause::Blocking(*on),
            Self::Value(field, test) => Clause::Value(name(field)?, test.clone()),
            Self::Never => Clause::Never,
        })
    }
}

impl Query {
    /// Whether a node is what is looked for. Whether the viewer may see it is another matter.
    ///
    /// # Errors
    /// When the store fails.
    pub fn matches(&self, card: &Card, around: &mut dyn Around) -> Result<bool, StoreError> {
        self.matches_else(card, &[], around)
    }

    /// The same of a node for which some conditions, by their places, are known to hold.
    fn matches_else(
        &self,
        card: &Card,
        known: &[usize],
        around: &mut dyn Around,
    ) -> Result<bool, StoreError> {
        // What the card tells first, then what must be looked up.
        if !self.may_match(card) {
            return Ok(false);
        }
        for (at, clause) in self.clauses.iter().enumerate() {
            if clause.on_card(card).is_none()
                && !known.contains(&at)
                && !clause.looked_up(card, around)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the card does not speak against it.
    fn may_match(&self, card: &Card) -> bool {
        card.ty == self.ty
            && self
                .clauses
                .iter()
                .all(|clause| clause.on_card(card) != Some(false))
    }

    /// Whether cards of a shape may match.
    fn may_have(&self, shape: Shape) -> bool {
        self.clauses.iter().all(|clause| clause.may_have(shape))
    }

    /// The place of a node in the order, without its gid.
    ///
    /// # Errors
    /// When the store fails.
    pub fn rank(&self, card: &Card, around: &mut dyn Around) -> Result<Option<i64>, StoreError> {
        let column = match self.order {
            Order::Column(column) => column,
            Order::Relevance => {
                let text = around
                    .node(card.gid)?
                    .map(|n| Text::of(&n))
                    .unwrap_or_default();
                let named = self.words().any(|words| words.in_name(&text));
                return Ok(Some(i64::from(named)));
            }
            Order::Contact => return around.contacts(card.gid).map(Some),
        };
        Ok(card.value(column))
    }

    /// The words it looks for.
    pub fn words(&self) -> impl Iterator<Item = &Words> {
        self.clauses.iter().filter_map(|clause| match clause {
            Clause::Words(words) => Some(words),
            _ => None,
        })
    }

    /// How the order puts two places: (rank, gid) of each.
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
