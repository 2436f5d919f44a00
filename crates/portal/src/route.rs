//! Table of the portal's paths.
use workgraph_core::model::permalink::RECORD_PAGES;

use crate::pages::paths;

/// Endpoint that answers the requests of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Authorize,
    Decide,
    Token,
    Revoke,
    TokenInfo,
    Discovery,
    KeySet,
    UserInfo,
    SignInPage,
    SignIn,
    SignOutPage,
    SignOut,
    Console,
    ConsoleForm,
    Attachment,
    Home,
    HomeRedirect,
    Record,
    Errors,
    Icon,
}

#[derive(Clone, Copy, Debug)]
enum PathPattern {
    /// Exactly this path.
    Path(&'static str),
    /// This path and all paths below it.
    Below(&'static str),
    /// The base of the API, followed by this path.
    Base(&'static str),
    /// This path, followed by the path of the issuer (RFC 8414 section 3.1).
    Before(&'static str),
}

/// Row of the route table.
#[derive(Debug)]
struct RouteDefinition {
    method: &'static str,
    pattern: PathPattern,
    endpoint: Endpoint,
    /// Name in logs and metrics.
    name: &'static str,
}

const fn row(
    method: &'static str,
    at: PathPattern,
    to: Endpoint,
    name: &'static str,
) -> RouteDefinition {
    RouteDefinition {
        method,
        pattern: at,
        endpoint: to,
        name,
    }
}

const GET: &str = "GET";
const POST: &str = "POST";
/// Name of the operation for signing in.
pub const SIGN_IN: &str = "signIn";
/// Path of the authorization endpoint.
pub const AUTHORIZE: &str = "/-/oauth_authorize";
const CONFIGURATION: &str = "/.well-known/openid-configuration";
const METADATA: &str = "/.well-known/oauth-authorization-server";

static ROWS: &[RouteDefinition] = &[
    row(
        POST,
        PathPattern::Path("/-/token_info"),
        Endpoint::TokenInfo,
        "tokenInfo",
    ),
    row(
        POST,
        PathPattern::Path("/-/oauth_token"),
        Endpoint::Token,
        "oauthToken",
    ),
    row(
        POST,
        PathPattern::Path("/-/oauth_revoke"),
        Endpoint::Revoke,
        "oauthRevoke",
    ),
    row(
        GET,
        PathPattern::Path(AUTHORIZE),
        Endpoint::Authorize,
        "oauthAuthorize",
    ),
    row(
        POST,
        PathPattern::Path(AUTHORIZE),
        Endpoint::Decide,
        "oauthDecide",
    ),
    row(
        GET,
        PathPattern::Base("/openid_connect/userinfo"),
        Endpoint::UserInfo,
        "userInfo",
    ),
    row(
        POST,
        PathPattern::Base("/openid_connect/userinfo"),
        Endpoint::UserInfo,
        "userInfo",
    ),
    row(
        GET,
        PathPattern::Base("/openid_connect/jwks"),
        Endpoint::KeySet,
        "keySet",
    ),
    row(
        GET,
        PathPattern::Base(CONFIGURATION),
        Endpoint::Discovery,
        "discovery",
    ),
    row(
        GET,
        PathPattern::Before(CONFIGURATION),
        Endpoint::Discovery,
        "discovery",
    ),
    row(
        GET,
        PathPattern::Before(METADATA),
        Endpoint::Discovery,
        "discovery",
    ),
    row(
        GET,
        PathPattern::Path(paths::SIGN_IN),
        Endpoint::SignInPage,
        "signInPage",
    ),
    row(
        POST,
        PathPattern::Path(paths::SIGN_IN),
        Endpoint::SignIn,
        SIGN_IN,
    ),
    row(
        GET,
        PathPattern::Path(paths::SIGN_OUT),
        Endpoint::SignOutPage,
        "signOutPage",
    ),
    row(
        POST,
        PathPattern::Path(paths::SIGN_OUT),
        Endpoint::SignOut,
        "signOut",
    ),
    row(
        GET,
        PathPattern::Below(paths::CONNECTED),
        Endpoint::Console,
        "console",
    ),
    row(
        POST,
        PathPattern::Below(paths::CONNECTED),
        Endpoint::ConsoleForm,
        "consoleForm",
    ),
    row(
        GET,
        PathPattern::Below(paths::CONSOLE),
        Endpoint::Console,
        "console",
    ),
    row(
        POST,
        PathPattern::Below(paths::CONSOLE),
        Endpoint::ConsoleForm,
        "consoleForm",
    ),
    row(
        GET,
        PathPattern::Below(ATTACHMENTS),
        Endpoint::Attachment,
        "attachment",
    ),
    row(GET, PathPattern::Path(paths::HOME), Endpoint::Home, "home"),
    row(GET, PathPattern::Path("/-"), Endpoint::HomeRedirect, "home"),
    row(
        GET,
        PathPattern::Path("/-/"),
        Endpoint::HomeRedirect,
        "home",
    ),
    row(
        GET,
        PathPattern::Below(RECORD_PAGES),
        Endpoint::Record,
        "record",
    ),
    row(
        GET,
        PathPattern::Path(paths::ERRORS),
        Endpoint::Errors,
        "errors",
    ),
    row(GET, PathPattern::Path(paths::ICON), Endpoint::Icon, "icon"),
];

/// Prefix of the paths of attachments.
pub(crate) const ATTACHMENTS: &str = "/-/attachments";

/// Returns the names of all rows, for metrics.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// Returns true if refusals of an operation are logged at the level `info`, as they are for the authorization server and
/// for pages.
#[must_use]
pub fn is_refusal_logged(operation: &str) -> bool {
    !operation.is_empty() && names().any(|name| name == operation)
}

impl Route {
    /// Returns method and path as the inspector shows them; `None` if refused requests to this route are not recorded. Only
    /// requests to the authorization server that concern an app or an account are recorded.
    pub(crate) const fn inspected_line(self) -> Option<(&'static str, &'static str)> {
        Some(match self.endpoint {
            Endpoint::Token => ("POST", "/-/oauth_token"),
            Endpoint::Revoke => ("POST", "/-/oauth_revoke"),
            Endpoint::TokenInfo => ("POST", "/-/token_info"),
            Endpoint::Authorize => ("GET", AUTHORIZE),
            Endpoint::Decide => ("POST", AUTHORIZE),
            Endpoint::SignIn => ("POST", paths::SIGN_IN),
            _ => return None,
        })
    }
}

/// Route that a request takes, and the properties of its endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub(crate) endpoint: Endpoint,
    pub(crate) name: &'static str,
    /// True if the endpoint takes a form.
    pub takes_form: bool,
    /// True if the endpoint changes nothing.
    pub is_read_only: bool,
}

/// Path of the API's base. A proxy may strip the part of the issuer's path before it.
const BASE: &str = "/api/1.0";

/// Finds the row for a method and path; `issuer` is the path of the issuer. There are no rows for `HEAD`.
pub(crate) fn find(issuer: &str, method: &str, path: &str) -> Option<Route> {
    // Nearly all requests are for the API, and differ in their first characters.
    if let Some(below) = path.strip_prefix(BASE)
        && !["/openid_connect/", "/.well-known/"]
            .iter()
            .any(|start| below.starts_with(start))
    {
        return None;
    }
    let fits = |at: PathPattern| match at {
        PathPattern::Path(this) => path == this,
        PathPattern::Below(this) => path
            .strip_prefix(this)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        PathPattern::Base(this) => path.strip_prefix(BASE) == Some(this),
        PathPattern::Before(this) => path.strip_prefix(this) == Some(issuer),
    };
    let row = ROWS
        .iter()
        .find(|row| row.method == method && fits(row.pattern))?;
    Some(Route {
        endpoint: row.endpoint,
        name: row.name,
        takes_form: row.method == POST,
        is_read_only: row.method != POST
            || matches!(row.endpoint, Endpoint::TokenInfo | Endpoint::UserInfo),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B32.
    #[test]
    fn a_path_has_its_methods_and_no_others() {
        let to = |method, path| find("/api/1.0", method, path).map(|route| route.endpoint);
        assert_eq!(to("GET", AUTHORIZE), Some(Endpoint::Authorize));
        assert_eq!(to("POST", AUTHORIZE), Some(Endpoint::Decide));
        assert_eq!(to("GET", "/"), Some(Endpoint::Home));
        assert_eq!(to("GET", "/0/7/12"), Some(Endpoint::Record));
        assert_eq!(to("GET", "/00"), None);
        for method in ["HEAD", "PUT", "DELETE", "get"] {
            assert_eq!(to(method, AUTHORIZE), None, "{method}");
        }
        assert_eq!(to("GET", "/-/oauth_token"), None);
        assert_eq!(to("POST", "/-/oauth_token/"), None);
        assert_eq!(to("GET", "/-/consoles"), None);
        assert_eq!(to("GET", "/-/console/apps/7"), Some(Endpoint::Console));
    }

    #[test]
    fn what_a_server_asks_about_a_token_changes_nothing() {
        let reads = |method, path| find("/api/1.0", method, path).map(|route| route.is_read_only);
        assert_eq!(reads("POST", "/-/token_info"), Some(true));
        assert_eq!(
            reads("POST", "/api/1.0/openid_connect/userinfo"),
            Some(true)
        );
        assert_eq!(reads("GET", AUTHORIZE), Some(true));
        for path in ["/-/oauth_token", "/-/oauth_revoke", AUTHORIZE] {
            assert_eq!(reads("POST", path), Some(false), "{path}");
        }
    }

    #[test]
    fn metadata_is_below_the_base_and_before_its_path() {
        for path in [
            "/api/1.0/.well-known/openid-configuration",
            "/.well-known/openid-configuration/api/1.0",
            "/.well-known/oauth-authorization-server/api/1.0",
        ] {
            assert!(find("/api/1.0", "GET", path).is_some(), "{path}");
        }
        for path in [
            "/.well-known/openid-configuration",
            "/.well-known/oauth-authorization-server/api/1.1",
            "/openid_connect/jwks",
        ] {
            assert!(find("/api/1.0", "GET", path).is_none(), "{path}");
        }
    }
}
