//! Commands on the data as a whole: digests, restoring from an archive, moving to another store.
pub(crate) mod archive_restore;
pub(crate) mod data_digest;
mod data_files;
mod move_files;
mod move_progress;
mod move_values;
pub(crate) mod store_move;
