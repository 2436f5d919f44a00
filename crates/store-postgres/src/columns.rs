//! Conversion of columns to values, and of values to parameters.
use crate::database_error::DatabaseError;
use tokio_postgres::Row;
use workgraph_core::model::gid::Gid;

/// Converts a limit to a parameter, clamped to `i64::MAX`.
pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Converts a number to a parameter, clamped to `i64::MAX`.
pub(crate) fn bound(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a number to a parameter.
pub(crate) fn whole(number: u64) -> Result<i64, DatabaseError> {
    i64::try_from(number)
        .map_err(|_| DatabaseError::Failed(format!("{number} is too large to be stored")))
}

fn unreadable(row: &Row, at: usize) -> DatabaseError {
    DatabaseError::unreadable(row.columns().get(at).map_or("", |column| column.name()))
}

/// Reads a gid from a column.
pub(crate) fn gid(row: &Row, at: usize) -> Result<Gid, DatabaseError> {
    Gid::from_i64(row.try_get(at)?).ok_or_else(|| unreadable(row, at))
}

/// Returns the gid in a column that may be null.
pub(crate) fn maybe_gid(row: &Row, at: usize) -> Result<Option<Gid>, DatabaseError> {
    let number: Option<i64> = row.try_get(at)?;
    number
        .map(|n| Gid::from_i64(n).ok_or_else(|| unreadable(row, at)))
        .transpose()
}

/// Returns the gid for a number; 0 means none.
pub(crate) fn gid_or_none(number: i64) -> Result<Option<Gid>, DatabaseError> {
    match number {
        0 => Ok(None),
        n => Gid::from_i64(n)
            .map(Some)
            .ok_or_else(|| DatabaseError::unreadable("gid")),
    }
}

/// Returns the number in a column, such as a sequence number, which is never below 0.
pub(crate) fn number(row: &Row, at: usize) -> Result<u64, DatabaseError> {
    u64::try_from(row.try_get::<_, i64>(at)?).map_err(|_| unreadable(row, at))
}

/// Reads a code from a column, such as that of a type.
pub(crate) fn code(row: &Row, at: usize) -> Result<u8, DatabaseError> {
    u8::try_from(row.try_get::<_, i16>(at)?).map_err(|_| unreadable(row, at))
}
