//! Adapters of the ports: clock, data folder, stores, attachment and export files, signing keys, user and workspace
//! directories, and the HTTP client for webhooks.
pub(crate) mod backup;
pub(crate) mod blob_bucket;
#[cfg(test)]
mod blob_conformance;
pub(crate) mod blob_folder;
pub(crate) mod data_dir;
pub(crate) mod export_folder;
#[cfg(debug_assertions)]
pub(crate) mod fault_injection;
pub(crate) mod folder_use;
pub(crate) mod gzip;
pub(crate) mod key_files;
pub(crate) mod postgres_node;
pub(crate) mod private_values;
pub(crate) mod process_figures;
pub(crate) mod published_key;
pub(crate) mod sealed_webhooks;
pub(crate) mod shared_limits;
pub(crate) mod signing_key_store;
pub(crate) mod stores;
pub(crate) mod system_clock;
pub(crate) mod tls_client;
pub(crate) mod user_directory;
pub(crate) mod webhook_client;
