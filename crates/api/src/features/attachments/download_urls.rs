//! Signed addresses of attachment files.
use super::file_names;
use crate::state::Api;
use crate::storage_error::StorageError;
use std::time::{Duration, SystemTime};
use workgraph_core::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::permalink::pages_url;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::attachment;
use workgraph_core::storage::{GraphStoreError, ReadQuery, ViewerKey};
use workgraph_wire::{TicketError, percent};

/// Lifetime of a download address.
const LIFETIME: Duration = Duration::from_secs(120);

/// The use of a file that an address allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// The browser saves the file.
    Download,
    /// The browser shows the file.
    View,
}

impl Disposition {
    /// Returns the name of the query parameter for the ticket.
    const fn parameter(self) -> &'static str {
        match self {
            Self::Download => "ticket",
            Self::View => "view",
        }
    }
}

/// Download allowed by a signed address: the file, with the headers to send it with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttachmentDownload {
    /// Gid of the file in the blob store.
    pub file: Gid,
    /// The attachment that owned the file when the address was made.
    pub attachment: Gid,
    /// Viewer for whom the address was made.
    pub viewer: ViewerKey,
    /// Value of `Content-Type`.
    pub media_type: &'static str,
    /// Value of `Content-Disposition`.
    pub content_disposition: String,
}

/// Attachment in an address, and the viewer for whom the address was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct AddressHolder {
    attachment: Gid,
    viewer: ViewerKey,
}

impl AddressHolder {
    /// Returns the text before the ticket: the attachment, the user, and the workspace of a service account or 0.
    fn text(self) -> String {
        let service = self.viewer.service.map_or(0, Gid::get);
        format!("{}-{}-{service}", self.attachment, self.viewer.user)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let attachment = Gid::parse(parts.next()?)?;
        let user = Gid::parse(parts.next()?)?;
        let service = match parts.next()? {
            "0" => None,
            workspace => Some(Gid::parse(workspace)?),
        };
        let viewer = ViewerKey { user, service };
        parts
            .next()
            .is_none()
            .then_some(Self { attachment, viewer })
    }
}

/// Returns the action that a ticket allows.
fn action(disposition: Disposition, holder: AddressHolder, file: Gid, name: &str) -> String {
    let (parameter, holder) = (disposition.parameter(), holder.text());
    format!("{parameter} of attachment {file} {name} for {holder}")
}

impl Api {
    /// Returns the address of an attachment's file for a viewer who reached the API at an address, valid from now on.
    pub(crate) fn attachment_url(
        &self,
        of: &Node,
        viewer: ViewerKey,
        disposition: Disposition,
        (base_url, now): (&str, SystemTime),
    ) -> Option<String> {
        let holder = AddressHolder {
            attachment: of.gid,
            viewer,
        };
        let name = of.get(attachment::NAME)?;
        if disposition == Disposition::View {
            file_names::displayable_type(&name)?;
        }
        let file = of.get(attachment::FILE)?;
        let ticket = self.issue_ticket(&action(disposition, holder, file, &name), now + LIFETIME);
        let holder = holder.text();
        let root = pages_url(base_url);
        let (parameter, path) = (disposition.parameter(), percent::encode_component(&name));
        Some(format!(
            "{root}/-/attachments/{file}/{path}?{parameter}={holder}.{ticket}"
        ))
    }

    /// Returns an address of an attachment's file for a user, valid from now on; `None` if the user sees no such attachment.
    /// The browser shows the file if it can.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub async fn attachment_address(
        &self,
        user: Gid,
        attachment: Gid,
        base_url: Option<&str>,
    ) -> Result<Option<String>, GraphStoreError> {
        let viewer = ViewerKey {
            user,
            service: None,
        };
        let query = ReadQuery::of(viewer).node(attachment);
        let view = self.graph.load(&query).await?;
        let node = view.visible(attachment);
        let at = (self.settings.base_url_for(base_url), self.clock.now());
        let address = node
            .filter(|node| node.ty == Type::Attachment)
            .and_then(|node| {
                let shown = self.attachment_url(node, viewer, Disposition::View, at);
                shown.or_else(|| self.attachment_url(node, viewer, Disposition::Download, at))
            });
        Ok(address)
    }

    /// Returns the download allowed by the path of an address, below `/-/attachments/`, and its query.
    ///
    /// # Errors
    /// Fails when the ticket is for another file, or has expired.
    pub fn admit_attachment_download(
        &self,
        path: &str,
        query: &str,
    ) -> Result<AttachmentDownload, TicketError> {
        let invalid = TicketError::Invalid;
        let (file, name) = path.split_once('/').ok_or(invalid)?;
        let file = Gid::parse(file).ok_or(invalid)?;
        let name = percent::decode(name.as_bytes(), false).map_err(|_| invalid)?;
        let (parameter, rest) = query.split_once('=').ok_or(invalid)?;
        let (holder, ticket) = rest.split_once('.').ok_or(invalid)?;
        let holder = AddressHolder::parse(holder).ok_or(invalid)?;
        let both = [Disposition::Download, Disposition::View];
        let mut named = both.into_iter().filter(|d| d.parameter() == parameter);
        let disposition = named.next().ok_or(invalid)?;
        let allowed = action(disposition, holder, file, &name);
        self.check_ticket(&allowed, ticket, self.clock.now())?;
        let shown = file_names::displayable_type(&name);
        let (kind, media_type) = match (disposition, shown) {
            (Disposition::View, Some(media_type)) => ("inline", media_type),
            _ => ("attachment", "application/octet-stream"),
        };
        Ok(AttachmentDownload {
            file,
            attachment: holder.attachment,
            viewer: holder.viewer,
            media_type,
            content_disposition: file_names::content_disposition(kind, &name),
        })
    }

    /// Returns true if the viewer's account is not disabled, and they still see the attachment, and it still has the
    /// file.
    ///
    /// # Errors
    /// Fails when a store fails.
    pub async fn can_still_see(&self, admitted: &AttachmentDownload) -> Result<bool, StorageError> {
        let account = self.tokens.account(admitted.viewer.user.get()).await?;
        if account.is_none_or(|account| account.disabled) {
            return Ok(false);
        }
        let query = ReadQuery::of(admitted.viewer).node(admitted.attachment);
        let view = self.graph.load(&query).await?;
        let node = view.visible(admitted.attachment);
        Ok(node.is_some_and(|node| node.get(attachment::FILE) == Some(admitted.file)))
    }
}
