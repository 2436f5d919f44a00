//! Storage of the graph, its journal, tokens and audit log in one SQLite file.
#![doc = include_str!("../README.md")]
mod archive;
mod archive_error;
mod backup;
mod build_flags;
mod cache;
mod connection_setup;
mod edge_list;
mod folder_lock;
mod integrity;
mod linked_files;
mod log_folding;
mod migrations;
mod open_error;
mod page_copy;
mod ports;
mod read_watchdog;
mod reader_pool;
mod restore;
mod rows;
mod secret_resealing;
mod sqlite_store;
mod statements;
mod tables;
mod token_alias;
mod transaction;
mod wal_checkpoint;
mod writer;

pub use archive::{
    ArchiveClock, ArchiveDirectory, ArchiveError, ArchiveFolder, ArchiveOptions, ArchiveStats,
};
pub use backup::ReadOnlyStore;
pub use build_flags::{build_flags, missing_build_flags};
pub use connection_setup::StoreOptions;
pub use folder_lock::FolderLock;
pub use linked_files::CopyMethod;
pub use open_error::StoreOpenError;
pub use restore::{Restored, restore as restore_archive};
pub use rows::{SqliteRowReader, SqliteRowWriter};
pub use secret_resealing::KeyCheck;
pub use sqlite_store::{SqliteStore, StoreStats};
pub use token_alias::TokenAlias;
