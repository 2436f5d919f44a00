//! The portal: its dependencies, and the handling of a request.
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use workgraph_api::request_inspector::{RequestOwner, RequestRecord};
use workgraph_api::{
    Api, ApiResponse, Clock, Entropy, Refusal, RequestRefusal, SCOPES, error as fault,
};
use workgraph_auth::endpoints::discovery;
use workgraph_auth::{
    AuthStoreError, AuthorizationPolicy, IssuerInResponses, LoopbackPolicy, OAuthStore,
    SigningKeyRing, UserDirectory,
};

use workgraph_core::model::permalink::pages_url;

use crate::common_responses::{failure, page, see_other};
use crate::csrf::origin;
use crate::icon;
use crate::one_time_secrets::OneTimeSecrets;
use crate::pages::{errors_page, paths};
use crate::portal_request::PortalRequest;
use crate::ports::{
    AuditedStore, PasswordHashError, PasswordHasher, SigningKeys, WorkspaceDirectory,
};
use crate::route::{self, Endpoint, Route};
use crate::throttle::{SharedRef, Throttle};

/// Settings that the operator makes for the portal.
#[derive(Clone, Debug)]
pub struct PortalSettings {
    /// Address of the API without a trailing slash; it is exactly the issuer.
    pub base_url: String,
    /// Address of the pages and endpoints below `/-/`, without a trailing slash.
    pub auth_url: String,
    /// Policy for `http` redirect URLs on this machine.
    pub loopback: LoopbackPolicy,
    /// Authorization requests whose answers include the issuer.
    pub issuer_in_responses: IssuerInResponses,
    /// True if apps that also have an `https` URL may have codes shown on a page without a challenge.
    pub oob_without_pkce: bool,
    /// Calls of `/-/token_info` per minute and address; `None` for no limit.
    pub token_info_per_minute: Option<u32>,
    /// Failed sign-ins per minute and address and, counted separately, failed authentications of apps; `None` for no limit.
    pub failures_per_minute: Option<u32>,
    /// Failed sign-ins per minute and account from unknown browsers; `None` for no limit.
    pub account_failures_per_minute: Option<u32>,
}

impl Default for PortalSettings {
    fn default() -> Self {
        Self {
            base_url: "http://127.0.0.1:8080/api/1.0".to_owned(),
            auth_url: "http://127.0.0.1:8080".to_owned(),
            loopback: LoopbackPolicy::Refused,
            issuer_in_responses: IssuerInResponses::default(),
            oob_without_pkce: false,
            token_info_per_minute: Some(60),
            failures_per_minute: Some(60),
            account_failures_per_minute: Some(20),
        }
    }
}

impl PortalSettings {
    /// Returns the policy for authorization requests to an issuer.
    pub(crate) fn policy<'s>(&self, issuer: &'s str) -> AuthorizationPolicy<'s> {
        AuthorizationPolicy {
            issuer_in_responses: self.issuer_in_responses,
            oob_without_pkce: self.oob_without_pkce,
            ..AuthorizationPolicy::new(issuer, SCOPES)
        }
    }
}

/// Dependencies that a [`Portal`] is built with.
pub struct PortalDependencies {
    /// API, which generates new numbers; the user info endpoint uses its tokens and limits.
    pub api: Arc<Api>,
    /// Store of apps, authorizations, codes, sessions and tokens.
    pub store: Arc<dyn OAuthStore>,
    /// The same store, for binding to the actor of a request.
    pub audited_store: Arc<dyn AuditedStore>,
    /// Directory of user names and addresses.
    pub user_directory: Arc<dyn UserDirectory>,
    /// Directory of workspaces and service accounts.
    pub workspaces: Arc<dyn WorkspaceDirectory>,
    /// Pool for password checks.
    pub passwords: Arc<dyn PasswordHasher>,
    /// Keys for id_tokens.
    pub keys: Arc<dyn SigningKeys>,
    /// Clock of all lifetimes and limits.
    pub clock: Arc<dyn Clock>,
    /// Source of random bytes for secrets.
    pub entropy: Arc<dyn Entropy>,
    /// Settings of the operator.
    pub settings: PortalSettings,
}

/// Authorization server without its transport: endpoints and pages.
pub struct Portal {
    pub(crate) api: Arc<Api>,
    pub(crate) store: Arc<dyn OAuthStore>,
    pub(crate) audited_store: Arc<dyn AuditedStore>,
    pub(crate) user_directory: Arc<dyn UserDirectory>,
    pub(crate) workspaces: Arc<dyn WorkspaceDirectory>,
    pub(crate) passwords: Arc<dyn PasswordHasher>,
    pub(crate) keys: Arc<dyn SigningKeys>,
    pub(crate) settings: PortalSettings,
    pub(crate) throttle: Throttle,
    pub(crate) one_time_secrets: OneTimeSecrets,
    /// Discovery document at the address from the settings, once it was requested.
    discovery_document: OnceLock<String>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// Path in the address of the issuer.
    issuer: String,
}

/// Failure of the server in a handler; the text is for the log.
#[derive(Debug)]
pub(crate) struct PortalError(pub(crate) String);

impl From<AuthStoreError> for PortalError {
    fn from(error: AuthStoreError) -> Self {
        Self(error.to_string())
    }
}

impl From<PasswordHashError> for PortalError {
    fn from(error: PasswordHashError) -> Self {
        Self(error.to_string())
    }
}

impl Portal {
    /// Returns a portal with its dependencies.
    #[must_use]
    pub fn new(parts: PortalDependencies) -> Self {
        let base_url = &parts.settings.base_url;
        let start = origin(base_url).len();
        Self {
            discovery_document: OnceLock::new(),
            issuer: base_url.get(start..).unwrap_or_default().to_owned(),
            throttle: Throttle::new(),
            one_time_secrets: OneTimeSecrets::default(),
            api: parts.api,
            store: parts.store,
            audited_store: parts.audited_store,
            user_directory: parts.user_directory,
            workspaces: parts.workspaces,
            passwords: parts.passwords,
            keys: parts.keys,
            settings: parts.settings,
            clock: parts.clock,
            entropy: parts.entropy,
        }
    }

    /// Returns the route of a request, or `None` if the portal doesn't handle it.
    #[must_use]
    pub fn route(&self, method: &str, path: &str) -> Option<Route> {
        route::find(&self.issuer, method, path)
    }

    /// Answers a request on a route. Never fails: every error has a response.
    pub async fn answer(&self, route: Route, request: &PortalRequest) -> ApiResponse {
        let now = self.clock.now();
        // Page futures are boxed: frequent requests from apps' servers should not allocate space for them.
        let outcome = match route.endpoint {
            Endpoint::Token | Endpoint::Revoke | Endpoint::TokenInfo => {
                Ok(self.endpoint(route.endpoint, request, now).await)
            }
            Endpoint::Discovery => Ok(self.discovery(request)),
            Endpoint::KeySet => Ok(self.key_set(request, now).await),
            Endpoint::UserInfo => Ok(self.user_info(request).await),
            Endpoint::Authorize => Box::pin(self.authorize(request, now)).await,
            Endpoint::Decide => Box::pin(self.decide(request, now)).await,
            Endpoint::SignInPage => Box::pin(self.sign_in_page(request)).await,
            Endpoint::SignIn => Box::pin(self.sign_in(request, now)).await,
            Endpoint::SignOutPage => Box::pin(self.sign_out_page(request, now)).await,
            Endpoint::SignOut => Box::pin(self.sign_out(request, now)).await,
            Endpoint::Console => Box::pin(self.console_page(request, now)).await,
            Endpoint::ConsoleForm => Box::pin(self.console_form(request, now)).await,
            Endpoint::Attachment => Box::pin(self.attachment(request, now)).await,
            Endpoint::Home => Box::pin(self.home(request, now)).await,
            Endpoint::HomeRedirect => Ok(see_other(paths::HOME)),
            Endpoint::Record => Box::pin(self.record(request, now)).await,
            Endpoint::Errors => Ok(page(200, errors_page(self.base_url(request)))),
            Endpoint::Icon => Ok(icon::reply()),
        };
        let mut reply = outcome.unwrap_or_else(|broken| self.error_page(&broken, request));
        reply.operation = route.name;
        if let Some(refusal) = reply.refusal {
            reply.record = Box::pin(self.refusal_record(route, &reply, refusal, now)).await;
        }
        reply
    }

    /// Answers an authorization request as if a user had just signed in, and had allowed or denied it: for tests, and for
    /// users who are identified in another way than by a session of this server. The response is the same as to the consent
    /// form, usually the redirect to the app. `None` if the user does not exist or is disabled.
    pub async fn decide_for(
        &self,
        user: u64,
        is_allowed: bool,
        request: &PortalRequest,
    ) -> Option<ApiResponse> {
        let now = self.clock.now();
        let decided = Box::pin(self.decision_for(user, is_allowed, request, now)).await;
        decided.unwrap_or_else(|broken| Some(self.error_page(&broken, request)))
    }

    /// Returns the record of a request that the authorization server refused, for the owner of the app or account that it
    /// concerns, if requests are recorded. If the app does not exist, nobody could see the record.
    async fn refusal_record(
        &self,
        route: Route,
        reply: &ApiResponse,
        refusal: Refusal,
        now: SystemTime,
    ) -> Option<Box<RequestRecord>> {
        let (method, path) = route.inspected_line()?;
        if !self.api.inspector().is_on() || reply.record.is_some() {
            return None;
        }
        let owner = match (refusal.client, refusal.user) {
            (Some(client), _) => {
                let app = self.store.app(client).await.ok()??;
                RequestOwner::App(app.id)
            }
            (None, Some(user)) => RequestOwner::User(user),
            (None, None) => return None,
        };
        let line = (method, path, route.name);
        let outcome = (reply.status, refusal.reason);
        let record = RequestRecord::of_refusal(owner, line, outcome, now);
        Some(Box::new(record))
    }

    /// Returns the limiter shared by several processes, if any.
    pub(crate) fn shared_limiter(&self) -> SharedRef<'_> {
        self.api.shared_limiter()
    }

    /// Drops addresses whose attempts no longer count. Only frees memory; call it about every hour.
    pub fn sweep(&self) {
        self.throttle.sweep(self.clock.now());
    }

    /// Returns the page for a server failure.
    fn error_page(&self, broken: &PortalError, request: &PortalRequest) -> ApiResponse {
        let phrase = self.log(broken);
        let id = request.request_id.as_deref();
        let id = id.map_or_else(String::new, |id| format!(" The id of the request is {id}."));
        let text = format!(
            "Please try again later. If it keeps happening, give the administrator of this server these words, which find the error in its log: {phrase}.{id}"
        );
        failure(RequestRefusal::Failed, 500, "Something went wrong", &text)
    }

    /// Logs a failure, and returns the phrase that identifies its log line.
    pub(crate) fn log(&self, broken: &PortalError) -> String {
        fault::log_error(&broken.0, &*self.entropy)
    }

    pub(crate) fn fault(&self, broken: PortalError, request: &PortalRequest) -> ApiResponse {
        let help = self.error_help(request);
        fault::error_response(&fault::ApiError::Server(broken.0), &*self.entropy, &help)
    }

    /// Returns the `help` text of errors in the API's format.
    pub(crate) fn error_help(&self, request: &PortalRequest) -> Cow<'_, str> {
        let settings = self.api.settings();
        settings.error_help(request.base_url.as_deref())
    }

    /// Returns the address at which the client of a request reached the API; it is exactly the issuer.
    pub(crate) fn base_url<'r>(&'r self, request: &'r PortalRequest) -> &'r str {
        request
            .base_url
            .as_deref()
            .unwrap_or(&self.settings.base_url)
    }

    /// Returns the address at which the client of a request reached pages and endpoints.
    pub(crate) fn auth_url<'r>(&'r self, request: &'r PortalRequest) -> &'r str {
        match &request.base_url {
            Some(base_url) => pages_url(base_url),
            None => &self.settings.auth_url,
        }
    }

    /// Returns 256 random bits.
    pub(crate) fn random(&self) -> Result<[u8; 32], PortalError> {
        let mut bytes = [0; 32];
        self.entropy
            .fill(&mut bytes)
            .map_err(|e| PortalError(e.to_string()))?;
        Ok(bytes)
    }

    /// Returns a new number.
    pub(crate) fn next_id(&self) -> Result<u64, PortalError> {
        let gid = self.api.confirmed_gid();
        gid.map(|gid| gid.get())
            .map_err(|ended| PortalError(ended.to_string()))
    }

    /// Returns the discovery document at the address from the settings.
    pub(crate) fn discovery_document(&self) -> &str {
        self.discovery_document.get_or_init(|| {
            let PortalSettings {
                base_url, auth_url, ..
            } = &self.settings;
            discovery::document(&self.settings.policy(base_url), auth_url)
        })
    }

    pub(crate) async fn signing_keys(&self) -> Result<Arc<SigningKeyRing>, PortalError> {
        Ok(self.keys.ring().await?)
    }

    /// Returns the current time, for callers that had to wait.
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }
}
