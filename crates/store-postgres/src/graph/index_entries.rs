//! Index entries: the rows that search reads, written beside the nodes.
use super::row_writes::RowAge;
use crate::columns::{code, gid, limit, maybe_gid};
use crate::database_error::DatabaseError;
use crate::params::{OwnedParams, Param, ROWS_MAX, column, params};
use crate::statement_list::StatementList;
use crate::transaction::PgTransaction;
use tokio_postgres::Row;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::search::{ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry};
use workgraph_core::storage::GraphStoreError;

macro_rules! columns {
    () => {
        "gid, created, modified, completed, due, start, who, creator, assigner, subtype, flags, likes, sub, waits, blocks, sum, done"
    };
}
// Index entries by a column; the term of its partial index is part of the text, so that the index is used.
macro_rules! scan {
    ($column:literal, $indexed:literal) => {
        [
            concat!(
                "SELECT ",
                columns!(),
                " FROM card WHERE home = $1 AND kind = $2 AND (",
                $column,
                ", gid) > ($3, $4) AND ",
                $column,
                " <= $5",
                $indexed,
                " ORDER BY ",
                $column,
                ", gid LIMIT $6"
            ),
            concat!(
                "SELECT ",
                columns!(),
                " FROM card WHERE home = $1 AND kind = $2 AND (",
                $column,
                ", gid) < ($3, $4) AND ",
                $column,
                " >= $5",
                $indexed,
                " ORDER BY ",
                $column,
                " DESC, gid DESC LIMIT $6"
            ),
        ]
    };
}
// Gids with their values of a column, greatest value first.
macro_rules! list {
    ($column:literal) => {
        list!($column, "")
    };
    ($column:literal, $indexed:literal) => {
        concat!(
            "SELECT gid, ",
            $column,
            "::bigint FROM card WHERE home = $1 AND kind = $2 AND ",
            $column,
            " BETWEEN $3 AND $4",
            $indexed,
            " ORDER BY ",
            $column,
            " DESC LIMIT $5"
        )
    };
}

const ENTRY: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM card WHERE home = $1 AND kind = $2 AND gid = $3"
);
const MODIFIED_OF: &str =
    "SELECT gid, modified FROM card WHERE home = $1 AND kind = $2 AND gid = ANY($3)";
const SHAPED: [&str; 2] = scan!("modified", " AND shape = $7");
/// Reads the column sets. Skips from each set to the next, so that only the first entry of a set is read.
const COLUMN_SETS: &str = "WITH RECURSIVE s (shape) AS ((\
    SELECT shape FROM card WHERE home = $1 AND kind = $2 ORDER BY shape LIMIT 1) UNION ALL \
    SELECT (SELECT c.shape FROM card c WHERE c.home = $1 AND c.kind = $2 AND c.shape > s.shape \
        ORDER BY c.shape LIMIT 1) FROM s WHERE s.shape IS NOT NULL) \
    SELECT shape FROM s WHERE shape IS NOT NULL ORDER BY shape";
const LIST_SHAPED: &str = "SELECT gid, modified FROM card WHERE home = $1 AND kind = $2 AND shape = $3 \
    AND modified BETWEEN $4 AND $5 ORDER BY modified DESC LIMIT $6";
/// Both values of `done` are read separately: in the index, dates come after it.
const LIST_OF: &str = "SELECT gid, due, modified FROM card WHERE home = $1 AND kind = $2 AND who = $3 \
    AND done = ANY ($4::boolean[]) LIMIT $5";
const LIST_OF_DUE: &str = "SELECT gid, due, modified FROM card WHERE home = $1 AND kind = $2 AND who = $3 \
    AND done = ANY ($4::boolean[]) AND due BETWEEN $6 AND $7 LIMIT $5";
macro_rules! put_entries {
    () => {
        concat!(
            "INSERT INTO card (home, kind, ",
            columns!(),
            ", shape) \
            SELECT unnest($1::bigint[]), unnest($2::smallint[]), unnest($3::bigint[]), unnest($4::bigint[]), \
            unnest($5::bigint[]), unnest($6::bigint[]), unnest($7::bigint[]), unnest($8::bigint[]), unnest($9::bigint[]), \
            unnest($10::bigint[]), unnest($11::bigint[]), unnest($12::smallint[]), unnest($13::smallint[]), \
            unnest($14::bigint[]), unnest($15::bigint[]), unnest($16::bigint[]), unnest($17::bigint[]), \
            unnest($18::bigint[]), unnest($19::boolean[]), unnest($20::integer[])"
        )
    };
}
const PUT_NEW_ENTRIES: &str = put_entries!();
const PUT_ENTRIES: &str = concat!(
    put_entries!(),
    " ON CONFLICT (home, kind, gid) DO UPDATE SET created = excluded.created, modified = excluded.modified, \
    completed = excluded.completed, due = excluded.due, start = excluded.start, who = excluded.who, \
    creator = excluded.creator, assigner = excluded.assigner, subtype = excluded.subtype, flags = excluded.flags, \
    likes = excluded.likes, sub = excluded.sub, waits = excluded.waits, blocks = excluded.blocks, sum = excluded.sum, \
    done = excluded.done, shape = excluded.shape"
);
/// Flag of an entry that is due at an instant. The flag 1 is not used.
const TIMED: u8 = 2;

/// Returns the number of a workspace in the tables of search.
pub(super) fn home(workspace: Option<Gid>) -> i64 {
    workspace.map_or(0, Gid::as_i64)
}

/// Returns the statements that read entries in the order of a column, ascending and descending, if there are any.
const fn by_column(column: IndexColumn) -> Option<[&'static str; 2]> {
    Some(match column {
        IndexColumn::Gid => scan!("gid", ""),
        IndexColumn::Created => scan!("created", ""),
        IndexColumn::Modified => SHAPED,
        IndexColumn::Completed => scan!("completed", " AND completed IS NOT NULL"),
        IndexColumn::Due => scan!("due", " AND due IS NOT NULL"),
        IndexColumn::Likes => scan!("likes", " AND likes > 0"),
        IndexColumn::Assigner => scan!("assigner", " AND assigner IS NOT NULL"),
        _ => return None,
    })
}

/// Returns the statement that lists entries by a column, if there is one.
const fn listed(column: IndexColumn) -> Option<&'static str> {
    Some(match column {
        IndexColumn::Gid => list!("gid"),
        IndexColumn::Created => list!("created"),
        IndexColumn::Modified => return None,
        IndexColumn::Completed => list!("completed"),
        IndexColumn::Due => list!("due"),
        IndexColumn::Likes => list!("likes", " AND likes > 0"),
        IndexColumn::Start => list!("start"),
        IndexColumn::Responsible => list!("who"),
        IndexColumn::Creator => list!("creator"),
        IndexColumn::Assigner => list!("assigner"),
        IndexColumn::Subtype => list!("subtype", " AND subtype > 0"),
        IndexColumn::Subtask => list!("sub"),
        IndexColumn::Blocked => list!("waits"),
        IndexColumn::Blocking => list!("blocks"),
    })
}

/// Returns the position of a column's value in the rows of a list; `None` if the rows do not have the value.
fn given_at(list: &EntryList, column: IndexColumn) -> Option<usize> {
    let at = match (list, column) {
        (_, IndexColumn::Gid) => 0,
        (EntryList::Of { .. }, IndexColumn::Modified) => 2,
        _ => 1,
    };
    list.gives(column).then_some(at)
}

fn unkept(column: IndexColumn) -> GraphStoreError {
    GraphStoreError::Failed(format!(
        "index entries are not stored in the order of {column:?}"
    ))
}

fn entry(row: &Row, workspace: Option<Gid>, ty: Type) -> Result<IndexEntry, DatabaseError> {
    let is_set = |at: usize| {
        row.try_get::<_, Option<i64>>(at)
            .map(|value| value.is_some())
    };
    let likes: i64 = row.try_get(11)?;
    Ok(IndexEntry {
        gid: gid(row, 0)?,
        ty,
        workspace,
        created: row.try_get(1)?,
        modified: row.try_get(2)?,
        completed: row.try_get(3)?,
        due: row.try_get(4)?,
        start: row.try_get(5)?,
        responsible: maybe_gid(row, 6)?,
        creator: maybe_gid(row, 7)?,
        assigner: maybe_gid(row, 8)?,
        subtype: code(row, 9)?,
        is_completed: row.try_get(16)?,
        due_at_instant: code(row, 10)? & TIMED != 0,
        likes: u32::try_from(likes).map_err(|_| DatabaseError::unreadable("likes"))?,
        is_subtask: is_set(12)?,
        is_blocked: is_set(13)?,
        is_blocking: is_set(14)?,
        words_hash: row.try_get(15)?,
    })
}

impl PgTransaction<'_> {
    pub(super) fn entry_of(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, DatabaseError> {
        let params = params![home(workspace), i16::from(ty as u8), gid.as_i64()];
        let rows = self.read(ENTRY, params)?;
        rows.first()
            .map(|row| entry(row, workspace, ty))
            .transpose()
    }

    pub(super) fn modified_of(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gids: &[Gid],
        each: &mut dyn FnMut(Gid, i64),
    ) -> Result<(), DatabaseError> {
        let gids: Vec<i64> = gids.iter().map(|gid| gid.as_i64()).collect();
        let params = params![home(workspace), i16::from(ty as u8), Param::Bigs(gids)];
        for row in self.read(MODIFIED_OF, params)?.iter() {
            each(gid(row, 0)?, row.try_get(1)?);
        }
        Ok(())
    }

    pub(super) fn scan_entries(
        &mut self,
        scan: &EntryScan,
        each: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError> {
        let (first, last) = match scan.descending {
            true => (scan.to, scan.from),
            false => (scan.from, scan.to),
        };
        // Before every gid with the first value, or after the last row that was returned.
        let outermost = if scan.descending { i64::MAX } else { -1 };
        let (value, at) = scan
            .after
            .map_or((first, outermost), |(value, gid)| (value, gid.as_i64()));
        // A gid is compared alone, without a second column, and the start is exclusive: it is one step before the first
        // value.
        let (value, at) = match (scan.column, scan.after) {
            (IndexColumn::Gid, None) if scan.descending => (first.saturating_add(1), i64::MAX),
            (IndexColumn::Gid, None) => (first.saturating_sub(1), i64::MIN),
            _ => (value, at),
        };
        let shaped = scan.shape.is_some() == (scan.column == IndexColumn::Modified);
        let [up, down] = by_column(scan.column)
            .filter(|_| shaped)
            .ok_or_else(|| unkept(scan.column))?;
        let statement = if scan.descending { down } else { up };
        let (home, kind, most) = (
            home(scan.workspace),
            i16::from(scan.ty as u8),
            limit(scan.limit),
        );
        let mut params = params![home, kind, value, at, last, most];
        params.extend(
            scan.shape
                .map(|shape| Param::Int(i32::from(shape.number()))),
        );
        for row in self.read(statement, params)?.iter() {
            each(entry(row, scan.workspace, scan.ty)?);
        }
        Ok(())
    }

    pub(super) fn column_sets_of(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
    ) -> Result<Vec<ColumnSet>, DatabaseError> {
        let rows = self.read(COLUMN_SETS, params![home(workspace), i16::from(ty as u8)])?;
        let set = |row: &Row| {
            let number: i32 = row.try_get(0)?;
            let number = u16::try_from(number).map_err(|_| DatabaseError::unreadable("shape"))?;
            Ok(ColumnSet::from_number(number))
        };
        rows.iter().map(set).collect()
    }

    pub(super) fn list_entries(
        &mut self,
        (workspace, ty): (Option<Gid>, Type),
        list: EntryList,
        column: IndexColumn,
        most: usize,
        each: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), GraphStoreError> {
        let (home, kind, most) = (home(workspace), i16::from(ty as u8), limit(most));
        let given = given_at(&list, column);
        let rows = match list {
            EntryList::Within(IndexColumn::Subtype, from, to) => {
                // The column's type is smaller than the bounds may be.
                let small = |n: i64| n.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16;
                let sql = listed(IndexColumn::Subtype).ok_or_else(|| unkept(column))?;
                self.read(sql, params![home, kind, small(from), small(to), most])?
            }
            EntryList::Within(column, from, to) => {
                let sql = listed(column).ok_or_else(|| unkept(column))?;
                self.read(sql, params![home, kind, from, to, most])?
            }
            EntryList::Shaped(shape, from, to) => {
                let shape = i32::from(shape.number());
                self.read(LIST_SHAPED, params![home, kind, shape, from, to, most])?
            }
            EntryList::Of {
                responsible,
                done,
                due,
            } => {
                let who = responsible.as_i64();
                let done = done.map_or(vec![false, true], |done| vec![done]);
                match due {
                    None => self.read(LIST_OF, params![home, kind, who, done, most])?,
                    Some((from, to)) => {
                        let params = params![home, kind, who, done, most, from, to];
                        self.read(LIST_OF_DUE, params)?
                    }
                }
            }
        };
        for row in rows.iter() {
            let value = given
                .map(|at| row.try_get::<_, Option<i64>>(at))
                .transpose();
            let value = value.map_err(DatabaseError::from)?;
            each(gid(row, 0)?, value.flatten());
        }
        Ok(())
    }
}

impl StatementList {
    /// Writes index entries of different nodes.
    pub(super) fn put_entries(&mut self, age: RowAge, entries: &[&IndexEntry]) {
        let on = |flag: bool| flag.then_some(1i64);
        for some in entries.chunks(ROWS_MAX) {
            let params: OwnedParams = vec![
                column(some, |entry| home(entry.workspace)),
                column(some, |entry| i16::from(entry.ty as u8)),
                column(some, |entry| entry.gid.as_i64()),
                column(some, |entry| entry.created),
                column(some, |entry| entry.modified),
                column(some, |entry| entry.completed),
                column(some, |entry| entry.due),
                column(some, |entry| entry.start),
                column(some, |entry| entry.responsible.map(Gid::as_i64)),
                column(some, |entry| entry.creator.map(Gid::as_i64)),
                column(some, |entry| entry.assigner.map(Gid::as_i64)),
                column(some, |entry| i16::from(entry.subtype)),
                column(some, |entry| {
                    i16::from(u8::from(entry.due_at_instant) * TIMED)
                }),
                column(some, |entry| i64::from(entry.likes)),
                column(some, |entry| on(entry.is_subtask)),
                column(some, |entry| on(entry.is_blocked)),
                column(some, |entry| on(entry.is_blocking)),
                column(some, |entry| entry.words_hash),
                column(some, |entry| entry.is_completed),
                column(some, |entry| i32::from(entry.shape().number())),
            ];
            self.add(age.choose(PUT_NEW_ENTRIES, PUT_ENTRIES), params);
        }
    }
}
