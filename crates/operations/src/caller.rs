//! The client of a request, as seen by operations and the audit log.
use std::net::IpAddr;
use std::sync::Arc;
use workgraph_auth::{Grant, TokenKind};
use workgraph_core::audit::{ActorContext, AuditActor, AuditChannel, AuthMethod};
use workgraph_core::{Gid, Interrupt};

/// The client of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Caller<'a> {
    /// The client's address.
    pub address: Option<IpAddr>,
    /// The name that the client gave (`User-Agent`).
    pub user_agent: Option<&'a str>,
    /// The interrupt that stops the work on the request.
    pub interrupt: Option<&'a Arc<dyn Interrupt>>,
    /// The address of the API as the client reached it, in the same form as in the settings; `None` if it is the one in the
    /// settings.
    pub base_url: Option<&'a str>,
}

impl Caller<'_> {
    /// Returns the actor context of a request by this client with a grant.
    #[must_use]
    pub fn actor_context(&self, grant: &Grant) -> ActorContext {
        ActorContext {
            actor: Gid::new(grant.user).map_or(AuditActor::Anonymous, AuditActor::User),
            channel: AuditChannel::Api,
            method: Some(match grant.kind {
                TokenKind::Personal => AuthMethod::PersonalAccessToken,
                TokenKind::Service => AuthMethod::ServiceAccount,
                TokenKind::Access | TokenKind::Refresh => AuthMethod::OAuth,
            }),
            address: self.address,
            user_agent: self.user_agent.map(Into::into),
            app: grant.app,
        }
    }
}
