//! Audit log in a file: every act has its row, and all tampering is detected.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]
mod acts;
mod tampering;

use std::path::Path;
use workgraph_store_sqlite::{SqliteStore, StoreOptions};

pub(crate) fn open(path: &Path) -> SqliteStore {
    // The write-ahead log is never copied into the database, so that each of its commits can be cut off.
    let options = StoreOptions {
        checkpoints: false,
        ..StoreOptions::default()
    };
    SqliteStore::open(path, options).unwrap()
}
