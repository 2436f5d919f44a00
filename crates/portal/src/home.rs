//! The front page: describes this server and its links, and lists the projects of a signed-in user.
use std::time::SystemTime;

use workgraph_api::ApiResponse;

use crate::common_responses::page;
use crate::pages::{HomePage, SiteUser};
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;
use crate::records::{data, line};

impl Portal {
    pub(crate) async fn home(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let visit = self.authenticated_session(request, now).await?;
        let mut projects = Vec::new();
        if let Some(visit) = &visit {
            let query = "limit=20&archived=false&opt_fields=name,resource_type";
            let reply = self.read_as(visit, request, ("/projects", query)).await;
            let found = data(&reply).unwrap_or_default();
            projects.extend(found.as_array().into_iter().flatten().map(line));
        }
        let shown = HomePage {
            user: visit.as_ref().map(SiteUser::of),
            projects: &projects,
            base_url: self.base_url(request),
        };
        Ok(page(200, shown.page()))
    }
}
