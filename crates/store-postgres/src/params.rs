//! Parameters of reads as values, so that a read can be stored and made later.
use crate::columns::whole;
use crate::database_error::DatabaseError;
use tokio_postgres::types::ToSql;

/// Parameters of a statement.
pub(crate) type Params<'p> = &'p [&'p (dyn ToSql + Sync)];
/// Parameters that a statement owns.
pub(crate) type OwnedParams = Vec<Box<dyn ToSql + Send + Sync>>;

/// Returns parameters as a statement takes them.
pub(crate) fn borrowed(params: &OwnedParams) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|param| &**param as _).collect()
}

/// Creates [`OwnedParams`] from values.
macro_rules! owned_params {
    ($($value:expr),* $(,)?) => {
        vec![$(Box::new($value) as Box<dyn tokio_postgres::types::ToSql + Send + Sync>),*]
    };
}
pub(crate) use owned_params;

/// Maximum number of rows of one statement that writes arrays.
pub(crate) const ROWS_MAX: usize = 4_096;

/// Returns one value of each row, as an array.
pub(crate) fn column<R, T>(rows: &[R], value: impl Fn(&R) -> T) -> Box<dyn ToSql + Send + Sync>
where
    T: ToSql + Send + Sync + 'static,
{
    Box::new(rows.iter().map(value).collect::<Vec<T>>())
}

/// Returns one number of each row, as an array.
///
/// # Errors
/// Fails if a number is too large to be stored.
pub(crate) fn numbers<R>(
    rows: &[R],
    value: impl Fn(&R) -> u64,
) -> Result<Box<dyn ToSql + Send + Sync>, DatabaseError> {
    let numbers = rows.iter().map(|row| whole(value(row)));
    Ok(Box::new(numbers.collect::<Result<Vec<i64>, _>>()?))
}

/// Parameter of a read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Param {
    Big(i64),
    Int(i32),
    Small(i16),
    Text(String),
    Bytes(Vec<u8>),
    Bigs(Vec<i64>),
    Smalls(Vec<i16>),
    Texts(Vec<String>),
    Flags(Vec<bool>),
}

macro_rules! param_from {
    ($($ty:ty => $variant:ident),* $(,)?) => {
        $(impl From<$ty> for Param {
            fn from(value: $ty) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

param_from! {
    i64 => Big,
    i32 => Int,
    i16 => Small,
    String => Text,
    Vec<u8> => Bytes,
    Vec<String> => Texts,
    Vec<bool> => Flags,
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Param {
    fn value(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Big(value) => value,
            Self::Int(value) => value,
            Self::Small(value) => value,
            Self::Text(value) => value,
            Self::Bytes(value) => value,
            Self::Bigs(value) => value,
            Self::Smalls(value) => value,
            Self::Texts(value) => value,
            Self::Flags(value) => value,
        }
    }

    /// Returns an empty array for values like this one, if its kind has arrays.
    pub(crate) const fn array(&self) -> Option<Self> {
        Some(match self {
            Self::Big(_) => Self::Bigs(Vec::new()),
            Self::Small(_) => Self::Smalls(Vec::new()),
            _ => return None,
        })
    }

    /// Adds a value to an array of its kind.
    pub(crate) fn push(&mut self, value: &Self) {
        match (self, value) {
            (Self::Bigs(values), Self::Big(value)) => values.push(*value),
            (Self::Smalls(values), Self::Small(value)) => values.push(*value),
            _ => {}
        }
    }

    /// Returns parameters in the form that a statement takes.
    pub(crate) fn all(params: &[Self]) -> Vec<&(dyn ToSql + Sync)> {
        params.iter().map(Self::value).collect()
    }
}

/// Creates a list of parameters.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::params::Param::from($value)),*]
    };
}
pub(crate) use params;
