//! Copying of a store into another one.
use crate::digests::{PAGE, StoreDigest, TableDigest, digest, each_page};
use crate::ports::{RowReader, RowWriter, RowsError};
use crate::tables::TABLES;

/// Progress of a copy: the current step, and the rows copied so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyProgress {
    /// Step: the name of the table, `indexes`, or `comparison`.
    pub step: &'static str,
    /// Rows copied so far, of all tables.
    pub copied: u64,
    /// Rows to copy; index rows are counted by their nodes.
    pub total: u64,
}

/// Result of a copy that is complete and equal to its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyOutcome {
    /// Digests, which are the same for the source and the copy.
    pub digest: StoreDigest,
    /// Number of nodes whose index rows were created.
    pub indexed: u64,
}

/// Copies all rows, creates the index rows, compares the digests, and only then makes the copy visible. `progress` is called
/// after each page.
///
/// # Errors
/// Fails if the target has rows, the source cannot be read, a value does not fit the target, or the copy differs. Nothing of the
/// copy is visible then.
pub fn copy(
    source: &mut dyn RowReader,
    mut target: Box<dyn RowWriter + '_>,
    progress: &mut dyn FnMut(CopyProgress),
) -> Result<CopyOutcome, RowsError> {
    let mut total = 0;
    for table in TABLES {
        if !target.rows(table, None, 1)?.is_empty() {
            return Err(RowsError::NotEmpty(table.name));
        }
        total += source.count(table)?;
        if table.name == "node" {
            // Each node is counted once more for its index rows.
            total += source.count(table)?;
        }
    }
    let (mut copied, mut tables) = (0, Vec::with_capacity(TABLES.len()));
    for table in TABLES {
        let mut sum = TableDigest::empty(table);
        each_page(source, table, &mut |rows| {
            rows.iter().for_each(|row| sum.add(row));
            target.write(table, rows)?;
            copied += rows.len() as u64;
            progress(CopyProgress {
                step: table.name,
                copied,
                total,
            });
            Ok(())
        })?;
        tables.push(sum);
    }
    let (mut last, mut indexed) = (None, 0);
    loop {
        let nodes = source.indexes(last, PAGE)?;
        let Some(end) = nodes.last() else { break };
        last = Some(end.node);
        target.write_indexes(&nodes)?;
        indexed += nodes.len() as u64;
        let copied = total.min(copied + indexed);
        progress(CopyProgress {
            step: "indexes",
            copied,
            total,
        });
    }
    progress(CopyProgress {
        step: "comparison",
        copied: total,
        total,
    });
    let of_source = StoreDigest { tables };
    of_source.compare(&digest(&mut *target)?)?;
    target.finish()?;
    Ok(CopyOutcome {
        digest: of_source,
        indexed,
    })
}
