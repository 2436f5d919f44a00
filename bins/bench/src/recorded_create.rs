//! The rows of one create, as the server wrote them, and a group commit of copies of these rows.

use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::measure::Figure;
use crate::sqlite_baseline;

/// Tables that a create writes to, each with the condition that finds its rows by the commit sequence number.
const TABLES: [(&str, &str); 4] = [
    ("node", "seq = ?1"),
    ("edge", "seq = ?1"),
    ("journal", "seq = ?1"),
    ("card", "gid IN (SELECT gid FROM node WHERE seq = ?1)"),
];

/// Statements that create the tables, with their indexes.
const SCHEMA: &str = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL
    AND tbl_name IN ('node', 'edge', 'journal', 'card', 'words') ORDER BY rowid";

/// Commit of the newest node of the type with the most index entries, which is the task.
const NEWEST: &str = "SELECT seq FROM node WHERE gid = (SELECT max(gid) FROM card
    WHERE kind = (SELECT kind FROM card GROUP BY kind ORDER BY count(*) DESC LIMIT 1))";

/// Value of a row.
enum CopiedValue {
    /// The same in every copy.
    Same(Value),
    /// Value that increases by this amount with each copy: a gid of the copy, a commit sequence number, a rank.
    Next(i64, i64),
}

/// Rows written by one create, with the schema of their tables.
pub(crate) struct RecordedCreate {
    schema: Vec<String>,
    rows: Vec<(String, Vec<CopiedValue>)>,
}

impl RecordedCreate {
    /// Reads the newest create from the server's data folder.
    pub(crate) fn read(data: &Path) -> Result<Self> {
        let path = data.join("workgraph.db");
        let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let texts = |sql: &str| -> Result<Vec<String>> {
            let mut all = file.prepare(sql)?;
            let all = all.query_map([], |row| row.get(0))?;
            Ok(all.collect::<rusqlite::Result<_>>()?)
        };
        let seq: i64 = file.query_row(NEWEST, [], |row| row.get(0))?;
        let mut own = BTreeSet::new();
        let mut gids = file.prepare("SELECT gid FROM node WHERE seq = ?1")?;
        for gid in gids.query_map([seq], |row| row.get::<_, i64>(0))? {
            own.insert(gid?);
        }
        // The gids of one create are not always consecutive, and those of two copies must differ.
        let ends = own.first().zip(own.last());
        let apart = ends.map_or(1, |(first, last)| last - first + 1);
        let mut rows = Vec::new();
        for (table, of) in TABLES {
            let mut found = file.prepare(&format!("SELECT * FROM {table} WHERE {of}"))?;
            let names: Vec<String> = found.column_names().map(str::to_owned).collect();
            let insert = insert(table, &names);
            let mut found = found.query([seq])?;
            while let Some(row) = found.next()? {
                let cell = |(at, name): (usize, &String)| {
                    Ok(match row.get(at)? {
                        Value::Integer(n) if own.contains(&n) => CopiedValue::Next(n, apart),
                        Value::Integer(n) if name == "seq" || name == "rank" => {
                            CopiedValue::Next(n, 1)
                        }
                        value => CopiedValue::Same(value),
                    })
                };
                let cells: rusqlite::Result<Vec<CopiedValue>> =
                    names.iter().enumerate().map(cell).collect();
                rows.push((insert.clone(), cells?));
            }
        }
        // The words of an index entry can't be read back, so these have the same number and length as those of a name.
        let card = "SELECT gid, home || 'x' || kind FROM card WHERE gid IN (SELECT gid FROM node WHERE seq = ?1)";
        let mut cards = file.prepare(card)?;
        for card in cards.query_map([seq], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))? {
            let (gid, prefix): (i64, String) = card?;
            let name = format!("{prefix}benchmark {prefix}task {prefix}number").into();
            let cells = vec![
                CopiedValue::Next(gid, apart),
                CopiedValue::Same(name),
                CopiedValue::Same(String::new().into()),
            ];
            let names = ["rowid", "name", "notes"].map(str::to_owned);
            rows.push((insert("words", &names), cells));
        }
        Ok(Self {
            schema: texts(SCHEMA)?,
            rows,
        })
    }

    /// Commits copies to a new file for a time, with the given number per commit; the rate counts creates.
    pub(crate) fn run(&self, folder: &Path, time: Duration, group: i64) -> Result<Figure> {
        let path = folder.join("bare-creates.sqlite");
        let mut connection = sqlite_baseline::open_existing(&path)?;
        for sql in &self.schema {
            connection.execute_batch(sql)?;
        }
        let mut next = 1;
        let commits = sqlite_baseline::timed(time, || {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for copy in next..next + group {
                for (insert, cells) in &self.rows {
                    let mut insert = change.prepare_cached(insert)?;
                    for (at, cell) in cells.iter().enumerate() {
                        match cell {
                            CopiedValue::Same(value) => insert.raw_bind_parameter(at + 1, value)?,
                            CopiedValue::Next(n, step) => {
                                insert.raw_bind_parameter(at + 1, n + copy * step)?;
                            }
                        }
                    }
                    insert.raw_execute()?;
                }
            }
            change.commit()?;
            next += group;
            Ok(0)
        })?;
        drop(connection);
        sqlite_baseline::discard(&path);
        Ok(commits.times(group as f64))
    }
}

/// Returns the statement that inserts a row.
fn insert(table: &str, names: &[String]) -> String {
    let places = vec!["?"; names.len()].join(", ");
    format!(
        "INSERT INTO {table} ({}) VALUES ({places})",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_row_of_the_newest_create_is_copied() {
        let folder = std::env::temp_dir().join(format!("workgraph-copies-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = Connection::open(folder.join("workgraph.db")).unwrap();
        file.execute_batch(
            "CREATE TABLE node (gid INTEGER PRIMARY KEY, seq INTEGER, head TEXT);
             CREATE TABLE edge (src INTEGER, dst INTEGER, rank INTEGER, seq INTEGER, PRIMARY KEY (src, dst)) WITHOUT ROWID;
             CREATE INDEX edge_in ON edge (dst, rank);
             CREATE TABLE journal (seq INTEGER PRIMARY KEY, facts TEXT);
             CREATE TABLE card (home INTEGER, kind INTEGER, gid INTEGER PRIMARY KEY);
             CREATE VIRTUAL TABLE words USING fts5(name, notes, content='', contentless_delete=1);
             INSERT INTO node VALUES (7, 1, 'old'), (20, 2, 'task'), (8212, 2, 'story'), (30, 3, 'field');
             INSERT INTO edge VALUES (20, 7, 5, 2), (8212, 20, 6, 2), (30, 7, 9, 3);
             INSERT INTO journal VALUES (1, 'a'), (2, 'b'), (3, 'c');
             INSERT INTO card VALUES (1, 4, 19), (1, 4, 20), (1, 9, 30);",
        )
        .unwrap();
        let create = RecordedCreate::read(&folder).unwrap();
        let tables: Vec<&str> = create
            .rows
            .iter()
            .filter_map(|r| r.0.split(' ').nth(2))
            .collect();
        assert_eq!(
            tables,
            ["node", "node", "edge", "edge", "journal", "card", "words"]
        );
        let figure = create.run(&folder, Duration::from_millis(5), 3).unwrap();
        assert!(figure.rate > 0.0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
