//! Parameters of reads as values, so that a read can be remembered and made later.
use tokio_postgres::types::ToSql;

/// Parameters of a statement.
pub(crate) type Params<'p> = &'p [&'p (dyn ToSql + Sync)];
/// Parameters that a statement takes along.
pub(crate) type OwnedParams = Vec<Box<dyn ToSql + Send + Sync>>;

/// Parameter of a read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Param {
    Big(i64),
    Int(i32),
    Small(i16),
    Text(String),
    Bytes(Vec<u8>),
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
            Self::Texts(value) => value,
            Self::Flags(value) => value,
        }
    }

    /// Returns parameters in the form that a statement takes.
    pub(crate) fn all(params: &[Self]) -> Vec<&(dyn ToSql + Sync)> {
        params.iter().map(Self::value).collect()
    }
}

/// Makes a list of parameters.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::params::Param::from($value)),*]
    };
}
pub(crate) use params;
