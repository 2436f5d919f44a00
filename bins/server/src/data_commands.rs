//! Commands on the data as a whole: digests, restoring from an archive, moving to another store.
pub(crate) mod data_digest;
