//! Tables of a store as rows, the same for every engine.
#![doc = include_str!("../README.md")]
pub mod audited_acts;
pub mod copying;
pub mod digests;
pub mod ports;
pub mod tables;
pub mod values;

pub use audited_acts::ActEntry;
pub use copying::{CopyOutcome, CopyProgress, copy};
pub use digests::{StoreDigest, TableDigest, digest};
pub use ports::{NodeIndexes, RowReader, RowWriter, RowsError};
pub use tables::{
    Column, ColumnContent, ColumnKind, DERIVED_COLUMNS, DERIVED_TABLES, TABLES, Table,
};
pub use values::{Row, Value};
