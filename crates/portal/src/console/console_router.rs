//! The router of console requests; all of them have a live session.
use std::time::SystemTime;

use workgraph_api::{ApiResponse, RefusalReason, RequestRefusal};
use workgraph_auth::{AuthRefusal, OAuthStore};
use workgraph_core::audit::ActorContext;
use workgraph_wire::percent::encode_component;

use crate::common_responses::{invalid_form, page, see_other};
use crate::console::{Console, ConsoleResponse, ConsoleUser, WriteContext};
use crate::cookies::CookieKind;
use crate::form_decoding;
use crate::pages::paths;
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;
use crate::session::AuthenticatedSession;

impl Portal {
    pub(crate) fn console<'c>(
        &'c self,
        store: &'c dyn OAuthStore,
        acting: &'c ActorContext,
        request: &'c PortalRequest,
    ) -> Console<'c> {
        Console {
            store,
            actor: acting,
            workspaces: &*self.workspaces,
            one_time_secrets: &self.one_time_secrets,
            loopback: self.settings.loopback,
            inspector: self.api.inspector(),
            base_url: self.base_url(request),
        }
    }

    pub(crate) async fn console_page(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let Some(visit) = self.authenticated_session(request, now).await? else {
            return Ok(sign_in_first(request));
        };
        let query = form_decoding::decode(&request.query).unwrap_or_default();
        let acting = request.actor_context(Some(visit.session.user));
        let session = &visit.session.digest;
        let is_carried =
            request.path == paths::SECRET && self.take_in_secret(request, session, now);
        let answer = self
            .console(&*self.store, &acting, request)
            .get(&visitor(&visit), &request.path, &query, now)
            .await?;
        let reply = send(answer);
        // A secret that was not shown stays in the browser.
        let is_left = is_carried && self.one_time_secrets.take(session, now).is_some();
        Ok(if is_carried && !is_left {
            self.set_cookie((request, reply), CookieKind::NewSecret, None)
        } else {
            reply
        })
    }

    pub(crate) async fn console_form(
        &self,
        request: &PortalRequest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        if !self.is_own(request) {
            return Ok(invalid_form(AuthRefusal::FormFromElsewhere));
        }
        if request.path == paths::TRY_TOKEN {
            return self.try_token(request, now).await;
        }
        let (Ok(body), Some(visit)) = (
            form_decoding::read(request),
            self.authenticated_session(request, now).await?,
        ) else {
            return Ok(invalid_form(AuthRefusal::SessionMissing));
        };
        if request.path == paths::PASSWORD {
            return self.change_password(request, &visit, &body, now).await;
        }
        let fresh = WriteContext {
            now,
            id: self.next_id()?,
            random: self.random()?,
        };
        let acting = request.actor_context(Some(visit.session.user));
        let store = self.audited_store.as_actor(acting.clone(), now);
        let answer = self
            .console(&*store, &acting, request)
            .post(&visitor(&visit), &request.path, &body, &fresh)
            .await?;
        self.carry_secret((request, send(answer)), &visit.session.digest, now)
    }
}

pub(crate) fn visitor(visit: &AuthenticatedSession) -> ConsoleUser<'_> {
    ConsoleUser {
        session: &visit.session,
        secret: &visit.secret,
        name: &visit.user.name,
    }
}

/// Returns a redirect to the sign-in page, which leads back afterwards.
pub(crate) fn sign_in_first(request: &PortalRequest) -> ApiResponse {
    let next = match request.query.is_empty() {
        true => encode_component(&request.path),
        false => encode_component(&format!("{}?{}", request.path, request.query)),
    };
    see_other(format!("{}?next={next}", paths::SIGN_IN))
}

fn send(answer: Option<ConsoleResponse>) -> ApiResponse {
    match answer.unwrap_or_else(ConsoleResponse::not_found) {
        ConsoleResponse::Page(status, shown) => {
            let reply = page(status, shown);
            match refusal_of(status) {
                Some(reason) => reply.refused_for(reason),
                None => reply,
            }
        }
        ConsoleResponse::SeeOther(path) => see_other(path),
    }
}

/// Returns the refusal reason of a console page, from its status.
fn refusal_of(status: u16) -> Option<RefusalReason> {
    match status {
        0..400 => None,
        400 => Some(RequestRefusal::FormInvalid.into()),
        403 => Some(AuthRefusal::FormForged.into()),
        404 => Some(RequestRefusal::NotFound.into()),
        410 => Some(RequestRefusal::SecretShown.into()),
        _ => Some(RequestRefusal::Other.into()),
    }
}
