//! Exports: the port to their files, and the signed addresses for downloading them.
pub mod export_files;
pub mod export_urls;
