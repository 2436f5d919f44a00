//! Start of a world over an open store, and its maintenance.
pub(crate) mod attachment_files;
pub(crate) mod first_start;
pub(crate) mod maintenance;
pub(crate) mod prepared_world;
