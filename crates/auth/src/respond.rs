//! Answers of the authorization endpoint: where they go, and how they are encoded.
use std::fmt;

use crate::params::join;
use crate::redirect::RedirectUri;
use crate::token::Secret;

/// What a request asks for: a code, an id_token or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseType {
    /// An authorization code.
    pub code: bool,
    /// An id_token, straight away.
    pub id_token: bool,
}

impl ResponseType {
    /// What a request gets that does not say, as far as errors are concerned.
    pub(crate) const CODE: Self = Self {
        code: true,
        id_token: false,
    };

    /// Reads a set of response types, in any order (OAuth 2.0 Multiple Response Types section 2).
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

/// How an answer travels, where a request says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseMode {
    /// In the query. Never with an id_token.
    Query,
    /// In the fragment: OpenID Connect's own way for an id_token.
    Fragment,
    /// As a form that the browser posts.
    FormPost,
}

impl ResponseMode {
    /// Reads a `response_mode`.
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

/// An error of the authorization endpoint that the app may be told (RFC 6749 section 4.1.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorizeError {
    /// A parameter is missing, malformed or given twice.
    InvalidRequest(String),
    /// A response type there is none of, or none of for this app.
    UnsupportedResponseType,
    /// Scopes that the app may not ask for; the text is the request's.
    ForbiddenScopes(String),
    /// An id_token without the scope `openid`.
    InvalidScope,
    /// The user said no.
    Denied,
    /// The app is in none of the user's workspaces.
    NotDistributed,
    /// `prompt=none`, and nobody is signed in.
    LoginRequired,
    /// `prompt=none`, and the user has not agreed to this yet.
    ConsentRequired,
    /// A request object was passed.
    RequestNotSupported,
    /// A reference to a request object was passed.
    RequestUriNotSupported,
    /// Something broke here.
    ServerError,
    /// Too much is going on here.
    TemporarilyUnavailable,
}

impl AuthorizeError {
    /// The `error` code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::InvalidRequest(_) => "invalid_request",
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
}

/// The `error_description`.
impl fmt::Display for AuthorizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidRequest(why) => why,
            Self::ForbiddenScopes(scopes) => {
                return write!(
                    f,
                    "Your app is not allowed to request user authorization for `{}` scopes.",
                    printable(scopes)
                );
            }
            Self::UnsupportedResponseType => {
                "The `response_type` parameter must be code, id_token or both; a native app gets a code."
            }
            Self::InvalidScope => "An id_token needs the scope openid.",
            Self::Denied => "The user denied the request.",
            Self::NotDistributed => "The app is not available in any of the user's workspaces.",
            Self::LoginRequired => "The user is not signed in.",
            Self::ConsentRequired => "The user has not agreed to this request yet.",
            Self::RequestNotSupported => "Request objects are not supported.",
            Self::RequestUriNotSupported => "References to request objects are not supported.",
            Self::ServerError => "The server could not answer the request.",
            Self::TemporarilyUnavailable => "The server is too busy to answer the request.",
        })
    }
}

impl std::error::Error for AuthorizeError {}

/// At most 200 characters of a text, without those that a description may not have (RFC 6749
/// section 4.1.2.1).
pub(crate) fn printable(text: &str) -> String {
    let plain = |c: &char| matches!(c, ' ' | '!' | '#'..='[' | ']'..='~');
    text.chars().filter(plain).take(200).collect()
}

/// Where a user's browser goes with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// To this URL, by a 303.
    Redirect(String),
    /// To this URL, by a form of these hidden fields that posts itself.
    Form {
        /// The form's action.
        action: String,
        /// Names and values. They are text: the page escapes them.
        fields: Vec<(&'static str, String)>,
    },
    /// Nowhere: the answer to a native app is shown on a page of ours.
    Page(Vec<(&'static str, String)>),
}

/// The way back to an app, made only of a redirect URL that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) redirect: RedirectUri,
    pub(crate) kind: ResponseType,
    pub(crate) mode: Option<ResponseMode>,
    pub(crate) state: Option<String>,
    /// The issuer, if the answer names it (RFC 9207).
    pub(crate) issuer: Option<String>,
}

impl Way {
    /// Sends fields back. Without a mode, `state` and everything but an id_token go in the query
    /// as the spec says, and for requests with an id_token the fragment has what OpenID Connect
    /// puts there, too; so both kinds of client find what they look for.
    fn send(&self, open: Vec<(&'static str, String)>, id_token: Option<String>) -> Delivery {
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
            return Delivery::Page(all());
        }
        let base = self.redirect.as_str();
        match self.mode {
            Some(ResponseMode::FormPost) => Delivery::Form {
                action: base.to_owned(),
                fields: all(),
            },
            Some(ResponseMode::Fragment) => Delivery::Redirect(format!("{base}#{}", join(&all()))),
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
                Delivery::Redirect(url)
            }
        }
    }

    pub(crate) fn success(&self, code: Option<&Secret>, id_token: Option<&str>) -> Delivery {
        let code = code.map(|code| ("code", code.expose().to_owned()));
        self.send(code.into_iter().collect(), id_token.map(str::to_owned))
    }

    pub(crate) fn failure(&self, error: &AuthorizeError) -> Delivery {
        let fields = vec![
            ("error", error.code().to_owned()),
            ("error_description", error.to_string()),
        ];
        self.send(fields, None)
    }
}
