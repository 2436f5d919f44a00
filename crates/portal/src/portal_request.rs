//! Request to the portal, without its transport.
use std::net::IpAddr;

use bytes::Bytes;
use workgraph_core::Gid;
use workgraph_core::audit::{ActorContext, AuditActor, AuditChannel};

/// Request to the portal, as a transport passes it on.
#[derive(Clone, Debug)]
pub struct PortalRequest {
    /// Method as it was sent.
    pub method: String,
    /// Full path as it was sent (percent-encoded).
    pub path: String,
    /// Query as it was sent, without the `?`.
    pub query: String,
    /// Values of all `Authorization` headers.
    pub authorization: Vec<String>,
    /// Value of `Content-Type`.
    pub content_type: Option<String>,
    /// Values of all `Cookie` headers.
    pub cookies: Vec<String>,
    /// Value of `Origin`.
    pub origin: Option<String>,
    /// Value of `Referer`.
    pub referer: Option<String>,
    /// Value of `Sec-Fetch-Site`.
    pub fetch_site: Option<String>,
    /// Value of `Sec-Fetch-Dest`.
    pub fetch_dest: Option<String>,
    /// IP address of the client.
    pub address: IpAddr,
    /// Name with which the browser or app identifies itself (`User-Agent`).
    pub user_agent: Option<String>,
    /// Address at which the client reached the API; `None` if it is the one in the settings.
    pub base_url: Option<String>,
    /// Id of the request in the server log, if any.
    pub request_id: Option<String>,
    /// Body of the request as bytes.
    pub body: Bytes,
}

impl PortalRequest {
    /// Returns the actor of the request, for the audit log; an anonymous one if there is no user.
    pub(crate) fn actor_context(&self, user: Option<u64>) -> ActorContext {
        ActorContext {
            actor: user
                .and_then(Gid::new)
                .map_or(AuditActor::Anonymous, AuditActor::User),
            channel: AuditChannel::Web,
            method: None,
            address: Some(self.address),
            user_agent: self.user_agent.as_deref().map(Into::into),
            app: None,
        }
    }
}
