//! Responses of the authorization endpoint: their targets and their encodings.

use crate::authorization::redirect_uri::RedirectUri;
use crate::params::join;
use crate::refusal_reason::AuthRefusal;
use crate::tokens::token_text::Secret;
use std::fmt;

/// Response type of a request: a code, an id_token or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseType {
    /// True if an authorization code is requested.
    pub code: bool,
    /// True if an id_token is requested in the response itself.
    pub id_token: bool,
}

impl ResponseType {
    /// Default type, for encoding errors of requests without one.
    pub(crate) const CODE: Self = Self {
        code: true,
        id_token: false,
    };

    /// Parses a set of response types, in any order (OAuth 2.0 Multiple Response Types section 2).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut set = Self {
            code: false,
            id_token: false,
        };
        for name in text.split(' ') {
            let member = match name {
                "code" => &mut set.code,
                "id_token" => &mut set.id_token,
                _ => return None,
            };
            if *member {
                return None;
            }
            *member = true;
        }
        Some(set)
    }
}

/// Way in which the parameters of a response are sent, if a request specifies one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseMode {
    /// In the query. Never with an id_token.
    Query,
    /// In the fragment: the default of OpenID Connect for an id_token.
    Fragment,
    /// As a form that the browser posts.
    FormPost,
}

impl ResponseMode {
    /// Parses a `response_mode`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "query" => Some(Self::Query),
            "fragment" => Some(Self::Fragment),
            "form_post" => Some(Self::FormPost),
            _ => None,
        }
    }
}

/// Error of the authorization endpoint that is sent to the app (RFC 6749 section 4.1.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizeError {
    /// A parameter is missing, malformed or given twice.
    InvalidRequest(AuthRefusal, String),
    /// A response type that does not exist, or is not allowed for this app.
    UnsupportedResponseType,
    /// Scopes that the app may not request; the text is taken from the request.
    ForbiddenScopes(String),
    /// An id_token without the scope `openid`.
    InvalidScope,
    /// The user denied the request.
    Denied,
    /// The app is in none of the user's workspaces.
    NotDistributed,
    /// `prompt=none`, and no user is signed in.
    LoginRequired,
    /// `prompt=none`, and the user has not agreed to this yet.
    ConsentRequired,
    /// A request object was passed.
    RequestNotSupported,
    /// A reference to a request object was passed.
    RequestUriNotSupported,
    /// This service failed to answer the request.
    ServerError,
    /// This service is overloaded.
    TemporarilyUnavailable,
}

impl fmt::Display for AuthorizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidRequest(_, text) => f.write_str(text),
            Self::UnsupportedResponseType => f.write_str("The `response_type` parameter must be code, id_token or both; a native app gets a code."),
            Self::ForbiddenScopes(scopes) => write!(
                f,
                "Your app is not allowed to request user authorization for `{}` scopes.",
                printable(scopes)
            ),
            Self::InvalidScope => f.write_str("An id_token needs the scope openid."),
            Self::Denied => f.write_str("The user denied the request."),
            Self::NotDistributed => f.write_str("The app is not available in any of the user's workspaces."),
            Self::LoginRequired => f.write_str("The user is not signed in."),
            Self::ConsentRequired => f.write_str("The user has not agreed to this request yet."),
            Self::RequestNotSupported => f.write_str("Request objects are not supported."),
            Self::RequestUriNotSupported => f.write_str("References to request objects are not supported."),
            Self::ServerError => f.write_str("The server could not answer the request."),
            Self::TemporarilyUnavailable => f.write_str("The server is too busy to answer the request."),
        }
    }
}

impl std::error::Error for AuthorizeError {}

impl AuthorizeError {
    /// Returns the `error` code of RFC 6749 or OpenID Connect.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidRequest(..) => "invalid_request",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::ForbiddenScopes(_) => "forbidden_scopes",
            Self::InvalidScope => "invalid_scope",
            Self::Denied | Self::NotDistributed => "access_denied",
            Self::LoginRequired => "login_required",
            Self::ConsentRequired => "consent_required",
            Self::RequestNotSupported => "request_not_supported",
            Self::RequestUriNotSupported => "request_uri_not_supported",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
        }
    }

    /// Returns the reason, for the log.
    #[must_use]
    pub const fn refusal(&self) -> AuthRefusal {
        match self {
            Self::InvalidRequest(reason, _) => *reason,
            Self::UnsupportedResponseType => AuthRefusal::ResponseTypeUnsupported,
            Self::ForbiddenScopes(_) => AuthRefusal::ScopeForbidden,
            Self::InvalidScope => AuthRefusal::OpenidMissing,
            Self::Denied => AuthRefusal::UserDenied,
            Self::NotDistributed => AuthRefusal::AppNotAvailable,
            Self::LoginRequired => AuthRefusal::LoginRequired,
            Self::ConsentRequired => AuthRefusal::ConsentRequired,
            Self::RequestNotSupported | Self::RequestUriNotSupported => AuthRefusal::RequestObject,
            Self::ServerError => AuthRefusal::AuthorizationFailed,
            Self::TemporarilyUnavailable => AuthRefusal::AuthorizationBusy,
        }
    }
}

/// Returns the first 200 characters of a text that are allowed in an `error_description` (RFC 6749 section 4.1.2.1).
pub(crate) fn printable(text: &str) -> String {
    let plain = |c: &char| matches!(c, ' ' | '!' | '#'..='[' | ']'..='~');
    text.chars().filter(plain).take(200).collect()
}

/// Response sent through a user's browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizationResponse {
    /// A redirect to this URL, with status 303.
    Redirect(String),
    /// A form with these hidden fields that posts itself to this URL.
    Form {
        /// The form's action.
        action: String,
        /// Names and values as text: the page escapes them.
        fields: Vec<(&'static str, String)>,
    },
    /// No redirect: the response to a native app is shown on a page of this service.
    Page(Vec<(&'static str, String)>),
}

/// Target of a response to an app. It can only be made from a verified redirect URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResponseTarget {
    pub(crate) redirect: RedirectUri,
    pub(crate) kind: ResponseType,
    pub(crate) mode: Option<ResponseMode>,
    pub(crate) state: Option<String>,
    /// The issuer, if the response includes it (RFC 9207).
    pub(crate) issuer: Option<String>,
}

impl ResponseTarget {
    /// Encodes the fields of a response. Without a mode, `state` and everything but an id_token go
    /// into the query as the spec says. For requests with an id_token the fragment also has the
    /// fields that OpenID Connect puts there, so that both kinds of clients find theirs.
    fn encode(
        &self,
        open: Vec<(&'static str, String)>,
        id_token: Option<String>,
    ) -> AuthorizationResponse {
        let mut tail: Vec<(&'static str, String)> = Vec::new();
        if let Some(state) = &self.state {
            tail.push(("state", state.clone()));
        }
        if let Some(issuer) = &self.issuer {
            tail.push(("iss", issuer.clone()));
        }
        let failed = open.iter().any(|(name, _)| *name == "error");
        let all = || {
            let id_token = id_token.clone().map(|token| ("id_token", token));
            let fields = open.iter().cloned().chain(id_token);
            fields.chain(tail.iter().cloned()).collect::<Vec<_>>()
        };
        if self.redirect.is_out_of_band() {
            return AuthorizationResponse::Page(all());
        }
        let base = self.redirect.as_str();
        match self.mode {
            Some(ResponseMode::FormPost) => AuthorizationResponse::Form {
                action: base.to_owned(),
                fields: all(),
            },
            Some(ResponseMode::Fragment) => {
                AuthorizationResponse::Redirect(format!("{base}#{}", join(&all())))
            }
            Some(ResponseMode::Query) | None => {
                let query: Vec<_> = open.iter().chain(&tail).cloned().collect();
                let mark = match base.split_once('?') {
                    None => "?",
                    Some((_, rest)) if rest.is_empty() || rest.ends_with('&') => "",
                    Some(_) => "&",
                };
                let mut url = format!("{base}{mark}{}", join(&query));
                if self.mode.is_none() && self.kind.id_token {
                    let fragment: Vec<_> = match id_token {
                        _ if failed => query,
                        Some(token) => [("id_token", token)].into_iter().chain(tail).collect(),
                        None => tail,
                    };
                    url.push('#');
                    url.push_str(&join(&fragment));
                }
                AuthorizationResponse::Redirect(url)
            }
        }
    }

    pub(crate) fn success(
        &self,
        code: Option<&Secret>,
        id_token: Option<&str>,
    ) -> AuthorizationResponse {
        let code = code.map(|code| ("code", code.expose().to_owned()));
        self.encode(code.into_iter().collect(), id_token.map(str::to_owned))
    }

    pub(crate) fn failure(&self, error: &AuthorizeError) -> AuthorizationResponse {
        let fields = vec![
            ("error", error.code().to_owned()),
            ("error_description", error.to_string()),
        ];
        self.encode(fields, None)
    }
}
