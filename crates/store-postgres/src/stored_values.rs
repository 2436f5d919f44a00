//! Conversion between columns and the numbers, times and texts of this program.
use crate::database_error::DatabaseError;
use std::borrow::Cow;
use std::time::SystemTime;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use workgraph_auth::SecretDigest;
use workgraph_core::model::time::Time;

/// Returns the error of a column that does not contain a `what`.
pub(crate) fn not_a(column: usize, what: &str) -> DatabaseError {
    DatabaseError::Failed(format!(
        "column {column} of a row is not a {what} this program knows"
    ))
}

/// Result of reading a column.
pub(crate) type Stored<T> = Result<T, DatabaseError>;

/// Returns the value in a column.
pub(crate) fn get<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Stored<T> {
    row.try_get(at)
        .map_err(|error| DatabaseError::Failed(format!("column {at} of a row: {error}")))
}

/// Returns the number in a column that may be null.
pub(crate) fn maybe_number(row: &Row, at: usize) -> Stored<Option<u64>> {
    let n: Option<i64> = get(row, at)?;
    n.map(u64::try_from)
        .transpose()
        .map_err(|_| not_a(at, "number"))
}

/// Returns the number in a column, in a smaller type than the table's.
pub(crate) fn small<T: TryFrom<i64>>(row: &Row, at: usize) -> Stored<T> {
    T::try_from(get(row, at)?).map_err(|_| not_a(at, "number"))
}

/// Returns the time in a column, which is in milliseconds.
pub(crate) fn time(row: &Row, at: usize) -> Stored<SystemTime> {
    get(row, at).map(|ms| Time::from_millis(ms).to_system())
}

/// Returns the time in a column that may be null.
pub(crate) fn maybe_time(row: &Row, at: usize) -> Stored<Option<SystemTime>> {
    let ms: Option<i64> = get(row, at)?;
    Ok(ms.map(|ms| Time::from_millis(ms).to_system()))
}

/// Returns the 32 bytes in a column.
pub(crate) fn bytes32(row: &Row, at: usize) -> Stored<[u8; 32]> {
    let bytes: &[u8] = get(row, at)?;
    <[u8; 32]>::try_from(bytes).map_err(|_| not_a(at, "digest"))
}

/// Reads a digest from a column.
pub(crate) fn digest(row: &Row, at: usize) -> Stored<SecretDigest> {
    bytes32(row, at).map(SecretDigest)
}

/// Returns the text in a column that was stored with [`text_to_store`].
pub(crate) fn text(row: &Row, at: usize) -> Stored<String> {
    get(row, at).map(stored_text)
}

/// Returns the text in a column that may be null and was stored with [`text_to_store`].
pub(crate) fn maybe_text(row: &Row, at: usize) -> Stored<Option<String>> {
    let text: Option<&str> = get(row, at)?;
    Ok(text.map(stored_text))
}

/// Converts a time to its stored form, in milliseconds.
pub(crate) fn millis(at: SystemTime) -> i64 {
    Time::from_system(at).millis()
}

/// Character that begins an escape in a stored text.
const ESCAPE: char = '\u{1}';

/// Converts a text to its stored form. PostgreSQL cannot store the character U+0000 in a text, but people and programs may send
/// one: it is stored as U+0001 and `0`, and U+0001 itself as U+0001 and `1`. Almost no text is changed.
pub(crate) fn text_to_store(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 2);
    for c in text.chars() {
        match c {
            '\0' => stored.extend([ESCAPE, '0']),
            ESCAPE => stored.extend([ESCAPE, '1']),
            other => stored.push(other),
        }
    }
    Cow::Owned(stored)
}

/// Converts a stored text back to the original.
pub(crate) fn stored_text(stored: &str) -> String {
    if !stored.contains(ESCAPE) {
        return stored.to_owned();
    }
    let mut text = String::with_capacity(stored.len());
    let mut chars = stored.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            ESCAPE => match chars.next() {
                Some('0') => '\0',
                _ => ESCAPE,
            },
            other => other,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_is_stored_with_a_zero() {
        for text in [
            "",
            "plain «Ω»",
            "\0",
            "a\0b",
            "\u{1}",
            "\u{1}0",
            "\u{1}1\0",
            "\0\u{1}",
        ] {
            let stored = text_to_store(text);
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(stored_text(&stored), text);
        }
        assert!(matches!(text_to_store("plain"), Cow::Borrowed(_)));
    }
}
