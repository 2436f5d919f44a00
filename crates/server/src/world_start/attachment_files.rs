//! The attachment files at startup: a folder, or a bucket.
use crate::adapters::blob_bucket::{BlobBucket, OwnedByAnother};
use crate::adapters::blob_folder::BlobFolder;
use crate::adapters::data_dir;
use crate::config::{Config, exposure};
use crate::server_resources::ServerResources;
use anyhow::{Result, bail};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workgraph_api::Clock;
use workgraph_api::ports::blob_store::BlobStore;

/// Timeout of the bucket at startup.
const BUCKET_WAIT: Duration = Duration::from_secs(5);

/// Refuses a database that nodes share if there is no folder for shared files, or other users can change the files in
/// that folder.
pub(crate) fn check_shared_files(config: &Config) -> Result<()> {
    let folder = config.database.shared_files.as_str();
    if config.database.url.is_empty() {
        return Ok(());
    }
    if Path::new(folder).is_dir() {
        let folder = Path::new(folder);
        return data_dir::require_unwritable_by_others(folder, data_dir::SHARED_FILES, "o-w");
    }
    let use_of_it = "all nodes of the database share it, for files of exports, and for those of attachments if no bucket is set";
    if folder.is_empty() {
        bail!(
            "the store is a database, and --shared-files (store.shared_files) names no folder: {use_of_it}"
        );
    }
    bail!("--shared-files {folder}: there is no such folder; make it, or mount it ({use_of_it})")
}

/// Returns the store of attachment files: the bucket, if one is set, else a folder.
///
/// # Errors
/// Fails if the bucket settings are wrong, or the bucket contains the files of another server. If the bucket does not
/// answer, logs a warning: it is claimed once it answers.
pub(crate) async fn blob_store(
    config: &Config,
    clock: Arc<dyn Clock>,
    resources: &ServerResources,
) -> Result<Arc<dyn BlobStore>> {
    let folder = BlobFolder::new(config.files_folder());
    if config.bucket.endpoint.0.is_empty() {
        return Ok(Arc::new(folder));
    }
    let upload_max = config.api.upload_max;
    let owner = resources.bucket_owner().await?;
    let bucket = BlobBucket::new(&config.bucket, config.folder(), owner, clock, upload_max)?;
    let bucket = Arc::new(bucket);
    if exposure::is_plain(&config.bucket.endpoint.0) {
        tracing::warn!(
            "the address of the bucket is neither https nor this machine's: files of attachments cross the network readable"
        );
    }
    // The server does not wait long: without a bucket everything but files works.
    let checked = tokio::time::timeout(BUCKET_WAIT, bucket.check()).await;
    if let Err(error) = checked.unwrap_or_else(|late| Err(late.into())) {
        if error.is::<OwnedByAnother>() {
            return Err(error);
        }
        tracing::warn!(
            reason = format!("{error:#}"),
            "the bucket of attachments cannot be listed; uploads and downloads will fail"
        );
    }
    if folder.exists() {
        tracing::warn!(
            "there are files of attachments in the data folder, which are not looked for there while a bucket is set"
        );
    }
    Ok(bucket)
}
