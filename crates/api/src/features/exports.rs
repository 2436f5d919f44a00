//! Exports: the port to their files, and the signed addresses under which clients download them.
pub mod export_files;
pub mod export_urls;
