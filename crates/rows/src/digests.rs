//! Digests of rows, tables and stores: equal for equal data, independent of the engine and the order of the rows.
//!
//! The digest of a table is the XOR of the SHA-256 digests of its rows, so the order does not matter; rows differ in their keys,
//! so no two cancel out. It detects accidental differences between copies; the audit log protects against tampering.
use crate::ports::{RowReader, RowsError};
use crate::tables::{TABLES, Table};
use crate::values::{Row, Value};
use ring::digest::{Context, SHA256};
use std::fmt::Write;

/// Rows read at once.
pub(crate) const PAGE: usize = 1_000;

const ROW: &[u8] = b"workgraph row 1\0";
const STORE: &[u8] = b"workgraph store 1\0";

/// Digest of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableDigest {
    /// Name of the table.
    pub table: &'static str,
    /// Number of its rows.
    pub rows: u64,
    /// Digest of its rows; zeros without rows.
    pub digest: [u8; 32],
}

/// Digests of all tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreDigest {
    /// Digest of each table, in the order of [`TABLES`].
    pub tables: Vec<TableDigest>,
}

impl TableDigest {
    /// Returns the digest of a table without rows.
    #[must_use]
    pub const fn empty(table: &Table) -> Self {
        Self {
            table: table.name,
            rows: 0,
            digest: [0; 32],
        }
    }

    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        self.rows += 1;
        for (sum, byte) in self.digest.iter_mut().zip(row_digest(self.table, row)) {
            *sum ^= byte;
        }
    }

    /// Returns the digest in hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> String {
        hex(&self.digest)
    }
}

impl StoreDigest {
    /// Returns one digest for all tables.
    #[must_use]
    pub fn total(&self) -> [u8; 32] {
        let mut sum = Context::new(&SHA256);
        sum.update(STORE);
        for table in &self.tables {
            sum.update(table.table.as_bytes());
            sum.update(&[0]);
            sum.update(&table.rows.to_be_bytes());
            sum.update(&table.digest);
        }
        finished(sum)
    }

    /// Compares these digests with the digests of a copy.
    ///
    /// # Errors
    /// Fails if a table differs; the error names the first one.
    pub fn compare(&self, copy: &Self) -> Result<(), RowsError> {
        let differing = self.tables.iter().zip(&copy.tables).find(|(a, b)| a != b);
        match differing {
            None => Ok(()),
            Some((source, target)) => Err(RowsError::Different {
                table: source.table,
                source_rows: source.rows,
                source_digest: source.hex(),
                target_rows: target.rows,
                target_digest: target.hex(),
            }),
        }
    }
}

/// Returns the digests of a store.
///
/// # Errors
/// Fails if it cannot be read.
pub fn digest(reader: &mut dyn RowReader) -> Result<StoreDigest, RowsError> {
    let mut tables = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        let mut sum = TableDigest::empty(table);
        each_page(reader, table, &mut |rows| {
            rows.iter().for_each(|row| sum.add(row));
            Ok(())
        })?;
        tables.push(sum);
    }
    Ok(StoreDigest { tables })
}

/// Visits all rows of a table, page by page.
pub(crate) fn each_page(
    reader: &mut dyn RowReader,
    table: &'static Table,
    each: &mut dyn FnMut(&[Row]) -> Result<(), RowsError>,
) -> Result<(), RowsError> {
    let mut last = None;
    loop {
        let mut rows = reader.rows(table, last.as_ref(), PAGE)?;
        if rows.is_empty() {
            return Ok(());
        }
        each(&rows)?;
        last = rows.pop();
    }
}

/// Returns the digest of a row: over the name of its table, and the kind, length and bytes of each value.
fn row_digest(table: &str, row: &Row) -> [u8; 32] {
    let mut sum = Context::new(&SHA256);
    sum.update(ROW);
    sum.update(table.as_bytes());
    for value in row {
        let integer;
        let (kind, bytes): (u8, &[u8]) = match value {
            Value::Null => (0, &[]),
            Value::Integer(number) => {
                integer = number.to_be_bytes();
                (1, &integer)
            }
            Value::Text(text) => (2, text.as_bytes()),
            Value::Blob(bytes) => (3, bytes),
        };
        sum.update(&[0, kind]);
        sum.update(&(bytes.len() as u64).to_be_bytes());
        sum.update(bytes);
    }
    finished(sum)
}

fn finished(sum: Context) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(sum.finish().as_ref());
    digest
}

/// Returns bytes in hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::TABLES;

    fn sum(rows: &[Row]) -> TableDigest {
        let mut sum = TableDigest::empty(TABLES.first().unwrap());
        rows.iter().for_each(|row| sum.add(row));
        sum
    }

    #[test]
    fn a_digest_depends_on_every_value_and_its_kind_and_not_on_the_order_of_rows() {
        let row = |key: &str, value: Value| vec![Value::Text(key.into()), value];
        let (a, b) = (row("a", Value::Integer(1)), row("b", Value::Integer(2)));
        assert_eq!(sum(&[a.clone(), b.clone()]), sum(&[b.clone(), a.clone()]));
        let others = [
            sum(&[]),
            sum(std::slice::from_ref(&a)),
            sum(&[row("a", Value::Integer(2)), row("b", Value::Integer(1))]),
            sum(&[row("a", Value::Text("1".into())), b.clone()]),
            sum(&[row("a", Value::Blob(b"1".to_vec())), b.clone()]),
            sum(&[row("a", Value::Null), b.clone()]),
            sum(&[row("a", Value::Text(String::new())), b.clone()]),
            sum(&[a, b]),
        ];
        for (at, one) in others.iter().enumerate() {
            for other in others.iter().skip(at + 1) {
                assert_ne!(one.digest, other.digest);
            }
        }
        // Text moved from one value to the next changes the digest.
        let joined = |x: &str, y: &str| sum(&[vec![Value::Text(x.into()), Value::Text(y.into())]]);
        assert_ne!(joined("ab", "c").digest, joined("a", "bc").digest);
    }
}
