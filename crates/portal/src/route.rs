//! The table of the portal's paths.
use crate::pages::paths;

/// What a row leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
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
}

/// Where a row is.
#[derive(Clone, Copy, Debug)]
enum At {
    /// At this very path.
    Path(&'static str),
    /// There and below.
    Below(&'static str),
    /// Below the base of the API.
    Base(&'static str),
    /// Before the path of the base (RFC 8414 section 3.1).
    Before(&'static str),
}

/// A row.
#[derive(Debug)]
struct Row {
    method: &'static str,
    at: At,
    to: To,
    /// Its name in logs and metrics.
    name: &'static str,
}

const fn row(method: &'static str, at: At, to: To, name: &'static str) -> Row {
    Row {
        method,
        at,
        to,
        name,
    }
}

const GET: &str = "GET";
const POST: &str = "POST";
/// Where the browser asks for authorization.
pub(crate) const AUTHORIZE: &str = "/-/oauth_authorize";
const CONFIGURATION: &str = "/.well-known/openid-configuration";
const METADATA: &str = "/.well-known/oauth-authorization-server";

static ROWS: &[Row] = &[
    row(POST, At::Path("/-/token_info"), To::TokenInfo, "tokenInfo"),
    row(POST, At::Path("/-/oauth_token"), To::Token, "oauthToken"),
    row(POST, At::Path("/-/oauth_revoke"), To::Revoke, "oauthRevoke"),
    row(GET, At::Path(AUTHORIZE), To::Authorize, "oauthAuthorize"),
    row(POST, At::Path(AUTHORIZE), To::Decide, "oauthDecide"),
    row(
        GET,
        At::Base("/openid_connect/userinfo"),
        To::UserInfo,
        "userInfo",
    ),
    row(
        POST,
        At::Base("/openid_connect/userinfo"),
        To::UserInfo,
        "userInfo",
    ),
    row(GET, At::Base("/openid_connect/jwks"), To::KeySet, "keySet"),
    row(GET, At::Base(CONFIGURATION), To::Discovery, "discovery"),
    row(GET, At::Before(CONFIGURATION), To::Discovery, "discovery"),
    row(GET, At::Before(METADATA), To::Discovery, "discovery"),
    row(GET, At::Path(paths::SIGN_IN), To::SignInPage, "signInPage"),
    row(POST, At::Path(paths::SIGN_IN), To::SignIn, "signIn"),
    row(
        GET,
        At::Path(paths::SIGN_OUT),
        To::SignOutPage,
        "signOutPage",
    ),
    row(POST, At::Path(paths::SIGN_OUT), To::SignOut, "signOut"),
    row(GET, At::Below(paths::CONNECTED), To::Console, "console"),
    row(
        POST,
        At::Below(paths::CONNECTED),
        To::ConsoleForm,
        "consoleForm",
    ),
    row(GET, At::Below(CONSOLE), To::Console, "console"),
    row(POST, At::Below(CONSOLE), To::ConsoleForm, "consoleForm"),
];

/// What all pages of the console are below.
const CONSOLE: &str = "/-/console";

/// The names of all rows, for metrics.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// Where a request leads.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub(crate) to: To,
    pub(crate) name: &'static str,
    /// Whether it takes a form.
    pub form: bool,
    /// Whether it changes nothing.
    pub read: bool,
}

/// Where the API begins. A proxy may take away what is before it in the issuer's path.
const BASE: &str = "/api/1.0";

/// Finds the row of a method and path; `issuer` is the path of the issuer. There is none for `HEAD`.
pub(crate) fn find(issuer: &str, method: &str, path: &str) -> Option<Route> {
    // Nearly all requests are for the API, and told apart by their first characters.
    if let Some(below) = path.strip_prefix(BASE)
        && !["/openid_connect/", "/.well-known/"]
            .iter()
            .any(|start| below.starts_with(start))
    {
        return None;
    }
    let fits = |at: At| match at {
        At::Path(this) => path == this,
        At::Below(this) => path
            .strip_prefix(this)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        At::Base(this) => path.strip_prefix(BASE) == Some(this),
        At::Before(this) => path.strip_prefix(this) == Some(issuer),
    };
    let row = ROWS
        .iter()
        .find(|row| row.method == method && fits(row.at))?;
    Some(Route {
        to: row.to,
        name: row.name,
        form: row.method == POST,
        read: row.method != POST || matches!(row.to, To::TokenInfo | To::UserInfo),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B32.
    #[test]
    fn a_path_has_its_methods_and_no_others() {
        let to = |method, path| find("/api/1.0", method, path).map(|route| route.to);
        assert_eq!(to("GET", AUTHORIZE), Some(To::Authorize));
        assert_eq!(to("POST", AUTHORIZE), Some(To::Decide));
        for method in ["HEAD", "PUT", "DELETE", "get"] {
            assert_eq!(to(method, AUTHORIZE), None, "{method}");
        }
        assert_eq!(to("GET", "/-/oauth_token"), None);
        assert_eq!(to("POST", "/-/oauth_token/"), None);
        assert_eq!(to("GET", "/-/consoles"), None);
        assert_eq!(to("GET", "/-/console/apps/7"), Some(To::Console));
    }

    #[test]
    fn what_a_server_asks_about_a_token_changes_nothing() {
        let reads = |method, path| find("/api/1.0", method, path).map(|route| route.read);
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
