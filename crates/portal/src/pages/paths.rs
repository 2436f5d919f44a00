//! The paths of the pages. Forms post to the path of the page that shows them, unless stated otherwise.

/// The front page.
pub const HOME: &str = "/";
/// The overview of the console; all of its pages are below this path.
pub const CONSOLE: &str = "/-/console";
/// The page that explains the errors of the API.
pub const ERRORS: &str = "/-/errors";
/// Icon of all pages.
pub const ICON: &str = "/favicon.ico";
/// Page with the sign-in form.
pub const SIGN_IN: &str = "/-/sign_in";
/// The sign-out path: the button posts to it, and a GET shows a page with that button.
pub const SIGN_OUT: &str = "/-/sign_out";
/// The apps that a user connected. `{CONNECTED}/{authorization}/revoke` takes a POST.
pub const CONNECTED: &str = "/-/connected_apps";
/// The developer console: the apps that a user registered.
pub const APPS: &str = "/-/console/apps";
/// The form for a new app. `{APPS}/{app}` is an app's page; below it, `/secret` and `/state` take a
/// POST.
pub const NEW_APP: &str = "/-/console/apps/new";
/// Personal access tokens. `{TOKENS}/{token}/revoke` takes a POST.
pub const TOKENS: &str = "/-/console/tokens";
/// Service accounts. `{SERVICES}/{workspace}/{account}/tokens` and
/// `{SERVICES}/{workspace}/{account}/{token}/revoke` take a POST.
pub const SERVICES: &str = "/-/console/service_accounts";
/// The apps available in the workspaces that a user administers.
/// `{INSTALLED}/{workspace}/{app}` takes a POST.
pub const INSTALLED: &str = "/-/console/workspace_apps";
/// The request inspector. `{REQUESTS}/{request}` is the page of one request.
pub const REQUESTS: &str = "/-/console/requests";
/// Takes the POST that starts or ends the recording of bodies.
pub const REQUEST_RECORDING: &str = "/-/console/requests/recording";
/// Takes the POST that gives the reference page a one-hour token, so that a signed-in user can try requests.
pub const TRY_TOKEN: &str = "/-/console/try_token";
/// The account page: password and sessions of the signed-in user.
pub const ACCOUNT: &str = "/-/console/account";
/// Takes the POST of a new password.
pub const PASSWORD: &str = "/-/console/account/password";
/// `{SESSIONS}/{session}/end` takes a POST that ends a session, and `{SESSIONS}/end` one that ends all others.
pub const SESSIONS: &str = "/-/console/account/sessions";
/// Takes the POST that revokes all tokens and disconnects all apps.
pub const REVOKE_ALL: &str = "/-/console/account/revoke";
/// The reference of the API: its overview. Below it is a page for each tag.
pub const REFERENCE: &str = "/-/docs";
/// The page of the records that no tag's operations return.
pub const REFERENCE_RECORDS: &str = "/-/docs/other_records";
/// Script of the reference pages.
pub const REFERENCE_SCRIPT: &str = "/-/docs/reference.js";
/// The page that shows a new secret once, to a request with the key in its address.
pub const SECRET: &str = "/-/console/secret";
