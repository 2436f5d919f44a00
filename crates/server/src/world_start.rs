//! The start of a world over a store that is open, and the maintenance of it.
pub(crate) mod attachment_files;
pub(crate) mod first_start;
pub(crate) mod maintenance;
pub(crate) mod prepared_world;
