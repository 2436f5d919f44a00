//! The operator's choices for authorization requests and their responses.
use std::time::Duration;

use crate::authorization::registered_app::App;
use crate::tokens::scope::ScopeRegistry;

/// Default lifetime of an authorization code.
pub const CODE_LIFETIME: Duration = Duration::from_secs(60);

/// Treatment of public clients (RFC 6749 section 2.1): apps without a secret, such as programs on their users' devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PublicClients {
    /// An app without a secret gets no tokens.
    #[default]
    Refused,
    /// An app without a secret gets tokens by PKCE (RFC 8252). Its requests for a code must have a challenge, the user always
    /// sees a page, its redirect URLs on a loopback address match with any port, and it gets no refresh token.
    Allowed,
}

impl PublicClients {
    /// Returns true if an app has no secret and may get tokens.
    pub(crate) const fn include(self, app: &App) -> bool {
        matches!(self, Self::Allowed) && app.secret.is_none()
    }
}

/// Requests whose responses include the issuer (`iss`, RFC 9207).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IssuerInResponses {
    /// Requests with the scope `openid`: their clients have read the discovery document. Other
    /// clients were configured by hand, and refuse an issuer that is not the configured one.
    #[default]
    Openid,
    /// All requests; the discovery document announces this.
    Always,
    /// No requests.
    Never,
}

impl IssuerInResponses {
    /// All choices, with the names that settings use.
    pub const ALL: [(&str, Self); 3] = [
        ("openid", Self::Openid),
        ("always", Self::Always),
        ("never", Self::Never),
    ];

    /// Returns the choice with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| choice)
    }

    /// Returns the name that settings use for the choice.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Openid => "openid",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// The operator's choices for all authorization requests.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizationPolicy<'a> {
    /// The issuer: the configured base URL.
    pub issuer: &'a str,
    /// The scopes that an app may request.
    pub scopes: ScopeRegistry,
    /// The requests whose responses include the issuer.
    pub issuer_in_responses: IssuerInResponses,
    /// True if apps that also have an `https` URL may request a code on a page without a challenge.
    /// Native apps never may.
    pub oob_without_pkce: bool,
    /// The treatment of apps without a secret.
    pub public_clients: PublicClients,
    /// The lifetime of a code; RFC 6749 section 4.1.2 recommends at most ten minutes.
    pub code_lifetime: Duration,
}

impl<'a> AuthorizationPolicy<'a> {
    /// Makes a policy for an issuer and the scopes that an app may request: codes live for a minute, public clients are
    /// refused, and a code is only shown on a page for requests with a challenge.
    #[must_use]
    pub const fn new(issuer: &'a str, scopes: ScopeRegistry) -> Self {
        Self {
            issuer,
            scopes,
            issuer_in_responses: IssuerInResponses::Openid,
            oob_without_pkce: false,
            public_clients: PublicClients::Refused,
            code_lifetime: CODE_LIFETIME,
        }
    }

    /// Returns the issuer for a response, or `None` if the response doesn't include it; `scope` is the
    /// request's parameter.
    pub(crate) fn named_issuer(&self, scope: Option<&str>) -> Option<String> {
        let openid = || scope.is_some_and(|scope| scope.split(' ').any(|name| name == "openid"));
        let named = match self.issuer_in_responses {
            IssuerInResponses::Openid => openid(),
            IssuerInResponses::Always => true,
            IssuerInResponses::Never => false,
        };
        named.then(|| self.issuer.to_owned())
    }
}
