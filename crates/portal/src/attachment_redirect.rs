//! Permanent addresses of attachments: they redirect signed-in users to the file.
use std::time::SystemTime;

use workgraph_api::{ApiResponse, RequestRefusal};
use workgraph_core::Gid;

use crate::common_responses::{failure, see_other};
use crate::console::console_router::sign_in_first;
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;
use crate::route::ATTACHMENTS;

impl Portal {
    /// Redirects a signed-in user to the file of an attachment. Users who may not see the attachment get the same page as
    /// for one that does not exist.
    pub(crate) async fn attachment(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let Some(visit) = self.authenticated_session(request, now).await? else {
            return Ok(sign_in_first(request));
        };
        let named = request.path.strip_prefix(ATTACHMENTS).unwrap_or_default();
        let attachment = named.strip_prefix('/').and_then(Gid::parse);
        let found = match (Gid::new(visit.session.user), attachment) {
            (Some(user), Some(attachment)) => {
                let at = request.base_url.as_deref();
                let address = self.api.attachment_address(user, attachment, at).await;
                address.map_err(|error| PortalError(error.to_string()))?
            }
            _ => None,
        };
        Ok(match found {
            Some(address) => see_other(address),
            None => failure(
                RequestRefusal::Forbidden,
                403,
                "No access to this file",
                "It does not exist, or you may not see it.",
            ),
        })
    }
}
