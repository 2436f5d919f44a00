//! OAuth server for axum: the endpoints of this crate as a router, with browser sessions and a consent page.
//!
//! The service provides a store, a directory of its users and a sign-in page. Apps get tokens, from which a
//! [`Grant`](crate::Grant) is extracted.
mod authorize;
mod consent_page;
mod endpoint_routes;
mod http_forms;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::{HeaderMap, StatusCode, header};

use crate::authorization::authorization_policy::{
    AuthorizationPolicy, CODE_LIFETIME, IssuerInResponses, PublicClients,
};
use crate::authorization::browser_session::{BrowserSession, SESSION_LIFETIME};
use crate::authorization::redirect_uri::RedirectUri;
use crate::authorization::registered_app::{App, RegisteredScopes, mint_secret};
use crate::endpoints::token_endpoints::{Endpoints, UserDirectory};
use crate::oidc::id_token::UserInfo;
use crate::oidc::signing_keys::SigningKeyRing;
use crate::ports::oauth_store::OAuthStore;
use crate::ports::token_store::AuthStoreError;
use crate::token_verifier::{TokenLookup, TokenVerifier};
use crate::tokens::scope::{ScopeRegistry, ScopeSet};
use crate::tokens::token_record::{Account, TokenRecord};
use crate::tokens::token_text::{Secret, SecretDigest, TokenSettings};
pub use consent_page::ConsentView;
use http_forms::{
    clear_cookie, is_authorize_path, no_store, page_headers, see_other, session_cookie, set_cookie,
};

/// Path of the authorization endpoint. The sign-in page gets it with the query as `next`, and redirects there at the end.
pub const AUTHORIZE: &str = "/-/oauth_authorize";
/// The only workspace of this server: all users belong to it, and all apps work in it.
const EVERYONE: u64 = 1;
/// Number of bits of identifiers, so that they fit into a JSON number of any client.
const ID_BITS: u32 = 53;

/// Source of 32 unpredictable random bytes, or the reason why there are none.
pub type Random = fn() -> Result<[u8; 32], String>;

/// OAuth server. Clone it for each router that needs it.
#[derive(Clone)]
pub struct OAuthServer(Arc<ServerParts>);

struct ServerParts {
    issuer: String,
    store: Arc<dyn OAuthStore>,
    users: Arc<dyn UserDirectory>,
    scopes: ScopeRegistry,
    tokens: TokenSettings,
    public_clients: PublicClients,
    code_lifetime: Duration,
    session_lifetime: Duration,
    signing_keys: SigningKeyRing,
    sign_in_page: String,
    consent_page: fn(&ConsentView<'_>) -> String,
    clock: fn() -> SystemTime,
    random: Random,
}

/// Builder of an [`OAuthServer`].
pub struct OAuthServerBuilder(ServerParts);

/// Directory without users, until the service sets its own.
struct NoUsers;

#[async_trait::async_trait]
impl UserDirectory for NoUsers {
    async fn user_info(&self, _: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        Ok(None)
    }
}

impl OAuthServerBuilder {
    /// Sets the scopes that apps may request. Without them there are only full permissions.
    #[must_use]
    pub const fn scopes(mut self, scopes: ScopeRegistry) -> Self {
        self.0.scopes = scopes;
        self
    }

    /// Sets the directory of user names and addresses. Without it no user is known, and no token is issued.
    #[must_use]
    pub fn users(mut self, users: impl UserDirectory + 'static) -> Self {
        self.0.users = Arc::new(users);
        self
    }

    /// Sets the prefixes and lifetime of tokens.
    #[must_use]
    pub const fn tokens(mut self, tokens: TokenSettings) -> Self {
        self.0.tokens = tokens;
        self
    }

    /// Lets apps without a secret get tokens, as described for [`PublicClients::Allowed`]. By default they get none.
    #[must_use]
    pub const fn public_clients(mut self) -> Self {
        self.0.public_clients = PublicClients::Allowed;
        self
    }

    /// Sets the lifetime of a code: a minute by default; it should be at most ten minutes (RFC 6749 section 4.1.2).
    #[must_use]
    pub const fn code_lifetime(mut self, lifetime: Duration) -> Self {
        self.0.code_lifetime = lifetime;
        self
    }

    /// Sets the time for which a user stays signed in: 14 days by default.
    #[must_use]
    pub const fn session_lifetime(mut self, lifetime: Duration) -> Self {
        self.0.session_lifetime = lifetime;
        self
    }

    /// Sets the keys that sign id_tokens. Without them there are none.
    #[must_use]
    pub fn signing_keys(mut self, keys: SigningKeyRing) -> Self {
        self.0.signing_keys = keys;
        self
    }

    /// Sets the path of the sign-in page, `/sign-in` by default. The page gets the parameter `next`, and calls
    /// [`OAuthServer::sign_in`] at the end.
    #[must_use]
    pub fn sign_in_page(mut self, path: impl Into<String>) -> Self {
        self.0.sign_in_page = path.into();
        self
    }

    /// Sets the function that renders the consent page.
    #[must_use]
    pub fn consent_page(mut self, page: fn(&ConsentView<'_>) -> String) -> Self {
        self.0.consent_page = page;
        self
    }

    /// Builds the server.
    #[must_use]
    pub fn build(self) -> OAuthServer {
        OAuthServer(Arc::new(self.0))
    }
}

impl fmt::Debug for OAuthServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OAuthServerBuilder")
            .field(&self.0.issuer)
            .finish()
    }
}

impl fmt::Debug for OAuthServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OAuthServer").field(&self.0.issuer).finish()
    }
}

impl OAuthServer {
    /// Returns a builder of a server whose issuer is this URL: the address of the router, without a trailing `/`. The
    /// service provides the server's clock and random bytes.
    #[must_use]
    pub fn builder(
        issuer: impl Into<String>,
        store: Arc<dyn OAuthStore>,
        clock: fn() -> SystemTime,
        random: Random,
    ) -> OAuthServerBuilder {
        OAuthServerBuilder(ServerParts {
            issuer: issuer.into(),
            store,
            users: Arc::new(NoUsers),
            scopes: ScopeRegistry::EMPTY,
            tokens: TokenSettings::DEFAULT,
            public_clients: PublicClients::Refused,
            code_lifetime: CODE_LIFETIME,
            session_lifetime: SESSION_LIFETIME,
            signing_keys: SigningKeyRing::default(),
            sign_in_page: "/sign-in".to_owned(),
            consent_page: |view| view.page(),
            clock,
            random,
        })
    }

    /// Returns the routes: `/-/oauth_authorize`, `/-/oauth_token`, `/-/oauth_revoke` and `/-/token_info` (introspection),
    /// `/openid_connect/userinfo` and `/openid_connect/jwks`, and the discovery document at
    /// `/.well-known/oauth-authorization-server` and `/.well-known/openid-configuration`.
    pub fn axum_router(&self) -> Router {
        use endpoint_routes as routes;
        Router::new()
            .route(AUTHORIZE, get(authorize::show).post(authorize::decide))
            .route("/-/oauth_token", post(routes::token))
            .route("/-/oauth_revoke", post(routes::revoke))
            .route("/-/token_info", post(routes::token_info))
            .route(
                "/openid_connect/userinfo",
                get(routes::user_info).post(routes::user_info),
            )
            .route("/openid_connect/jwks", get(routes::key_set))
            .route("/.well-known/openid-configuration", get(routes::discovery))
            .route(
                "/.well-known/oauth-authorization-server",
                get(routes::discovery),
            )
            .with_state(self.clone())
    }

    /// Returns the verifier for the tokens that the server issues, for the state of a router whose handlers take a
    /// [`Grant`](crate::Grant).
    #[must_use]
    pub fn verifier(&self) -> TokenVerifier {
        let store = Arc::new(StoreLookup(self.0.store.clone()));
        TokenVerifier::new(store, self.0.clock).with_prefixes(self.0.tokens.prefixes)
    }

    /// Registers an app that may request these scopes, and returns it with its secret, which cannot be read again.
    ///
    /// # Errors
    /// Fails if the store does. Check the name with [`check_name`](crate::authorization::registered_app::check_name) first.
    pub async fn register_app(
        &self,
        name: &str,
        redirect: RedirectUri,
        scopes: ScopeSet,
        owner: u64,
    ) -> Result<(App, Secret), AuthStoreError> {
        let (secret, digest) = mint_secret(&self.random()?);
        let app = self
            .put_app(name, Some(digest), redirect, scopes, owner)
            .await?;
        Ok((app, secret))
    }

    /// Registers an app that runs on its users' devices and has no secret: it gets tokens by PKCE, if the server allows
    /// [public clients](OAuthServerBuilder::public_clients). Its redirect URL may be `http` on `127.0.0.1` or `[::1]`
    /// ([`LoopbackPolicy::Allowed`](crate::LoopbackPolicy)); a request may then use any port.
    ///
    /// # Errors
    /// Fails if the store does, or the server refuses public clients.
    pub async fn register_public_app(
        &self,
        name: &str,
        redirect: RedirectUri,
        scopes: ScopeSet,
        owner: u64,
    ) -> Result<App, AuthStoreError> {
        if self.0.public_clients == PublicClients::Refused {
            return Err(unavailable("the server is built without public_clients()"));
        }
        self.put_app(name, None, redirect, scopes, owner).await
    }

    async fn put_app(
        &self,
        name: &str,
        secret: Option<SecretDigest>,
        redirect: RedirectUri,
        scopes: ScopeSet,
        owner: u64,
    ) -> Result<App, AuthStoreError> {
        let app = App {
            id: self.new_id()?,
            name: name.to_owned(),
            secret,
            redirects: vec![redirect],
            scopes: RegisteredScopes::from_set(scopes),
            distribution: vec![EVERYONE],
            disabled_in: Vec::new(),
            owner,
            created_at: self.now(),
            disabled_at: None,
        };
        self.0.store.put_app(app.clone(), None).await?;
        Ok(app)
    }

    /// Starts a session of a user whose password, or other credential, was correct, and returns the response that sets the
    /// cookie and redirects: to `next` if that is a path of the authorization endpoint, otherwise to `/`.
    ///
    /// # Errors
    /// Fails if the store does, or the user has no account.
    pub async fn sign_in(&self, user: u64, next: &str) -> Result<Response, AuthStoreError> {
        let (secret, session) = BrowserSession::start(user, &self.random()?, self.now());
        let session = session.lasting(self.0.session_lifetime);
        self.0.store.start_session(session, None).await?;
        let next = if is_authorize_path(next) { next } else { "/" };
        let mut response = see_other(next);
        set_cookie(&mut response, &self.0.issuer, &secret);
        Ok(response)
    }

    /// Ends the session of a request with these headers, if any, and returns the response that removes its cookie and
    /// redirects to `/`. Only call it for a POST: browsers don't send the cookie with a POST from another site. Tokens of apps
    /// stay valid; [`TokenStore::revoke_all`](crate::TokenStore::revoke_all) ends them.
    ///
    /// # Errors
    /// Fails if the store does; then the session is kept.
    pub async fn sign_out(&self, headers: &HeaderMap) -> Result<Response, AuthStoreError> {
        if let Some(secret) = session_cookie(headers, &self.0.issuer) {
            let digest = SecretDigest::of(secret.expose());
            self.0.store.end_session(&digest).await?;
        }
        let mut response = see_other("/");
        clear_cookie(&mut response, &self.0.issuer);
        Ok(response)
    }

    fn now(&self) -> SystemTime {
        (self.0.clock)()
    }

    fn random(&self) -> Result<[u8; 32], AuthStoreError> {
        (self.0.random)().map_err(|reason| unavailable(&reason))
    }

    /// Returns a random number for a new record.
    fn new_id(&self) -> Result<u64, AuthStoreError> {
        let [a, b, c, d, e, f, g, h, ..] = self.random()?;
        Ok((u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> (u64::BITS - ID_BITS)).max(1))
    }

    fn policy(&self) -> AuthorizationPolicy<'_> {
        AuthorizationPolicy {
            issuer_in_responses: IssuerInResponses::Always,
            public_clients: self.0.public_clients,
            code_lifetime: self.0.code_lifetime,
            ..AuthorizationPolicy::new(&self.0.issuer, self.0.scopes)
        }
    }

    fn endpoints(&self, now: SystemTime) -> Endpoints<'_> {
        Endpoints {
            store: &*self.0.store,
            users: &*self.0.users,
            issuer: &self.0.issuer,
            scopes: self.0.scopes,
            tokens: self.0.tokens,
            public_clients: self.0.public_clients,
            signer: self.0.signing_keys.signer(now),
        }
    }
}

/// Store that serves as a token look-up.
struct StoreLookup(Arc<dyn OAuthStore>);

#[async_trait::async_trait]
impl TokenLookup for StoreLookup {
    async fn look_up(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError> {
        self.0.find_token(digest).await
    }
}

fn unavailable(reason: &str) -> AuthStoreError {
    AuthStoreError::Unavailable(reason.to_owned())
}

/// Returns the response for a failure of the store, or for a user without an account in it. Its extensions contain the
/// error, for the log.
pub(crate) fn failed(error: AuthStoreError) -> Response {
    let (status, text) = match &error {
        AuthStoreError::NoAccount => (
            StatusCode::FORBIDDEN,
            "This account does not exist here, or is switched off.",
        ),
        _ => (
            StatusCode::SERVICE_UNAVAILABLE,
            "The server can't do this now; try again in a few seconds.",
        ),
    };
    let mut response = page_headers(status, "text/plain;charset=UTF-8", text);
    no_store(&mut response);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, http::HeaderValue::from_static("5"));
    }
    response.extensions_mut().insert(error);
    response
}
