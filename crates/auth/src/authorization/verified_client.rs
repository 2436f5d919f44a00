//! Verification of the client in an authorization request: the app, and one of its redirect URLs.
use std::fmt;
use std::sync::Arc;

use crate::authorization::authorization_policy::AuthorizationPolicy;
use crate::authorization::redirect_uri::RedirectUri;
use crate::authorization::registered_app::App;
use crate::params::{Param, Params, number};
use crate::refusal_reason::AuthRefusal;

/// Reason why a request is answered with a plain text page, status 400 and no redirect: there is no verified
/// client to which the browser could be redirected. The text contains no part of the
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnverifiedClientError {
    /// `client_id` is missing, given twice, or not the id of an app.
    Client(AuthRefusal),
    /// `redirect_uri` is missing, given twice, or not byte for byte one of the app's.
    Redirect(AuthRefusal),
}

impl fmt::Display for UnverifiedClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(_) => f.write_str("invalid_request: The `client_id` parameter does not match a valid application."),
            Self::Redirect(_) => f.write_str("invalid_request: The `redirect_uri` parameter does not match a valid url for the application."),
        }
    }
}

impl std::error::Error for UnverifiedClientError {}

impl UnverifiedClientError {
    /// Returns the reason, for the log.
    #[must_use]
    pub const fn refusal(self) -> AuthRefusal {
        match self {
            Self::Client(reason) | Self::Redirect(reason) => reason,
        }
    }
}

/// Returns the id of the app in a request, for the caller to look up.
///
/// # Errors
/// The parameter is missing, given twice, or not a number in the form that this service writes.
pub fn client(params: &[Param]) -> Result<u64, UnverifiedClientError> {
    let malformed = UnverifiedClientError::Client(AuthRefusal::ClientIdMalformed);
    match Params(params).one("client_id") {
        Ok(None) => Err(UnverifiedClientError::Client(AuthRefusal::ClientIdMissing)),
        Ok(Some(id)) => number(id).ok_or(malformed),
        Err(_) => Err(malformed),
    }
}

/// App, and one of its redirect URLs that a request repeated byte for byte; a public client may use another port on a
/// loopback address. It can only be made by verification, and every response to an app requires one.
///
/// ```compile_fail,E0451
/// use std::sync::Arc;
/// use workgraph_auth::{App, RedirectUri, VerifiedClient};
/// fn forge(app: Arc<App>, redirect: RedirectUri) -> VerifiedClient {
///     VerifiedClient { app, redirect }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedClient {
    pub(super) app: Arc<App>,
    pub(super) redirect: RedirectUri,
}

impl VerifiedClient {
    /// Verifies a request against the app found under its [`client`] id. A disabled app
    /// counts as missing.
    ///
    /// # Errors
    /// Fails if client or redirect URL do not match.
    pub fn check(
        params: &[Param],
        found: Option<impl Into<Arc<App>>>,
        policy: &AuthorizationPolicy<'_>,
    ) -> Result<Self, UnverifiedClientError> {
        let id = client(params)?;
        let client = UnverifiedClientError::Client;
        let app: Arc<App> = found
            .map(Into::into)
            .filter(|app: &Arc<App>| app.id == id)
            .ok_or(client(AuthRefusal::ClientUnknown))?;
        if app.disabled_at.is_some() {
            return Err(client(AuthRefusal::ClientDisabled));
        }
        let redirect = UnverifiedClientError::Redirect;
        let sent = Params(params).one("redirect_uri").ok().flatten();
        let sent = sent.ok_or(redirect(AuthRefusal::RedirectUriMissing))?;
        let is_public = policy.public_clients.include(&app);
        let same = |uri: &RedirectUri| {
            let any_port = || uri.on_any_port(sent).filter(|_| is_public);
            (uri.as_str() == sent)
                .then(|| uri.clone())
                .or_else(any_port)
        };
        let found = app.redirects.iter().find_map(same);
        Ok(Self {
            redirect: found.ok_or(redirect(AuthRefusal::RedirectUriUnregistered))?,
            app,
        })
    }

    /// Returns the verified app.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Returns the redirect URL that the request repeated.
    #[must_use]
    pub const fn redirect(&self) -> &RedirectUri {
        &self.redirect
    }
}
