//! Report of an integrity check.
use rusqlite::{Connection, Row};

/// Maximum number of problems that are listed; further ones are only counted.
const NAMED: usize = 100;

/// Problems found so far.
#[derive(Default)]
pub(super) struct IntegrityReport {
    named: Vec<String>,
    more: usize,
}

impl IntegrityReport {
    /// Adds a problem.
    pub(super) fn add(&mut self, problem: String) {
        if self.named.len() < NAMED {
            self.named.push(problem);
        } else {
            self.more += 1;
        }
    }

    /// Returns true if no problem was found so far.
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Returns the problems, and the number of those that are not listed.
    pub(super) fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.named.push(format!("and {} more problems", self.more));
        }
        self.named
    }
}

/// Reads every row of a statement.
pub(super) fn each(
    conn: &Connection,
    sql: &str,
    mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut stmt = conn.prepare(sql)?;
    let mut rows = stmt.query([])?;
    while let Some(row) = rows.next()? {
        read(row)?;
    }
    Ok(())
}
