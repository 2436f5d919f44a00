//! Decisions of the operator about authorization requests and the answers to them.

/// The requests whose answers name the issuer (`iss`, RFC 9207).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IssuerInResponses {
    /// Those that ask for the scope `openid`, whose clients have read the discovery document. Others
    /// were configured by hand, and refuse an issuer that is not the one they were given.
    #[default]
    Openid,
    /// All, which the discovery document then says.
    Always,
    /// None.
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

/// The operator's decisions, as every authorization request is read by.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    /// The issuer: the configured base URL.
    pub issuer: &'a str,
    /// The requests whose answers name it.
    pub issuer_in_responses: IssuerInResponses,
    /// Leave to ask for a code on a page without a challenge, for apps that have an `https` URL
    /// besides. Native apps never have it.
    pub oob_without_pkce: bool,
}

impl Policy<'_> {
    /// Returns the issuer that an answer names, if it names one; `scope` is the request's parameter.
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
