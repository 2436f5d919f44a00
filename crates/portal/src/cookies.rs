//! The cookies that this server sets in a browser, and reads.
use std::time::Duration;

use workgraph_api::ApiResponse;
use workgraph_auth::Secret;
use workgraph_auth::authorization::browser_session::SESSION_LIFETIME;

use crate::one_time_secrets::SHOWING_LIFETIME;
use crate::portal::Portal;
use crate::portal_request::PortalRequest;

/// Maximum length of a cookie in bytes; this server sets only shorter ones.
const COOKIE_MAX: usize = 128;
/// Maximum length of a cookie with a new secret, in bytes.
const SECRET_COOKIE_MAX: usize = 3_000;
/// Time for which a browser is recognized after a sign-in.
pub(crate) const KNOWN_LIFETIME: Duration = Duration::from_secs(180 * 86_400);

/// Kind of a cookie, by its content.
#[derive(Clone, Copy)]
pub(crate) enum CookieKind {
    /// The secret of a session.
    Session,
    /// The random text that protects the sign-in form.
    Form,
    /// The ticket of a browser that a user has signed in with before.
    Known,
    /// A new secret, sealed, on its way to the page that shows it.
    NewSecret,
}

impl Portal {
    fn secure(&self, request: &PortalRequest) -> bool {
        self.auth_url(request).starts_with("https://")
    }

    /// Returns the name of a cookie. `__Host-` binds it to this host and to `https`; over plain `http` on this machine,
    /// browsers and clients would drop a cookie with this prefix.
    const fn cookie_name(cookie: CookieKind, secure: bool) -> &'static str {
        match (cookie, secure) {
            (CookieKind::Session, true) => "__Host-workgraph",
            (CookieKind::Session, false) => "workgraph",
            (CookieKind::Form, true) => "__Host-workgraph-form",
            (CookieKind::Form, false) => "workgraph-form",
            (CookieKind::Known, true) => "__Host-workgraph-known",
            (CookieKind::Known, false) => "workgraph-known",
            (CookieKind::NewSecret, true) => "__Host-workgraph-secret",
            (CookieKind::NewSecret, false) => "workgraph-secret",
        }
    }

    pub(crate) fn cookie(&self, request: &PortalRequest, cookie: CookieKind) -> Option<Secret> {
        let name = Self::cookie_name(cookie, self.secure(request));
        let each = request.cookies.iter().flat_map(|line| line.split(';'));
        let mut found = each.filter_map(|part| part.trim().split_once('='));
        let (_, value) = found.find(|(n, _)| *n == name)?;
        let most = match cookie {
            CookieKind::NewSecret => SECRET_COOKIE_MAX,
            _ => COOKIE_MAX,
        };
        let sound = (1..=most).contains(&value.len());
        sound.then(|| Secret::new(value.to_owned()))
    }

    /// Adds a `Set-Cookie` header to the reply to a request; without a value, the header deletes the cookie.
    pub(crate) fn set_cookie(
        &self,
        (request, reply): (&PortalRequest, ApiResponse),
        cookie: CookieKind,
        value: Option<&str>,
    ) -> ApiResponse {
        let secure = self.secure(request);
        let name = Self::cookie_name(cookie, secure);
        let secure = if secure { "; Secure" } else { "" };
        let age = match (cookie, value) {
            (_, None) => "; Max-Age=0".to_owned(),
            (CookieKind::Session, _) => format!("; Max-Age={}", SESSION_LIFETIME.as_secs()),
            (CookieKind::Known, _) => format!("; Max-Age={}", KNOWN_LIFETIME.as_secs()),
            (CookieKind::NewSecret, _) => format!("; Max-Age={}", SHOWING_LIFETIME.as_secs()),
            (CookieKind::Form, _) => String::new(),
        };
        let value = value.unwrap_or_default();
        reply.with(
            "Set-Cookie",
            format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{age}"),
        )
    }
}
