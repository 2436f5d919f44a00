//! Cards: what a store keeps beside a node so that search need not read it.
use crate::gid::Gid;
use crate::graph::{Edge, StoreError};
use crate::node::Node;
use crate::registry::{Type, rel};
use crate::resources::{project, task};
use crate::search::shape::Shape;
use crate::search::words::Text;
use crate::snapshot::{Depth, Snapshot, Transaction};
use crate::time::{Date, Time};

/// Whether nodes of a type are found by search or typeahead.
#[must_use]
pub const fn is_found(ty: Type) -> bool {
    matches!(
        ty,
        Type::Task
            | Type::Project
            | Type::ProjectTemplate
            | Type::Tag
            | Type::Team
            | Type::User
            | Type::CustomField
    )
}

/// The facts of a node that searches compare and sort by. Times are milliseconds since 1970; a day
/// stands for its midnight UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Card {
    /// The node.
    pub gid: Gid,
    /// Its type.
    pub ty: Type,
    /// Its workspace; users have none.
    pub home: Option<Gid>,
    /// When it was created; 0 for types that keep no time.
    pub created: i64,
    /// When it was last modified; 0 for types that keep no time.
    pub modified: i64,
    /// When it was completed; everything completed has a time.
    pub completed: Option<i64>,
    /// When it is due: the instant, or the day.
    pub due: Option<i64>,
    /// The day it starts.
    pub start: Option<i64>,
    /// The assignee of a task, the owner of a project.
    pub who: Option<Gid>,
    /// Who created it.
    pub creator: Option<Gid>,
    /// Who assigned it.
    pub assigner: Option<Gid>,
    /// The place of its subtype among those of its type.
    pub subtype: u8,
    /// It is completed.
    pub done: bool,
    /// It is due at an instant, not on a day.
    pub timed: bool,
    /// It has a parent.
    pub sub: bool,
    /// It has an edge to a task it waits for.
    pub waits: bool,
    /// A task that was live then has such an edge to it.
    pub blocks: bool,
    /// How many users like it.
    pub likes: u32,
    /// The [`Text::sum`] of its words.
    pub sum: i64,
}

/// What cards are found and sorted by. A card is in the list of a column if it has a
/// [`value`](Card::value) there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Column {
    /// Every card.
    Gid,
    /// [`Card::created`].
    Created,
    /// [`Card::modified`].
    Modified,
    /// [`Card::completed`].
    Completed,
    /// [`Card::due`].
    Due,
    /// [`Card::likes`], if there are any.
    Likes,
    /// [`Card::start`].
    Start,
    /// [`Card::who`].
    Who,
    /// [`Card::creator`].
    Creator,
    /// [`Card::assigner`].
    Assigner,
    /// [`Card::subtype`], unless it is the usual one.
    Subtype,
    /// [`Card::sub`].
    Sub,
    /// [`Card::waits`].
    Waits,
    /// [`Card::blocks`].
    Blocks,
}

impl Column {
    /// Those that cards are kept in the order of.
    pub const SORTED: [Self; 7] = [
        Self::Gid,
        Self::Created,
        Self::Modified,
        Self::Completed,
        Self::Due,
        Self::Likes,
        Self::Assigner,
    ];
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Gid,
        Self::Created,
        Self::Modified,
        Self::Completed,
        Self::Due,
        Self::Likes,
        Self::Start,
        Self::Who,
        Self::Creator,
        Self::Assigner,
        Self::Subtype,
        Self::Sub,
        Self::Waits,
        Self::Blocks,
    ];
}

/// Which cards a list has. Lists are in no order, but where there is a column to go by, a store begins
/// with its greatest values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CardList {
    /// Those with a value in a column, any but [`Column::Modified`], that is within these bounds.
    Within(Column, i64, i64),
    /// Those of a shape that were modified within these bounds.
    Shaped(Shape, i64, i64),
    /// Those that someone has ([`Card::who`]).
    Of {
        /// Who has them.
        who: Gid,
        /// Only what is completed, or only what is not.
        done: Option<bool>,
        /// Only what is due within these bounds.
        due: Option<(i64, i64)>,
    },
}

impl CardList {
    /// Whether a store lists its cards with their values of a column.
    #[must_use]
    pub fn gives(&self, column: Column) -> bool {
        match self {
            _ if column == Column::Gid => true,
            Self::Within(of, ..) => *of == column,
            Self::Shaped(..) => column == Column::Modified,
            Self::Of { .. } => matches!(column, Column::Due | Column::Modified),
        }
    }

    /// Whether it has a card.
    #[must_use]
    pub fn has(&self, card: &Card) -> bool {
        match self {
            Self::Within(column, from, to) => card
                .value(*column)
                .is_some_and(|v| (from..=to).contains(&&v)),
            Self::Shaped(shape, from, to) => {
                *shape == card.shape() && (*from..=*to).contains(&card.modified)
            }
            Self::Of { who, done, due } => {
                card.who == Some(*who)
                    && done.is_none_or(|done| done == card.done)
                    && due.is_none_or(|(from, to)| {
                        card.due.is_some_and(|due| (from..=to).contains(&due))
                    })
            }
        }
    }
}

impl Card {
    /// What a node that was read whole says itself, with these words; its edges are not looked at.
    #[must_use]
    pub fn of(node: &Node, text: &Text) -> Self {
        let millis = |t: Option<Time>| t.map(Time::millis);
        let midnight = |d: Option<Date>| d.map(|d| d.start().millis());
        let mut card = Self {
            gid: node.gid,
            ty: node.ty,
            home: node.home,
            created: 0,
            modified: 0,
            completed: None,
            due: None,
            start: None,
            who: None,
            creator: None,
            assigner: None,
            subtype: 0,
            done: false,
            timed: false,
            sub: false,
            waits: false,
            blocks: false,
            likes: 0,
            sum: text.sum(),
        };
        match node.ty {
            Type::Task => {
                let at = millis(node.get(task::DUE_AT));
                let subtype = node.get(task::SUBTYPE);
                let place = |word: &str| task::SUBTYPES.iter().position(|s| *s == word);
                card.created = millis(node.get(task::CREATED_AT)).unwrap_or(0);
                card.modified = millis(node.get(task::MODIFIED_AT)).unwrap_or(0);
                card.completed = millis(node.get(task::COMPLETED_AT));
                card.due = at.or_else(|| midnight(node.get(task::DUE_ON)));
                card.timed = at.is_some();
                card.start = midnight(node.get(task::START_ON));
                card.who = node.get(task::ASSIGNEE);
                card.creator = node.get(task::CREATED_BY);
                card.assigner = node.get(task::ASSIGNED_BY);
                card.done = node.get(task::COMPLETED);
                card.subtype = subtype.as_deref().and_then(place).unwrap_or(0) as u8;
            }
            Type::Project => {
                card.created = millis(node.get(project::CREATED_AT)).unwrap_or(0);
                card.modified = millis(node.get(project::MODIFIED_AT)).unwrap_or(0);
                card.completed = millis(node.get(project::COMPLETED_AT));
                card.due = midnight(node.get(project::DUE_ON));
                card.start = midnight(node.get(project::START_ON));
                card.who = node.get(project::OWNER);
                card.creator = node.get(project::CREATED_BY);
                card.done = node.get(project::COMPLETED);
            }
            _ => {}
        }
        card
    }

    /// What it is found and sorted by in a column.
    #[must_use]
    pub fn value(&self, column: Column) -> Option<i64> {
        let flag = |on: bool| on.then_some(1);
        match column {
            Column::Gid => Some(self.gid.as_i64()),
            Column::Created => Some(self.created),
            Column::Modified => Some(self.modified),
            Column::Completed => self.completed,
            Column::Due => self.due,
            Column::Likes => Some(i64::from(self.likes)).filter(|n| *n > 0),
            Column::Start => self.start,
            Column::Who => self.who.map(Gid::as_i64),
            Column::Creator => self.creator.map(Gid::as_i64),
            Column::Assigner => self.assigner.map(Gid::as_i64),
            Column::Subtype => Some(i64::from(self.subtype)).filter(|n| *n > 0),
            Column::Sub => flag(self.sub),
            Column::Waits => flag(self.waits),
            Column::Blocks => flag(self.blocks),
        }
    }
}

/// Cards of one type in one workspace, in the order of a column's values, then of gids.
#[derive(Clone, Copy, Debug)]
pub struct CardScan {
    /// The workspace, or none for what belongs to none.
    pub home: Option<Gid>,
    /// The type.
    pub ty: Type,
    /// The column, one of [`Column::SORTED`].
    pub column: Column,
    /// Only cards of this shape. There is one exactly where the column is [`Column::Modified`].
    pub shape: Option<Shape>,
    /// The least value.
    pub from: i64,
    /// The greatest value.
    pub to: i64,
    /// From the greatest to the least.
    pub descending: bool,
    /// Only what comes after this value and gid in that order.
    pub after: Option<(i64, Gid)>,
    /// How many at most.
    pub limit: usize,
}

/// Whether edges of this relation are told by cards of their ends.
pub(crate) fn is_told(of: crate::registry::Rel) -> bool {
    matches!(of, rel::PARENT | rel::LIKES | rel::DEPENDS)
}

/// The card of a live node that was read whole, with its words.
///
/// # Errors
/// When the store fails.
pub fn fresh(snap: &mut dyn Snapshot, node: &Node) -> Result<(Card, Text), StoreError> {
    let text = Text::of(node);
    let mut card = Card::of(node, &text);
    if node.ty == Type::Task {
        let each = &mut |edge: Edge, _| match edge.rel {
            rel::PARENT => card.sub = true,
            rel::LIKES => card.likes += 1,
            rel::DEPENDS => card.waits = true,
            _ => {}
        };
        snap.out(node.gid, rel::PARENT, rel::DEPENDS, Depth::Edge, each)?;
        card.blocks = snap.count_in(node.gid, rel::DEPENDS)? > 0;
    }
    Ok((card, text))
}

/// Writes the card of a node anew, if it is live and has one.
///
/// # Errors
/// When the store fails.
pub fn renew(txn: &mut dyn Transaction, gid: Gid) -> Result<(), StoreError> {
    let node = txn.node(gid, Depth::Full)?;
    let Some(node) = node.filter(|n| is_found(n.ty)) else {
        return Ok(());
    };
    let (card, text) = fresh(txn, &node)?;
    txn.put_card(&card, &text)
}
