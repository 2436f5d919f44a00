//! Files of exports: the port through which jobs write them, and their retention times.
use async_trait::async_trait;
use std::time::Duration;
use thiserror::Error;
use workgraph_core::Gid;
use workgraph_core::jobs::FileEnd;
use workgraph_core::jobs::FileOutput;

/// Lifetime of a download URL.
pub const DOWNLOAD_URL_LIFETIME: Duration = Duration::from_secs(3600);
/// Time after the end of an export during which replies contain download URLs of its file.
pub const DOWNLOAD_OFFER_PERIOD: Duration = Duration::from_secs(24 * 3600);
/// Time after the end of a resource export during which replies contain download URLs of its file.
pub const RESOURCE_DOWNLOAD_OFFER_PERIOD: Duration = Duration::from_secs(30 * 24 * 3600);
/// Time for which the file is kept after its last write.
pub const EXPORT_RETENTION: Duration =
    DOWNLOAD_OFFER_PERIOD.saturating_add(DOWNLOAD_URL_LIFETIME.saturating_mul(2));
/// Time for which the file of a resource export is kept after its last write.
pub const RESOURCE_EXPORT_RETENTION: Duration =
    RESOURCE_DOWNLOAD_OFFER_PERIOD.saturating_add(DOWNLOAD_URL_LIFETIME.saturating_mul(2));

/// Reason why a file was not written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExportWriteError {
    /// A job with a higher fencing token has written since.
    #[error("another runner writes the file")]
    StaleFencingToken,
    /// The file cannot be written; the text is the reason.
    #[error("{0}")]
    Failed(String),
}

/// Store of the files that exports are written to.
#[async_trait]
pub trait ExportFiles: Send + Sync {
    /// Truncates the file at the position given by `output`, appends, and returns when the appended bytes are durable. With
    /// `ends` the file is then complete and can be read. The same output may be appended again, even after the end.
    ///
    /// # Errors
    /// Fails when a higher fencing token was seen, or the file cannot be written.
    async fn append(&self, output: FileOutput<'_>) -> Result<FileEnd, ExportWriteError>;

    /// Removes a file, if it exists.
    async fn remove(&self, file: Gid);
}

/// Returns the name of a file in its address.
#[must_use]
pub fn file_name(of: Gid) -> String {
    format!("{of}.json.gz")
}
