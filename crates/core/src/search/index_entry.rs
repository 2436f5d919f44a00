//! Index entries: data that a store keeps beside a node so that search need not read the node.
use crate::model::body_reader::BodyReader;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Type;
use crate::model::resources::{goal, project, task};
use crate::model::time::{Date, Time};
use crate::search::column_set::ColumnSet;
use crate::search::index_column::IndexColumn;
use crate::search::word_query::NodeWords;

/// Returns true if nodes of a type are found by search or typeahead.
#[must_use]
pub const fn is_searchable(ty: Type) -> bool {
    matches!(
        ty,
        Type::Task
            | Type::Project
            | Type::Portfolio
            | Type::Goal
            | Type::ProjectTemplate
            | Type::Tag
            | Type::Team
            | Type::User
            | Type::CustomField
    )
}

/// Values of a node that searches compare and sort by. Times are milliseconds since 1970; a day is
/// stored as its midnight UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexEntry {
    /// Gid of the node.
    pub gid: Gid,
    /// Type of the node.
    pub ty: Type,
    /// Workspace of the node; users have none.
    pub workspace: Option<Gid>,
    /// Time of creation; 0 for types without one.
    pub created: i64,
    /// Time of the last modification; 0 for types without one.
    pub modified: i64,
    /// Time of completion; every completed node has one.
    pub completed: Option<i64>,
    /// Due time: the instant, or the day.
    pub due: Option<i64>,
    /// Day on which the work starts.
    pub start: Option<i64>,
    /// Assignee of a task, or owner of a project.
    pub responsible: Option<Gid>,
    /// User who created it.
    pub creator: Option<Gid>,
    /// User who assigned it.
    pub assigner: Option<Gid>,
    /// Index of its subtype among the subtypes of its type.
    pub subtype: u8,
    /// True if the task, project or goal is completed.
    pub is_completed: bool,
    /// True if it is due at an instant, not on a day.
    pub due_at_instant: bool,
    /// True if the task has a parent.
    pub is_subtask: bool,
    /// True if it has an edge to a task that it depends on.
    pub is_blocked: bool,
    /// True if a task that was live when the entry was written depends on it.
    pub is_blocking: bool,
    /// Number of users who like it.
    pub likes: u32,
    /// Hash of its words: [`NodeWords::hash`].
    pub words_hash: i64,
}

/// List of index entries. Lists have no order, but if a list has a column, a store begins with the greatest values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EntryList {
    /// Entries with a value within these bounds in a column, any but [`IndexColumn::Modified`].
    Within(IndexColumn, i64, i64),
    /// Entries with a column set that were modified within these bounds.
    Shaped(ColumnSet, i64, i64),
    /// Entries with this assignee or owner ([`IndexEntry::responsible`]).
    Of {
        /// Assignee or owner of the entries.
        responsible: Gid,
        /// True for only completed entries, false for only open entries.
        done: Option<bool>,
        /// Bounds of the due time, for only the entries that are due within them.
        due: Option<(i64, i64)>,
    },
}

impl EntryList {
    /// Returns true if a store lists these entries with their values of a column.
    #[must_use]
    pub fn gives(&self, column: IndexColumn) -> bool {
        match self {
            _ if column == IndexColumn::Gid => true,
            Self::Within(of, ..) => *of == column,
            Self::Shaped(..) => column == IndexColumn::Modified,
            Self::Of { .. } => matches!(column, IndexColumn::Due | IndexColumn::Modified),
        }
    }

    /// Returns true if the list has an entry.
    #[must_use]
    pub fn has(&self, entry: &IndexEntry) -> bool {
        match self {
            Self::Within(column, from, to) => entry
                .value(*column)
                .is_some_and(|v| (from..=to).contains(&&v)),
            Self::Shaped(shape, from, to) => {
                *shape == entry.shape() && (*from..=*to).contains(&entry.modified)
            }
            Self::Of {
                responsible,
                done,
                due,
            } => {
                entry.responsible == Some(*responsible)
                    && done.is_none_or(|done| done == entry.is_completed)
                    && due.is_none_or(|(from, to)| {
                        entry.due.is_some_and(|due| (from..=to).contains(&due))
                    })
            }
        }
    }
}

impl IndexEntry {
    /// Returns the entry of a node that was read in full, with these words; its edges are not
    /// considered.
    #[must_use]
    pub fn of(node: &Node, text: &NodeWords) -> Self {
        let millis = |t: Option<Time>| t.map(Time::millis);
        let midnight = |d: Option<Date>| d.map(|d| d.start().millis());
        let mut entry = Self {
            gid: node.gid,
            ty: node.ty,
            workspace: node.workspace,
            created: 0,
            modified: 0,
            completed: None,
            due: None,
            start: None,
            responsible: None,
            creator: None,
            assigner: None,
            subtype: 0,
            is_completed: false,
            due_at_instant: false,
            is_subtask: false,
            is_blocked: false,
            is_blocking: false,
            likes: 0,
            words_hash: text.hash(),
        };
        let mut body = BodyReader::new(&node.body);
        match node.ty {
            Type::Task => {
                let at = millis(body.get(task::DUE_AT));
                let subtype = body.get(task::SUBTYPE);
                let position = |word: &str| task::SUBTYPES.iter().position(|s| *s == word);
                entry.created = millis(body.get(task::CREATED_AT)).unwrap_or(0);
                entry.modified = millis(body.get(task::MODIFIED_AT)).unwrap_or(0);
                entry.completed = millis(body.get(task::COMPLETED_AT));
                entry.due = at.or_else(|| midnight(body.get(task::DUE_ON)));
                entry.due_at_instant = at.is_some();
                entry.start = midnight(body.get(task::START_ON));
                entry.responsible = body.get(task::ASSIGNEE);
                entry.creator = body.get(task::CREATED_BY);
                entry.assigner = body.get(task::ASSIGNED_BY);
                entry.is_completed = body.get(task::COMPLETED);
                entry.subtype = subtype.as_deref().and_then(position).unwrap_or(0) as u8;
            }
            Type::Project => {
                entry.created = millis(body.get(project::CREATED_AT)).unwrap_or(0);
                entry.modified = millis(body.get(project::MODIFIED_AT)).unwrap_or(0);
                entry.completed = millis(body.get(project::COMPLETED_AT));
                entry.due = midnight(body.get(project::DUE_ON));
                entry.start = midnight(body.get(project::START_ON));
                entry.responsible = body.get(project::OWNER);
                entry.creator = body.get(project::CREATED_BY);
                entry.is_completed = body.get(project::COMPLETED);
            }
            Type::Goal => entry.responsible = body.get(goal::OWNER),
            _ => {}
        }
        entry
    }

    /// Returns the entry's column set.
    #[must_use]
    pub fn shape(&self) -> ColumnSet {
        let has_value = |column| self.value(column).is_some();
        ColumnSet::of(has_value, self.is_completed, self.due_at_instant)
    }

    /// Returns the entry's value in a column, for finding and sorting it.
    #[must_use]
    pub fn value(&self, column: IndexColumn) -> Option<i64> {
        let flag = |on: bool| on.then_some(1);
        match column {
            IndexColumn::Gid => Some(self.gid.as_i64()),
            IndexColumn::Created => Some(self.created),
            IndexColumn::Modified => Some(self.modified),
            IndexColumn::Completed => self.completed,
            IndexColumn::Due => self.due,
            IndexColumn::Likes => Some(i64::from(self.likes)).filter(|n| *n > 0),
            IndexColumn::Start => self.start,
            IndexColumn::Responsible => self.responsible.map(Gid::as_i64),
            IndexColumn::Creator => self.creator.map(Gid::as_i64),
            IndexColumn::Assigner => self.assigner.map(Gid::as_i64),
            IndexColumn::Subtype => Some(i64::from(self.subtype)).filter(|n| *n > 0),
            IndexColumn::Subtask => flag(self.is_subtask),
            IndexColumn::Blocked => flag(self.is_blocked),
            IndexColumn::Blocking => flag(self.is_blocking),
        }
    }
}

/// Scan of entries of one type in one workspace, in the order of a column's values, then of gids.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EntryScan {
    /// Workspace of the entries, or `None` for nodes that belong to none.
    pub workspace: Option<Gid>,
    /// Type of the nodes.
    pub ty: Type,
    /// Column of the order, one of [`IndexColumn::SORTED`].
    pub column: IndexColumn,
    /// Column set of the entries; set if and only if the column is [`IndexColumn::Modified`].
    pub shape: Option<ColumnSet>,
    /// Lowest value of the scan.
    pub from: i64,
    /// Highest value of the scan.
    pub to: i64,
    /// True if the order is from the greatest to the least.
    pub descending: bool,
    /// Value and gid after which the scan starts, in its order.
    pub after: Option<(i64, Gid)>,
    /// Maximum number of entries to return.
    pub limit: usize,
}
