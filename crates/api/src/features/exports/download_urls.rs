//! Files of exports: the port through which jobs write them, and the addresses for downloading them.
use crate::pipeline::Api;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_core::Gid;
use workgraph_core::jobs::FileOutput;
use workgraph_core::jobs::tree_export::FileEnd;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;
use workgraph_core::model::time::Time;
use workgraph_core::projection::projector;
use workgraph_wire::TicketError;

/// Lifetime of a download URL.
pub const DOWNLOAD_URL_LIFETIME: Duration = Duration::from_secs(3600);
/// Time after the end of an export in which replies contain download URLs of its file.
pub const DOWNLOAD_OFFER_PERIOD: Duration = Duration::from_secs(24 * 3600);
/// The same time for exports of resources.
pub const RESOURCE_DOWNLOAD_OFFER_PERIOD: Duration = Duration::from_secs(30 * 24 * 3600);
/// Time after its last write in which the file is kept.
pub const EXPORT_RETENTION: Duration =
    DOWNLOAD_OFFER_PERIOD.saturating_add(DOWNLOAD_URL_LIFETIME.saturating_mul(2));
/// The same time for exports of resources.
pub const RESOURCE_EXPORT_RETENTION: Duration =
    RESOURCE_DOWNLOAD_OFFER_PERIOD.saturating_add(DOWNLOAD_URL_LIFETIME.saturating_mul(2));

/// The reason why a file was not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportWriteError {
    /// A job with a higher fencing token has written since.
    StaleFencingToken,
    /// The file cannot be written; the text is the reason.
    Failed(String),
}

impl fmt::Display for ExportWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleFencingToken => f.write_str("another runner writes the file"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ExportWriteError {}

/// The files that exports are written to.
#[async_trait]
pub trait ExportFiles: Send + Sync {
    /// Cuts the file off at the end that `output` gives, appends, and returns when the appended bytes are durable. With
    /// `ends` the file is then complete and can be read. The same output may come again, also after the end.
    ///
    /// # Errors
    /// Fails when a higher fencing token was seen, or the file cannot be written.
    async fn append(&self, output: FileOutput<'_>) -> Result<FileEnd, ExportWriteError>;

    /// Removes a file, if it exists.
    async fn remove(&self, file: Gid);
}

/// Generator of signed download URLs.
pub(crate) struct SignedDownloadUrls<'a> {
    api: &'a Api,
}

impl fmt::Debug for SignedDownloadUrls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Addresses")
    }
}

impl projector::DownloadUrls for SignedDownloadUrls<'_> {
    fn address(&self, of: &Node, made: Time) -> Option<String> {
        let now = self.api.clock.now();
        let offered = match of.ty {
            Type::ResourceExport => RESOURCE_DOWNLOAD_OFFER_PERIOD,
            _ => DOWNLOAD_OFFER_PERIOD,
        };
        let age = now.duration_since(made.to_system()).unwrap_or_default();
        (age < offered).then(|| self.api.address(of.gid, now))
    }
}

/// Returns the name of a file in its address.
#[must_use]
pub fn file_name(of: Gid) -> String {
    format!("{of}.json.gz")
}

impl Api {
    /// Sets the files of exports; without them, exports fail.
    pub fn set_export_files(&self, files: Arc<dyn ExportFiles>) {
        // The first caller has set it.
        let _second = self.export_files.set(files);
    }

    pub(crate) fn download_urls(&self) -> SignedDownloadUrls<'_> {
        SignedDownloadUrls { api: self }
    }

    /// Returns an address of a file that is valid from now on.
    fn address(&self, of: Gid, now: SystemTime) -> String {
        let base = &self.settings.base_url;
        let root = base.strip_suffix("/api/1.0").unwrap_or(base);
        let name = file_name(of);
        let ticket = self.issue_ticket(&name, now + DOWNLOAD_URL_LIFETIME);
        format!("{root}/-/exports/{name}?ticket={ticket}")
    }

    /// Returns the file that a ticket allows to download, by the name in its address.
    ///
    /// # Errors
    /// Fails when the ticket is for another file, or has expired.
    pub fn admit_download(&self, name: &str, ticket: &str) -> Result<Gid, TicketError> {
        self.check_ticket(name, ticket, self.clock.now())?;
        let gid = name.strip_suffix(".json.gz").and_then(Gid::parse);
        gid.ok_or(TicketError::Invalid)
    }
}
