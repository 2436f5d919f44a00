//! Values of columns, and the rows that they form.
use crate::tables::ColumnKind;

/// Value of a column.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// Whole number.
    Integer(i64),
    /// Text in UTF-8.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// Row: a value for each column of its table, in their order.
pub type Row = Vec<Value>;

impl Value {
    /// Returns true if a column of this kind can hold the value.
    #[must_use]
    pub const fn is_of(&self, kind: ColumnKind) -> bool {
        matches!(
            (self, kind),
            (Self::Integer(_), ColumnKind::Integer)
                | (Self::Text(_), ColumnKind::Text)
                | (Self::Blob(_), ColumnKind::Blob)
        )
    }

    /// Returns the number of bytes of the value, roughly.
    #[must_use]
    pub const fn size(&self) -> usize {
        match self {
            Self::Null => 1,
            Self::Integer(_) => 8,
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }
}
