//! Words of nodes as rows: `(home, kind, gid, term)`, and by `(home, kind, term, gid)` for searches.
use super::index_entries::home;
use crate::columns::{gid, limit};
use crate::database_error::DatabaseError;
use crate::params::{OwnedParams, Param, ROWS_MAX, column, params};
use crate::statement_list::StatementList;
use crate::transaction::PgTransaction;
use std::collections::BTreeMap;
use workgraph_core::model::gid::Gid;
use workgraph_core::search::{IndexEntry, NodeWords};
use workgraph_core::storage::snapshot::{PrefixList, WordScan};

/// Parts of a node in which a word occurs.
const NAME: i16 = 1;
const NOTES: i16 = 2;

// The words stay if the stored entry has the same ones.
const DROP_WORDS: &str = "DELETE FROM word WHERE home = $1 AND kind = $2 AND gid = $3 \
    AND NOT EXISTS (SELECT 1 FROM card c WHERE c.home = $1 AND c.kind = $2 AND c.gid = $3 AND c.sum = $4)";
const PUT_WORDS: &str = "INSERT INTO word (home, kind, gid, term, parts) \
    SELECT $1, $2, $3, t.term, t.parts FROM unnest($5::text[], $6::smallint[]) t (term, parts) \
    WHERE NOT EXISTS (SELECT 1 FROM card c WHERE c.home = $1 AND c.kind = $2 AND c.gid = $3 AND c.sum = $4)";
/// Words of new nodes, which have none yet.
const PUT_NEW_WORDS: &str = "INSERT INTO word (home, kind, gid, term, parts) SELECT \
    unnest($1::bigint[]), unnest($2::smallint[]), unnest($3::bigint[]), unnest($4::text[]), unnest($5::smallint[])";

/// Condition that a node has a word in each of several ranges.
macro_rules! has_others {
    () => {
        " AND NOT EXISTS (SELECT 1 FROM unnest($6::text[], $7::text[]) q (first, last) \
        WHERE NOT EXISTS (SELECT 1 FROM word x WHERE x.home = $1 AND x.kind = $2 AND x.gid = w.gid \
        AND x.term >= q.first AND x.term <= q.last AND x.parts & $5 <> 0))"
    };
}
const WORD_UP: &str = concat!(
    "SELECT w.gid FROM word w WHERE w.home = $1 AND w.kind = $2 AND w.term = $3 AND w.gid > $4 AND w.parts & $5 <> 0",
    has_others!(),
    " ORDER BY w.gid LIMIT $8"
);
const WORD_DOWN: &str = concat!(
    "SELECT w.gid FROM word w WHERE w.home = $1 AND w.kind = $2 AND w.term = $3 AND w.gid < $4 AND w.parts & $5 <> 0",
    has_others!(),
    " ORDER BY w.gid DESC LIMIT $8"
);
const PREFIX_UP: &str = concat!(
    "SELECT DISTINCT w.gid FROM word w WHERE w.home = $1 AND w.kind = $2 AND w.term >= $3 AND w.term <= $9 \
    AND w.gid > $4 AND w.parts & $5 <> 0",
    has_others!(),
    " ORDER BY w.gid LIMIT $8"
);
const PREFIX_DOWN: &str = concat!(
    "SELECT DISTINCT w.gid FROM word w WHERE w.home = $1 AND w.kind = $2 AND w.term >= $3 AND w.term <= $9 \
    AND w.gid < $4 AND w.parts & $5 <> 0",
    has_others!(),
    " ORDER BY w.gid DESC LIMIT $8"
);
const LIST_PREFIX: &str = "SELECT w.gid, w.parts & $5 <> 0 FROM word w WHERE w.home = $1 AND w.kind = $2 \
    AND w.term >= $3 AND w.term <= $4 LIMIT $6";

/// Returns the parts that are searched.
const fn parts(names: bool) -> i16 {
    if names { NAME } else { NAME | NOTES }
}

/// Returns the last word that can begin with a prefix.
fn last_of(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

/// Returns the words of a node, each with the flags of the parts that contain it: `NAME`, `NOTES` or both.
pub(crate) fn word_parts(text: &NodeWords) -> BTreeMap<&str, i16> {
    let mut words: BTreeMap<&str, i16> = BTreeMap::new();
    for (list, part) in [(&text.name, NAME), (&text.notes, NOTES)] {
        for word in list {
            *words.entry(word).or_default() |= part;
        }
    }
    words
}

impl StatementList {
    /// Replaces the words of a node, unless its entry in the table already has the same ones; must be called before the entry is
    /// written.
    pub(crate) fn put_words(&mut self, entry: &IndexEntry, text: &NodeWords) {
        let words = word_parts(text);
        let (home, kind, gid) = (
            home(entry.workspace),
            i16::from(entry.ty as u8),
            entry.gid.as_i64(),
        );
        let node = || -> OwnedParams {
            vec![
                Box::new(home),
                Box::new(kind),
                Box::new(gid),
                Box::new(entry.words_hash),
            ]
        };
        self.add(DROP_WORDS, node());
        if words.is_empty() {
            return;
        }
        let (terms, parts): (Vec<String>, Vec<i16>) = words
            .into_iter()
            .map(|(term, parts)| (term.to_owned(), parts))
            .unzip();
        let mut params = node();
        params.push(Box::new(terms));
        params.push(Box::new(parts));
        self.add(PUT_WORDS, params);
    }

    pub(super) fn put_new_words(&mut self, entries: &[(&IndexEntry, &NodeWords)]) {
        let words: Vec<(&IndexEntry, &str, i16)> = entries
            .iter()
            .flat_map(|(entry, text)| {
                let words = word_parts(text).into_iter();
                words.map(|(term, parts)| (*entry, term, parts))
            })
            .collect();
        for some in words.chunks(ROWS_MAX) {
            let params: OwnedParams = vec![
                column(some, |(entry, ..)| home(entry.workspace)),
                column(some, |(entry, ..)| i16::from(entry.ty as u8)),
                column(some, |(entry, ..)| entry.gid.as_i64()),
                column(some, |(_, term, _)| (*term).to_owned()),
                column(some, |(.., parts)| *parts),
            ];
            self.add(PUT_NEW_WORDS, params);
        }
    }
}

impl PgTransaction<'_> {
    /// Visits the nodes that have all words of a scan.
    pub(super) fn word_matches(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), DatabaseError> {
        // The longest word is probably the rarest; it is read in order, and the others are looked up.
        let words = &scan.words.words;
        let Some(lead) = words.iter().max_by_key(|word| word.len()) else {
            return Ok(());
        };
        let last = |word: &String| match scan.words.match_prefixes {
            true => last_of(word),
            false => word.clone(),
        };
        let others: Vec<String> = words.iter().filter(|word| *word != lead).cloned().collect();
        let lasts: Vec<String> = others.iter().map(&last).collect();
        let outermost = if scan.descending { i64::MAX } else { 0 };
        let after = scan.after.map_or(outermost, Gid::as_i64);
        let (home, kind) = (home(scan.workspace), i16::from(scan.ty as u8));
        let parts = parts(scan.names || scan.words.names_only);
        let most = limit(scan.limit);
        let mut params = params![home, kind, lead.clone(), after, parts, others, lasts, most];
        let sql = match (scan.words.match_prefixes, scan.descending) {
            (false, false) => WORD_UP,
            (false, true) => WORD_DOWN,
            (true, false) => PREFIX_UP,
            (true, true) => PREFIX_DOWN,
        };
        if scan.words.match_prefixes {
            params.push(Param::Text(last(lead)));
        }
        for row in self.read(sql, params)?.iter() {
            each(gid(row, 0)?);
        }
        Ok(())
    }

    /// Visits the nodes that have a word with a prefix, once for each such word.
    pub(super) fn prefix_matches(
        &mut self,
        list: &PrefixList<'_>,
        each: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), DatabaseError> {
        let (home, kind) = (home(list.workspace), i16::from(list.ty as u8));
        let (first, last) = (list.prefix, last_of(list.prefix));
        let params = params![
            home,
            kind,
            first,
            last,
            parts(list.names),
            limit(list.limit)
        ];
        for row in self.read(LIST_PREFIX, params)?.iter() {
            each(gid(row, 0)?, row.try_get(1)?);
        }
        Ok(())
    }
}
