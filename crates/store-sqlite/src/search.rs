//! Cards and words: what search reads, and how it is written beside the nodes.
//!
//! A word is kept with its workspace and type before it, so a search for it reads what it gives and
//! nothing of others. Words are put into their table at the end of a batch of change sets: it makes a
//! segment for each savepoint otherwise.
mod made;

pub(crate) use self::made::{agrees, is_made, make};
use crate::error::failed;
use crate::session::{Session, gid, limit, maybe_gid};
use crate::sql::Sql;
use rusqlite::Row;
use std::cell::Cell;
use workgraph_core::gid::Gid;
use workgraph_core::graph::StoreError;
use workgraph_core::registry::Type;
use workgraph_core::search::{Card, CardList, CardScan, Column, Shape, Text};
use workgraph_core::snapshot::{StartList, WordScan};

/// Words that are to be written.
#[derive(Debug)]
pub(crate) struct Pending {
    gid: i64,
    /// The node has words in the table.
    replaces: bool,
    /// What it has from now on: of its name, of its description.
    text: Option<(String, String)>,
}

/// The number of the workspace in the tables.
fn place(home: Option<Gid>) -> i64 {
    home.map_or(0, Gid::as_i64)
}

/// What stands before each word of nodes of a type in a workspace: 13 digits.
fn prefix(home: Option<Gid>, ty: Type) -> String {
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
    let (workspace, kind) = out.split_at_mut(11);
    digits(home.map_or(0, Gid::get), workspace);
    digits(ty as u64, kind);
    String::from_utf8(out).unwrap_or_default()
}

/// Words as a column of the table.
fn column(prefix: &str, words: &[String]) -> String {
    let mut out = String::with_capacity(words.iter().map(|w| w.len() + prefix.len() + 1).sum());
    for word in words {
        out.push_str(prefix);
        out.push_str(word);
        out.push(' ');
    }
    out
}

/// The search for words, in the language of the table. Words are letters and digits alone, so there
/// is nothing in them to be quoted.
fn matching(scan: &WordScan<'_>) -> String {
    let prefix = prefix(scan.home, scan.ty);
    let star = if scan.words.starts { " *" } else { "" };
    let terms: Vec<String> = scan
        .words
        .all
        .iter()
        .map(|word| format!("\"{prefix}{word}\"{star}"))
        .collect();
    let of = if scan.names { "name : " } else { "" };
    format!("{of}({})", terms.join(" AND "))
}

fn card(row: &Row<'_>, home: Option<Gid>, ty: Type) -> rusqlite::Result<Card> {
    let flags: u8 = row.get(10)?;
    let is_set = |at: usize| row.get::<_, Option<i64>>(at).map(|v| v.is_some());
    Ok(Card {
        gid: gid(row, 0)?,
        ty,
        home,
        created: row.get(1)?,
        modified: row.get(2)?,
        completed: row.get(3)?,
        due: row.get(4)?,
        start: row.get(5)?,
        who: maybe_gid(row, 6)?,
        creator: maybe_gid(row, 7)?,
        assigner: maybe_gid(row, 8)?,
        subtype: row.get(9)?,
        done: row.get(16)?,
        timed: flags & TIMED != 0,
        likes: row.get(11)?,
        sub: is_set(12)?,
        waits: is_set(13)?,
        blocks: is_set(14)?,
        sum: row.get(15)?,
    })
}

/// The flag of what is due at an instant. The flag 1 is not used.
const TIMED: u8 = 2;

/// The statement that gives cards in the order of a column, if they are kept so.
pub(crate) const fn by_column(column: Column, descending: bool) -> Option<Sql> {
    let (up, down) = match column {
        Column::Gid => (Sql::UpGid, Sql::DownGid),
        Column::Created => (Sql::UpCreated, Sql::DownCreated),
        Column::Modified => (Sql::UpModified, Sql::DownModified),
        Column::Completed => (Sql::UpCompleted, Sql::DownCompleted),
        Column::Due => (Sql::UpDue, Sql::DownDue),
        Column::Likes => (Sql::UpLikes, Sql::DownLikes),
        Column::Assigner => (Sql::UpAssigner, Sql::DownAssigner),
        _ => return None,
    };
    Some(if descending { down } else { up })
}

/// The statement that lists cards by a column, if they are listed so.
pub(crate) const fn listed(column: Column) -> Option<Sql> {
    Some(match column {
        Column::Gid => Sql::ListGid,
        Column::Created => Sql::ListCreated,
        Column::Modified => return None,
        Column::Completed => Sql::ListCompleted,
        Column::Due => Sql::ListDue,
        Column::Likes => Sql::ListLikes,
        Column::Start => Sql::ListStart,
        Column::Who => Sql::ListWho,
        Column::Creator => Sql::ListCreator,
        Column::Assigner => Sql::ListAssigner,
        Column::Subtype => Sql::ListSubtype,
        Column::Sub => Sql::ListSub,
        Column::Waits => Sql::ListWaits,
        Column::Blocks => Sql::ListBlocks,
    })
}

/// Where the rows of a list have a card's value in a column, if they have it.
fn given_at(list: &CardList, column: Column) -> Option<usize> {
    let at = match (list, column) {
        (_, Column::Gid) => 0,
        (CardList::Of { .. }, Column::Modified) => 2,
        _ => 1,
    };
    list.gives(column).then_some(at)
}

/// Says that cards are not kept in such a way.
fn unkept(column: Column) -> StoreError {
    StoreError::Failed(format!("cards are not kept so by {column:?}"))
}

impl Session<'_> {
    pub(crate) fn card_of(
        &mut self,
        home: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<Card>, StoreError> {
        let params = (place(home), ty as u8, gid.as_i64());
        self.one(Sql::Card, params, |row| card(row, home, ty))
            .map_err(failed)
    }

    pub(crate) fn cards(
        &mut self,
        scan: &CardScan,
        each: &mut dyn FnMut(Card),
    ) -> Result<(), StoreError> {
        let (first, last) = if scan.descending {
            (scan.to, scan.from)
        } else {
            (scan.from, scan.to)
        };
        // Before every gid with the first value, or after the last row given.
        let outermost = if scan.descending { i64::MAX } else { -1 };
        let (value, at) = scan
            .after
            .map_or((first, outermost), |(value, gid)| (value, gid.as_i64()));
        // The gid as a column is compared alone: what comes before the first value is excluded.
        let (value, at) = match (scan.column, scan.after) {
            (Column::Gid, None) if scan.descending => (first.saturating_add(1), i64::MAX),
            (Column::Gid, None) => (first.saturating_sub(1), i64::MIN),
            _ => (value, at),
        };
        let (home, kind, most) = (place(scan.home), scan.ty as u8, limit(scan.limit));
        let read = |row: &Row<'_>| {
            each(card(row, scan.home, scan.ty)?);
            Ok(())
        };
        let sql = by_column(scan.column, scan.descending);
        let sql = sql.filter(|_| scan.shape.is_some() == (scan.column == Column::Modified));
        let sql = sql.ok_or_else(|| unkept(scan.column))?;
        let done = match scan.shape {
            None => self.each(sql, (home, kind, value, at, last, most), read),
            Some(shape) => {
                let params = (home, kind, value, at, last, most, shape.number());
                self.each(sql, params, read)
            }
        };
        done.map_err(failed)
    }

    /// The shapes of cards: the next one each time, so that no card is read but the first of each.
    pub(crate) fn shapes_of(
        &mut self,
        home: Option<Gid>,
        ty: Type,
    ) -> rusqlite::Result<Vec<Shape>> {
        let (mut shapes, mut last) = (Vec::new(), -1);
        while let Some(next) = self.one(Sql::Shapes, (place(home), ty as u8, last), |row| {
            row.get::<_, u16>(0)
        })? {
            shapes.push(Shape::from_number(next));
            last = i32::from(next);
        }
        Ok(shapes)
    }

    pub(crate) fn list(
        &mut self,
        (home, ty): (Option<Gid>, Type),
        list: CardList,
        column: Column,
        most: usize,
        each: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), StoreError> {
        let (home, kind) = (place(home), ty as u8);
        let given = given_at(&list, column);
        let left = Cell::new(limit(most));
        let mut read = |row: &Row<'_>| {
            let value = given.map(|at| row.get::<_, Option<i64>>(at)).transpose()?;
            each(gid(row, 0)?, value.flatten());
            left.set(left.get() - 1);
            Ok(())
        };
        let (who, done, due) = match list {
            CardList::Within(column, from, to) => {
                let params = (home, kind, from, to, left.get());
                let sql = listed(column).ok_or_else(|| unkept(column))?;
                return self.each(sql, params, read).map_err(failed);
            }
            CardList::Shaped(shape, from, to) => {
                let params = (home, kind, shape.number(), from, to, left.get());
                return self.each(Sql::ListShape, params, read).map_err(failed);
            }
            CardList::Of { who, done, due } => (who.as_i64(), done, due),
        };
        // Each value of `done` by itself: in the index, dates come after it.
        let both = [false, true].into_iter();
        for done in both.filter(|on| done.is_none_or(|done| done == *on)) {
            let some = match due {
                None => self.each(Sql::ListOf, (home, kind, who, done, left.get()), &mut read),
                Some((from, to)) => {
                    let params = (home, kind, who, done, from, to, left.get());
                    self.each(Sql::ListOfDue, params, &mut read)
                }
            };
            some.map_err(failed)?;
        }
        Ok(())
    }

    pub(crate) fn starts(
        &mut self,
        list: &StartList<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), StoreError> {
        let first = prefix(list.home, list.ty) + list.start;
        let last = format!("{first}{}", char::MAX);
        let sql = if list.names {
            Sql::ListNamed
        } else {
            Sql::ListStarts
        };
        let read = |row: &Row<'_>| {
            each(gid(row, 0)?);
            Ok(())
        };
        self.each(sql, (first, last, limit(list.limit)), read)
            .map_err(failed)
    }

    pub(crate) fn words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), StoreError> {
        if scan.words.all.is_empty() {
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

    pub(crate) fn keep_card(&mut self, card: &Card, text: &Text) -> rusqlite::Result<()> {
        let (home, kind, gid) = (place(card.home), card.ty as u8, card.gid.as_i64());
        let known: Option<i64> = self.one(Sql::CardSum, (home, kind, gid), |row| row.get(0))?;
        if known != Some(card.sum) {
            let prefix = prefix(card.home, card.ty);
            self.pending.push(Pending {
                gid,
                replaces: known.is_some(),
                text: Some((column(&prefix, &text.name), column(&prefix, &text.notes))),
            });
        }
        let flags = u8::from(card.timed) * TIMED;
        let on = |flag: bool| flag.then_some(1i64);
        let params = rusqlite::params![
            home,
            kind,
            gid,
            card.created,
            card.modified,
            card.completed,
            card.due,
            card.start,
            card.who.map(Gid::as_i64),
            card.creator.map(Gid::as_i64),
            card.assigner.map(Gid::as_i64),
            card.subtype,
            flags,
            card.likes,
            on(card.sub),
            on(card.waits),
            on(card.blocks),
            card.sum,
            card.done,
            card.shape().number(),
        ];
        let put = if known.is_some() {
            Sql::PutCard
        } else {
            Sql::NewCard
        };
        self.run(put, params).map(drop)
    }

    /// Takes away the card and the words of a node.
    pub(crate) fn drop_card(
        &mut self,
        home: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> rusqlite::Result<()> {
        let gid = gid.as_i64();
        if self.run(Sql::DropCard, (place(home), ty as u8, gid))? > 0 {
            self.pending.push(Pending {
                gid,
                replaces: true,
                text: None,
            });
        }
        Ok(())
    }

    /// Writes the words of what was changed since the last time.
    pub(crate) fn write_words(&mut self) -> rusqlite::Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        // The table likes rows in order. Of several changes to a node the first knows what was there,
        // and the last what is to be.
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
