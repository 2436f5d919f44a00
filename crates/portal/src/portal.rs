//! The portal: its parts, and the way of a request through them.
use std::sync::Arc;
use std::time::SystemTime;

use workgraph_api::{Api, Clock, Entropy, Reply, fault};
use workgraph_auth::{
    IssuerInResponses, KeyRing, Loopback, OAuthStore, People, Policy, StoreError,
};

use crate::console::{Drawer, Places};
use crate::guard::{Throttle, origin};
use crate::ports::{Acts, Keys, Passwords};
use crate::request::{Request, failure};
use crate::route::{self, Route, To};

/// What an operator may set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address of the API without a trailing slash: the issuer, byte for byte.
    pub base_url: String,
    /// The address of the pages and endpoints below `/-/`, without a trailing slash.
    pub auth_url: String,
    /// Whether apps may have `http` redirect URLs on this machine.
    pub loopback: Loopback,
    /// The requests whose answers name the issuer.
    pub issuer_in_responses: IssuerInResponses,
    /// Whether apps with an `https` URL besides may have codes shown on a page without a challenge.
    pub oob_without_pkce: bool,
    /// Calls of `/-/token_info` per minute and address; none for no limit.
    pub token_info_per_minute: Option<u32>,
    /// Failed sign-ins, and as many failed authentications of apps, per minute and address; none for
    /// no limit.
    pub failures_per_minute: Option<u32>,
    /// Failed sign-ins per minute and account, from browsers that are not known; none for no limit.
    pub account_failures_per_minute: Option<u32>,
}

impl Settings {
    /// Returns what authorization requests are read by.
    pub(crate) fn policy(&self) -> Policy<'_> {
        Policy {
            issuer: &self.base_url,
            issuer_in_responses: self.issuer_in_responses,
            oob_without_pkce: self.oob_without_pkce,
        }
    }
}

/// What a [`Portal`] is made of.
pub struct Parts {
    /// The API, whose tokens and limits user info shares, and which gives numbers.
    pub api: Arc<Api>,
    /// Apps, authorizations, codes, sessions and tokens.
    pub store: Arc<dyn OAuthStore>,
    /// The same, in the hand of whoever acts.
    pub acts: Arc<dyn Acts>,
    /// Who users are.
    pub people: Arc<dyn People>,
    /// Workspaces and service accounts.
    pub places: Arc<dyn Places>,
    /// Checks passwords.
    pub passwords: Arc<dyn Passwords>,
    /// Keys for id_tokens.
    pub keys: Arc<dyn Keys>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// Settings.
    pub settings: Settings,
}

/// Everything between a transport and the authorization server.
pub struct Portal {
    pub(crate) api: Arc<Api>,
    pub(crate) store: Arc<dyn OAuthStore>,
    pub(crate) acts: Arc<dyn Acts>,
    pub(crate) people: Arc<dyn People>,
    pub(crate) places: Arc<dyn Places>,
    pub(crate) passwords: Arc<dyn Passwords>,
    pub(crate) keys: Arc<dyn Keys>,
    pub(crate) settings: Settings,
    pub(crate) throttle: Throttle,
    pub(crate) drawer: Drawer,
    /// The discovery document, which only the settings change.
    pub(crate) document: String,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    /// The path of the issuer.
    issuer: String,
}

/// Why a handler gave up: the server is at fault, and the text is for the log.
#[derive(Debug)]
pub(crate) struct Broken(pub(crate) String);

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

impl Portal {
    /// A portal over its parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Settings {
            base_url, auth_url, ..
        } = &parts.settings;
        let policy = parts.settings.policy();
        let start = origin(base_url).len();
        Self {
            document: workgraph_auth::discovery::document(&policy, auth_url),
            issuer: base_url.get(start..).unwrap_or_default().to_owned(),
            throttle: Throttle::new(),
            drawer: Drawer::default(),
            api: parts.api,
            store: parts.store,
            acts: parts.acts,
            people: parts.people,
            places: parts.places,
            passwords: parts.passwords,
            keys: parts.keys,
            settings: parts.settings,
            clock: parts.clock,
            entropy: parts.entropy,
        }
    }

    /// Where a request leads; none if it is not the portal's.
    #[must_use]
    pub fn route(&self, method: &str, path: &str) -> Option<Route> {
        route::find(&self.issuer, method, path)
    }

    /// Answers a request that leads there. Never fails: whatever goes wrong has a reply.
    pub async fn answer(&self, route: Route, request: &Request) -> Reply {
        let now = self.clock.now();
        // Pages are made on the heap: what apps' servers ask all the time has no room for them.
        let outcome = match route.to {
            To::Token | To::Revoke | To::TokenInfo => {
                Ok(self.endpoint(route.to, request, now).await)
            }
            To::Discovery => Ok(self.discovery()),
            To::KeySet => Ok(self.key_set(now).await),
            To::UserInfo => Ok(self.user_info(request).await),
            To::Authorize => Box::pin(self.authorize(request, now)).await,
            To::Decide => Box::pin(self.decide(request, now)).await,
            To::SignInPage => Box::pin(self.sign_in_page(request)).await,
            To::SignIn => Box::pin(self.sign_in(request, now)).await,
            To::SignOutPage => Box::pin(self.sign_out_page(request, now)).await,
            To::SignOut => Box::pin(self.sign_out(request, now)).await,
            To::Console => Box::pin(self.console_page(request, now)).await,
            To::ConsoleForm => Box::pin(self.console_form(request, now)).await,
        };
        let mut reply = outcome.unwrap_or_else(|broken| self.broken(&broken));
        reply.operation = route.name;
        reply
    }

    /// Forgets addresses whose attempts no longer count. Only memory depends on it: worth a call every hour.
    pub fn sweep(&self) {
        self.throttle.sweep(self.clock.now());
    }

    /// The page for a failure of the server's own.
    fn broken(&self, broken: &Broken) -> Reply {
        let phrase = self.log(broken);
        let text =
            format!("Try again later. If it stays so, tell whoever runs this server: {phrase}.");
        failure(500, "Something broke here", &text)
    }

    /// Logs a failure, and gives the phrase that it can be found by.
    pub(crate) fn log(&self, broken: &Broken) -> String {
        fault::log(&broken.0, &*self.entropy)
    }

    pub(crate) fn fault(&self, broken: Broken) -> Reply {
        fault::reply(&fault::Failure::Server(broken.0), &*self.entropy)
    }

    /// Random bytes.
    pub(crate) fn random(&self) -> Result<[u8; 32], Broken> {
        let mut bytes = [0; 32];
        self.entropy
            .fill(&mut bytes)
            .map_err(|e| Broken(e.to_string()))?;
        Ok(bytes)
    }

    /// A number nobody has.
    pub(crate) fn number(&self) -> u64 {
        self.api.fresh().get()
    }

    pub(crate) async fn ring(&self) -> Result<Arc<KeyRing>, Broken> {
        Ok(self.keys.ring().await?)
    }

    /// The time, for who waited meanwhile.
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }
}
