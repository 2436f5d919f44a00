//! Index entries and words: the rows that search reads, written beside the nodes.
//!
//! A word is stored with its workspace and type before it, so a search for it reads only rows that it returns. Words are
//! added to their table at the end of a batch of change sets; otherwise the table would get a segment for each savepoint.
mod rebuild;

pub(crate) use self::rebuild::{agrees, is_current, rebuild, set_current};
use crate::open_error::failed;
use crate::statements::Sql;
use crate::transaction::{PendingWords, SqliteTransaction, gid, limit, maybe_gid};
use rusqlite::Row;
use std::borrow::Cow;
use std::cell::Cell;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::search::{ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry, NodeWords};
use workgraph_core::storage::GraphStoreError;
use workgraph_core::storage::snapshot::{PrefixList, WordScan};

/// Returns the number of the workspace in the tables.
fn workspace_column(workspace: Option<Gid>) -> i64 {
    workspace.map_or(0, Gid::as_i64)
}

/// Returns the prefix of words in the table: 11 digits for the workspace and 2 for the type, in base 36.
fn prefix(workspace: Option<Gid>, ty: Type) -> String {
    let mut out = vec![b'0'; 13];
    let digits = |mut number: u64, out: &mut [u8]| {
        for digit in out.iter_mut().rev() {
            let value = (number % 36) as u8;
            *digit = if value < 10 {
                b'0' + value
            } else {
                b'a' + value - 10
            };
            number /= 36;
        }
    };
    let (workspace_digits, type_digits) = out.split_at_mut(11);
    digits(workspace.map_or(0, Gid::get), workspace_digits);
    digits(ty as u64, type_digits);
    String::from_utf8(out).unwrap_or_default()
}

/// Returns words as a column of the table.
fn column(prefix: &str, words: &[String]) -> String {
    let mut out = String::with_capacity(words.iter().map(|w| w.len() + prefix.len() + 1).sum());
    for word in words {
        out.push_str(prefix);
        out.push_str(&token(word));
        out.push(' ');
    }
    out
}

/// Returns a word as a token of the table. The table treats ASCII signs as blanks, so signs are written in their full-width
/// forms. No word contains full-width signs, since folding replaces them by ASCII signs.
fn token(word: &str) -> Cow<'_, str> {
    let is_sign = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric();
    if !word.contains(is_sign) {
        return word.into();
    }
    let wide = |c: char| match is_sign(c) {
        true => char::from_u32(u32::from(c) + FULL_WIDTH).unwrap_or(c),
        false => c,
    };
    word.chars().map(wide).collect::<String>().into()
}

/// Returns the search for words, in the query language of the table. Tokens have no ASCII signs, so nothing in them needs
/// quoting.
fn matching(scan: &WordScan<'_>) -> String {
    let prefix = prefix(scan.workspace, scan.ty);
    let star = if scan.words.match_prefixes { " *" } else { "" };
    let terms: Vec<String> = scan
        .words
        .words
        .iter()
        .map(|word| format!("\"{prefix}{}\"{star}", token(word)))
        .collect();
    let of = if scan.names { "name : " } else { "" };
    format!("{of}({})", terms.join(" AND "))
}

fn entry(row: &Row<'_>, workspace: Option<Gid>, ty: Type) -> rusqlite::Result<IndexEntry> {
    let flags: u8 = row.get(10)?;
    let is_set = |at: usize| row.get::<_, Option<i64>>(at).map(|v| v.is_some());
    Ok(IndexEntry {
        gid: gid(row, 0)?,
        ty,
        workspace,
        created: row.get(1)?,
        modified: row.get(2)?,
        completed: row.get(3)?,
        due: row.get(4)?,
        start: row.get(5)?,
        responsible: maybe_gid(row, 6)?,
        creator: maybe_gid(row, 7)?,
        assigner: maybe_gid(row, 8)?,
        subtype: row.get(9)?,
        is_completed: row.get(16)?,
        due_at_instant: flags & TIMED != 0,
        likes: row.get(11)?,
        is_subtask: is_set(12)?,
        is_blocked: is_set(13)?,
        is_blocking: is_set(14)?,
        words_hash: row.get(15)?,
    })
}

/// Distance from an ASCII sign to its full-width form.
const FULL_WIDTH: u32 = 0xfee0;
/// Flag of an entry that is due at an instant. The flag 1 is not used.
const TIMED: u8 = 2;

/// Returns the statement that reads entries in the order of a column, if there is one.
pub(crate) const fn by_column(column: IndexColumn, descending: bool) -> Option<Sql> {
    let (up, down) = match column {
        IndexColumn::Gid => (Sql::UpGid, Sql::DownGid),
        IndexColumn::Created => (Sql::UpCreated, Sql::DownCreated),
        IndexColumn::Modified => (Sql::UpModified, Sql::DownModified),
        IndexColumn::Completed => (Sql::UpCompleted, Sql::DownCompleted),
        IndexColumn::Due => (Sql::UpDue, Sql::DownDue),
        IndexColumn::Likes => (Sql::UpLikes, Sql::DownLikes),
        IndexColumn::Assigner => (Sql::UpAssigner, Sql::DownAssigner),
        _ => return None,
    };
    Some(if descending { down } else { up })
}

/// Returns the statement that lists entries by a column, if there is one.
pub(crate) const fn listed(column: IndexColumn) -> Option<Sql> {
    Some(match column {
        IndexColumn::Gid => Sql::ListGid,
        IndexColumn::Created => Sql::ListCreated,
        IndexColumn::Modified => return None,
        IndexColumn::Completed => Sql::ListCompleted,
        IndexColumn::Due => Sql::ListDue,
        IndexColumn::Likes => Sql::ListLikes,
        IndexColumn::Start => Sql::ListStart,
        IndexColumn::Responsible => Sql::ListWho,
        IndexColumn::Creator => Sql::ListCreator,
        IndexColumn::Assigner => Sql::ListAssigner,
        IndexColumn::Subtype => Sql::ListSubtype,
        IndexColumn::Subtask => Sql::ListSub,
        IndexColumn::Blocked => Sql::ListWaits,
        IndexColumn::Blocking => Sql::ListBlocks,
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

/// Returns the error for a column that has no such index.
fn unkept(column: IndexColumn) -> GraphStoreError {
    GraphStoreError::Failed(format!(
        "index entries are not stored in the order of {column:?}"
    ))
}

impl SqliteTransaction<'_> {
    pub(crate) fn card_of(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError> {
        let params = (workspace_column(workspace), ty as u8, gid.as_i64());
        self.one(Sql::Card, params, |row| entry(row, workspace, ty))
            .map_err(failed)
    }

    pub(crate) fn entries(
        &mut self,
        scan: &EntryScan,
        each: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError> {
        let (first, last) = if scan.descending {
            (scan.to, scan.from)
        } else {
            (scan.from, scan.to)
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
        let (workspace, kind, most) = (
            workspace_column(scan.workspace),
            scan.ty as u8,
            limit(scan.limit),
        );
        let read = |row: &Row<'_>| {
            each(entry(row, scan.workspace, scan.ty)?);
            Ok(())
        };
        let sql = by_column(scan.column, scan.descending);
        let sql = sql.filter(|_| scan.shape.is_some() == (scan.column == IndexColumn::Modified));
        let sql = sql.ok_or_else(|| unkept(scan.column))?;
        let done = match scan.shape {
            None => self.each(sql, (workspace, kind, value, at, last, most), read),
            Some(shape) => {
                let params = (workspace, kind, value, at, last, most, shape.number());
                self.each(sql, params, read)
            }
        };
        done.map_err(failed)
    }

    /// Reads the column sets of entries. Skips from each set to the next, so that only the first entry of a set is read.
    pub(crate) fn shapes_of(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
    ) -> rusqlite::Result<Vec<ColumnSet>> {
        let (mut shapes, mut last) = (Vec::new(), -1);
        while let Some(next) = self.one(
            Sql::Shapes,
            (workspace_column(workspace), ty as u8, last),
            |row| row.get::<_, u16>(0),
        )? {
            shapes.push(ColumnSet::from_number(next));
            last = i32::from(next);
        }
        Ok(shapes)
    }

    pub(crate) fn list(
        &mut self,
        (workspace, ty): (Option<Gid>, Type),
        list: EntryList,
        column: IndexColumn,
        most: usize,
        each: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), GraphStoreError> {
        let (workspace, kind) = (workspace_column(workspace), ty as u8);
        let given = given_at(&list, column);
        let left = Cell::new(limit(most));
        let mut read = |row: &Row<'_>| {
            let value = given.map(|at| row.get::<_, Option<i64>>(at)).transpose()?;
            each(gid(row, 0)?, value.flatten());
            left.set(left.get() - 1);
            Ok(())
        };
        let (responsible, done, due) = match list {
            EntryList::Within(column, from, to) => {
                let params = (workspace, kind, from, to, left.get());
                let sql = listed(column).ok_or_else(|| unkept(column))?;
                return self.each(sql, params, read).map_err(failed);
            }
            EntryList::Shaped(shape, from, to) => {
                let params = (workspace, kind, shape.number(), from, to, left.get());
                return self.each(Sql::ListShape, params, read).map_err(failed);
            }
            EntryList::Of {
                responsible,
                done,
                due,
            } => (responsible.as_i64(), done, due),
        };
        // Each value of `done` separately: in the index, dates come after it.
        let both = [false, true].into_iter();
        for done in both.filter(|on| done.is_none_or(|done| done == *on)) {
            let some = match due {
                None => self.each(
                    Sql::ListOf,
                    (workspace, kind, responsible, done, left.get()),
                    &mut read,
                ),
                Some((from, to)) => {
                    let params = (workspace, kind, responsible, done, from, to, left.get());
                    self.each(Sql::ListOfDue, params, &mut read)
                }
            };
            some.map_err(failed)?;
        }
        Ok(())
    }

    pub(crate) fn starts(
        &mut self,
        list: &PrefixList<'_>,
        each: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), GraphStoreError> {
        let first = prefix(list.workspace, list.ty) + &token(list.prefix);
        let last = format!("{first}{}", char::MAX);
        let read = |row: &Row<'_>| {
            each(gid(row, 0)?, !list.names || row.get(1)?);
            Ok(())
        };
        self.each(Sql::ListStarts, (first, last, limit(list.limit)), read)
            .map_err(failed)
    }

    /// Reads the times of the last changes of nodes from their index entries.
    pub(crate) fn modified_of(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gids: &[Gid],
        each: &mut dyn FnMut(Gid, i64),
    ) -> rusqlite::Result<()> {
        let (workspace, kind) = (workspace_column(workspace), ty as u8);
        for gid in gids {
            let params = (workspace, kind, gid.as_i64());
            if let Some(at) = self.one(Sql::CardModified, params, |row| row.get(0))? {
                each(*gid, at);
            }
        }
        Ok(())
    }

    pub(crate) fn words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        if scan.words.words.is_empty() {
            return Ok(());
        }
        let (sql, outermost) = if scan.descending {
            (Sql::DownWords, i64::MAX)
        } else {
            (Sql::UpWords, 0)
        };
        let after = scan.after.map_or(outermost, Gid::as_i64);
        let params = (matching(scan), after, limit(scan.limit));
        let read = |row: &Row<'_>| {
            each(gid(row, 0)?);
            Ok(())
        };
        self.each(sql, params, read).map_err(failed)
    }

    pub(crate) fn put_entry(
        &mut self,
        entry: &IndexEntry,
        text: &NodeWords,
    ) -> rusqlite::Result<()> {
        let (workspace, kind, gid) = (
            workspace_column(entry.workspace),
            entry.ty as u8,
            entry.gid.as_i64(),
        );
        // A node has no entry before its first version.
        let known: Option<i64> = match self.rows.new_node(entry.gid) {
            Some(_) => None,
            None => self.one(Sql::CardSum, (workspace, kind, gid), |row| row.get(0))?,
        };
        if known != Some(entry.words_hash) {
            let prefix = prefix(entry.workspace, entry.ty);
            self.pending.push(PendingWords {
                gid,
                replaces: known.is_some(),
                text: Some((column(&prefix, &text.name), column(&prefix, &text.notes))),
            });
        }
        let flags = u8::from(entry.due_at_instant) * TIMED;
        let on = |flag: bool| flag.then_some(1i64);
        let params = rusqlite::params![
            workspace,
            kind,
            gid,
            entry.created,
            entry.modified,
            entry.completed,
            entry.due,
            entry.start,
            entry.responsible.map(Gid::as_i64),
            entry.creator.map(Gid::as_i64),
            entry.assigner.map(Gid::as_i64),
            entry.subtype,
            flags,
            entry.likes,
            on(entry.is_subtask),
            on(entry.is_blocked),
            on(entry.is_blocking),
            entry.words_hash,
            entry.is_completed,
            entry.shape().number(),
        ];
        let put = if known.is_some() {
            Sql::PutCard
        } else {
            Sql::NewCard
        };
        self.run(put, params).map(drop)
    }

    /// Deletes the index entry and the words of a node.
    pub(crate) fn delete_entry(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> rusqlite::Result<()> {
        let gid = gid.as_i64();
        if self.run(Sql::DropCard, (workspace_column(workspace), ty as u8, gid))? > 0 {
            self.pending.push(PendingWords {
                gid,
                replaces: true,
                text: None,
            });
        }
        Ok(())
    }

    /// Writes the words that were changed since the last call.
    pub(crate) fn write_words(&mut self) -> rusqlite::Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        // The table is fastest with rows in order. Of several changes to a node, the first knows whether the table has
        // words, and the last has the new words.
        pending.sort_by_key(|p| p.gid);
        pending.dedup_by(|later, kept| {
            let same = later.gid == kept.gid;
            if same {
                kept.text = later.text.take();
            }
            same
        });
        for change in pending {
            if change.replaces {
                self.run(Sql::DropWords, [change.gid])?;
            }
            if let Some((name, notes)) = change.text {
                self.run(Sql::PutWords, (change.gid, name, notes))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
