//! Commands on all data of a store: digests, restoring from an archive, moving to another store.
mod archive_claim;
pub(crate) mod archive_restore;
mod backup_restore;
pub(crate) mod data_digest;
mod data_files;
pub(crate) mod hosted_files;
mod move_files;
mod move_progress;
mod move_values;
pub(crate) mod store_move;
