//! New secrets in a sealed cookie, carried from the reply to the form that created them to the page that shows them.
//!
//! The cookie opens only with the browser's session, and any node can show the secret.
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use workgraph_api::ApiResponse;
use workgraph_auth::{Secret, SecretDigest};
use workgraph_wire::sealed_secret;

use crate::cookies::CookieKind;
use crate::one_time_secrets::SHOWING_LIFETIME;
use crate::pages::SecretKind;
use crate::portal::{Portal, PortalError};
use crate::portal_request::PortalRequest;

/// Maximum number of characters of a name in the cookie.
const NAME_MAX: usize = 200;

/// Content of the cookie: the number of an app, true for a personal token, the name, the creation time of the secret in
/// milliseconds since 1970, and the secret.
type CarriedSecret = (Option<u64>, bool, String, u64, String);

/// Returns the owner that a secret is sealed for.
fn owner(session: &SecretDigest) -> String {
    format!("new secret {}", URL_SAFE_NO_PAD.encode(session.0))
}

impl Portal {
    /// Moves a session's new secret, if any, into a cookie of the reply.
    pub(crate) fn carry_secret(
        &self,
        (request, reply): (&PortalRequest, ApiResponse),
        session: &SecretDigest,
        now: SystemTime,
    ) -> Result<ApiResponse, PortalError> {
        let Some((kind, name, secret)) = self.one_time_secrets.take(session, now) else {
            return Ok(reply);
        };
        let (app, personal) = match kind {
            SecretKind::Client { app } => (Some(app), false),
            SecretKind::Personal => (None, true),
            SecretKind::Service => (None, false),
        };
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let content: CarriedSecret = (
            app,
            personal,
            name.chars().take(NAME_MAX).collect(),
            u64::try_from(since.as_millis()).unwrap_or_default(),
            secret.expose().to_owned(),
        );
        let text =
            serde_json::to_string(&content).map_err(|error| PortalError(error.to_string()))?;
        let random = self.random()?;
        let sealed = random
            .first_chunk()
            .and_then(|nonce| sealed_secret::seal(self.api.keys(), *nonce, &owner(session), &text));
        let sealed =
            sealed.ok_or_else(|| PortalError("a new secret is too long to be sealed".into()))?;
        Ok(self.set_cookie((request, reply), CookieKind::NewSecret, Some(&sealed)))
    }

    /// Takes the secret from the cookie of a session's browser, to show it. Returns true if there is a cookie.
    pub(crate) fn take_in_secret(
        &self,
        request: &PortalRequest,
        session: &SecretDigest,
        now: SystemTime,
    ) -> bool {
        let Some(cookie) = self.cookie(request, CookieKind::NewSecret) else {
            return false;
        };
        let opened = sealed_secret::open(self.api.keys(), &owner(session), cookie.expose());
        let content: Option<CarriedSecret> = opened
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok());
        // The clock of the node that created it may be slightly ahead.
        let is_fresh = |at: &u64| {
            let age = now.duration_since(UNIX_EPOCH + Duration::from_millis(*at));
            age.unwrap_or_default() < SHOWING_LIFETIME
        };
        if let Some((app, personal, name, at, secret)) = content
            && is_fresh(&at)
        {
            let kind = match (app, personal) {
                (Some(app), _) => SecretKind::Client { app },
                (None, true) => SecretKind::Personal,
                (None, false) => SecretKind::Service,
            };
            let secret = Secret::new(secret);
            self.one_time_secrets
                .put(*session, kind, &name, secret, now);
        }
        true
    }
}
