//! Record pages at the addresses of `permalink_url`: read-only, for users who may see the record.
//!
//! They show the API's replies to the signed-in user, so they show nothing that the API would not
//! send.
mod address;
mod content;

use std::time::SystemTime;

use serde_json::Value;
use workgraph_api::{ApiResponse, RequestRefusal};

use crate::common_responses::{failure, page};
use crate::console::console_router::sign_in_first;
use crate::pages::{RecordList, RecordPage, SiteUser};
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;
use crate::session::AuthenticatedSession;
use address::RecordAddress;
pub(crate) use content::line;
use content::{ListDefinition, RecordDefinition};

impl Portal {
    /// Answers with the page of a record. Without a session it shows the sign-in page, regardless of whether the record
    /// exists.
    pub(crate) async fn record(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let Some(visit) = self.authenticated_session(request, now).await? else {
            return Ok(sign_in_first(request));
        };
        let Some(address) = RecordAddress::parse(&request.path) else {
            return Ok(no_record());
        };
        let definition = content::definition(address.ty);
        let path = definition.path(address.gid);
        let reply = self
            .read_as(&visit, request, (&path, definition.fields))
            .await;
        let Some(record) = data(&reply) else {
            return Ok(refused(&reply));
        };
        let mut lists = Vec::new();
        for list in definition.lists {
            lists.push(
                self.list((&visit, request), definition, list, address.gid)
                    .await,
            );
        }
        let shown = RecordPage {
            user: SiteUser::of(&visit),
            kind: definition.kind,
            title: content::title(&record),
            facts: definition.facts(&record),
            text: content::rich_text(&record, definition.text),
            lists,
            api_address: format!("{}{path}", self.base_url(request)),
        };
        Ok(page(200, shown.page()))
    }

    /// Reads from the API as the signed-in user.
    pub(crate) async fn read_as(
        &self,
        visit: &AuthenticatedSession,
        request: &PortalRequest,
        target: (&str, &str),
    ) -> ApiResponse {
        let by = (&visit.session, &visit.account);
        let at = request.base_url.as_deref();
        self.api.read_in_session(by, target, at).await
    }

    /// Returns a list of objects that belong to the record. A list that can't be read contains the reason.
    async fn list(
        &self,
        (visit, request): (&AuthenticatedSession, &PortalRequest),
        of: &RecordDefinition,
        list: &ListDefinition,
        gid: workgraph_core::Gid,
    ) -> RecordList {
        let (path, query) = list.request(of, gid);
        let reply = self.read_as(visit, request, (&path, &query)).await;
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        list.content(&body)
    }
}

/// Returns the record or records in a reply, if any.
pub(crate) fn data(reply: &ApiResponse) -> Option<Value> {
    if reply.status != 200 {
        return None;
    }
    let mut body: Value = serde_json::from_slice(&reply.body).ok()?;
    body.get_mut("data").map(Value::take)
}

fn no_record() -> ApiResponse {
    failure(
        RequestRefusal::NotFound,
        404,
        "Nothing here",
        "There is no such record. It may have been deleted, or the address is incomplete.",
    )
}

/// Returns the page for a reply that refuses access to the record.
fn refused(reply: &ApiResponse) -> ApiResponse {
    let wait = reply.header("Retry-After");
    let reason = reply.refusal.map(|refusal| refusal.reason);
    let reason = reason.unwrap_or(RequestRefusal::Other.into());
    let shown = match reply.status {
        404 | 400 => no_record(),
        403 => failure(
            reason,
            403,
            "You don't have access",
            "Ask somebody who works on it to share it with you.",
        ),
        402 => failure(
            reason,
            402,
            "Not in this plan",
            "The plan of this workspace doesn't include records of this kind.",
        ),
        429 => failure(
            reason,
            429,
            "Too many requests",
            "You have opened many pages in a short time. Please wait a minute.",
        ),
        status => failure(
            reason,
            status,
            "This page can't be shown right now",
            "Please try again in a moment.",
        ),
    };
    match wait {
        Some(seconds) => shown.with("Retry-After", seconds),
        None => shown,
    }
}
