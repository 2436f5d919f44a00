//! Signed addresses for downloading the files of exports.
use crate::features::attachments::Disposition;
use crate::features::exports::export_files::{
    DOWNLOAD_OFFER_PERIOD, DOWNLOAD_URL_LIFETIME, ExportFiles, RESOURCE_DOWNLOAD_OFFER_PERIOD,
    file_name,
};
use crate::state::Api;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_core::Gid;
use workgraph_core::access::Viewer;
use workgraph_core::model::node::Node;
use workgraph_core::model::permalink::pages_url;
use workgraph_core::model::registry::Type;
use workgraph_core::model::time::Time;
use workgraph_core::projection::projector;
use workgraph_core::storage::ViewerKey;
use workgraph_wire::TicketError;

/// Generator of signed download URLs.
pub(crate) struct SignedDownloadUrls<'a> {
    api: &'a Api,
    viewer: ViewerKey,
    /// The address of the API as the viewer reached it.
    base_url: &'a str,
}

impl fmt::Debug for SignedDownloadUrls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Addresses")
    }
}

impl projector::DownloadUrls for SignedDownloadUrls<'_> {
    fn address(&self, of: &Node, made: Time) -> Option<String> {
        let now = self.api.clock.now();
        if of.ty == Type::Attachment {
            return self.api.attachment_url(
                of,
                self.viewer,
                Disposition::Download,
                (self.base_url, now),
            );
        }
        let offered = match of.ty {
            Type::ResourceExport => RESOURCE_DOWNLOAD_OFFER_PERIOD,
            _ => DOWNLOAD_OFFER_PERIOD,
        };
        let age = now.duration_since(made.to_system()).unwrap_or_default();
        (age < offered).then(|| self.api.address(of.gid, self.base_url, now))
    }
    fn view_address(&self, of: &Node) -> Option<String> {
        let now = self.api.clock.now();
        self.api
            .attachment_url(of, self.viewer, Disposition::View, (self.base_url, now))
    }
}

impl Api {
    /// Sets the files of exports; without them, exports fail.
    pub fn set_export_files(&self, files: Arc<dyn ExportFiles>) {
        // The first call has already set it.
        let _second = self.export_files.set(files);
    }

    /// Returns the generator of addresses for a viewer who reached the API at `base_url`.
    pub(crate) fn download_urls<'a>(
        &'a self,
        viewer: &Viewer,
        base_url: &'a str,
    ) -> SignedDownloadUrls<'a> {
        let viewer = ViewerKey {
            user: viewer.user,
            service: viewer.service_workspace,
        };
        SignedDownloadUrls {
            api: self,
            viewer,
            base_url,
        }
    }

    /// Returns an address of a file that is valid from now on.
    fn address(&self, of: Gid, base_url: &str, now: SystemTime) -> String {
        let root = pages_url(base_url);
        let name = file_name(of);
        let ticket = self.issue_ticket(&name, now + DOWNLOAD_URL_LIFETIME);
        format!("{root}/-/exports/{name}?ticket={ticket}")
    }

    /// Returns the file that a ticket allows to download, given the name in its address.
    ///
    /// # Errors
    /// Fails when the ticket is for another file, or has expired.
    pub fn admit_download(&self, name: &str, ticket: &str) -> Result<Gid, TicketError> {
        self.check_ticket(name, ticket, self.clock.now())?;
        let gid = name.strip_suffix(".json.gz").and_then(Gid::parse);
        gid.ok_or(TicketError::Invalid)
    }
}
