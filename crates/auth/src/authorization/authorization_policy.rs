//! Decisions of the operator about authorization requests and the responses to them.

use crate::tokens::scope::ScopeRegistry;

/// Requests whose responses name the issuer (`iss`, RFC 9207).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IssuerInResponses {
    /// Requests with the scope `openid`: their clients have read the discovery document. Other
    /// clients were configured by hand, and refuse an issuer that is not the configured one.
    #[default]
    Openid,
    /// All requests; the discovery document then says so.
    Always,
    /// No requests.
    Never,
}

impl IssuerInResponses {
    /// Every choice, with its name in settings.
    pub const ALL: [(&str, Self); 3] = [
        ("openid", Self::Openid),
        ("always", Self::Always),
        ("never", Self::Never),
    ];

    /// Returns the choice of this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| choice)
    }

    /// Returns the name of the choice.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Openid => "openid",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// Decisions of the operator that apply to every authorization request.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizationPolicy<'a> {
    /// The issuer: the configured base URL.
    pub issuer: &'a str,
    /// The scopes that an app may ask for.
    pub scopes: ScopeRegistry,
    /// The requests whose responses name the issuer.
    pub issuer_in_responses: IssuerInResponses,
    /// True if apps that also have an `https` URL may ask for a code on a page without a challenge.
    /// Native apps never may.
    pub oob_without_pkce: bool,
}

impl AuthorizationPolicy<'_> {
    /// Returns the issuer that a response names, or `None` if it names none; `scope` is the
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
