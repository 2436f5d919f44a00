//! Exports: the port to their files, and the signed addresses under which clients download them.
pub mod download_urls;
pub mod export_files;
