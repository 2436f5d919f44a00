//! A portal with users, workspaces, an app, and switches for failures.
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use workgraph_api::SCOPES;
use workgraph_api::operations::settings::InspectorSettings;
use workgraph_api::ports::EntropyUnavailable;
use workgraph_api::{Api, ApiResponse, Clock, Entropy};
use workgraph_auth::authorization::registered_app::mint_secret;
use workgraph_auth::conformance::block_on;
use workgraph_auth::oidc::signing_keys::SignError;
use workgraph_auth::{
    Account, App, AuthStoreError, JsonWebKey, Login, LoopbackPolicy, OAuthStore, RedirectUri,
    RegisteredScopes, Secret, Signer, SigningKeyRing, Tier, TokenStore, UserDirectory, UserInfo,
};
use workgraph_core::GidGenerator;
use workgraph_core::audit::ActorContext;
use workgraph_portal::console::{InvitationSummary, UserWorkspace, WorkspaceDirectory};
use workgraph_portal::{
    AuditedStore, PasswordHashError, PasswordHasher, PasswordQueueFull, PasswordSlot, Portal,
    PortalDependencies, PortalRequest, PortalSettings, SigningKeys,
};
use workgraph_testkit::{ManualClock, MemoryStore};

use super::browser::{form, request};
use super::counted::Counted;

/// Ada and Eve are members of workspace 7, where Ada is an admin; Bob is a member of 8.
pub(crate) const ADA: u64 = 1;
pub(crate) const BOB: u64 = 2;
const EVE: u64 = 3;
/// The app, for users of workspace 7.
pub(crate) const APP: u64 = 40;
pub(crate) const REDIRECT: &str = "https://planner.example/cb";
pub(crate) const ROOT: &str = "https://work.example";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

struct Hand(ManualClock);

impl Clock for Hand {
    fn now(&self) -> SystemTime {
        self.0.now()
    }
}

/// Random bytes for tests, until they are switched off.
#[derive(Default)]
struct TestEntropy {
    drawn: AtomicU64,
    off: AtomicBool,
}

impl Entropy for TestEntropy {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyUnavailable> {
        if self.off.load(Relaxed) {
            return Err(EntropyUnavailable);
        }
        for byte in buffer {
            let n = self.drawn.fetch_add(1, Relaxed);
            *byte = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        }
        Ok(())
    }
}

/// Checks passwords whose hash is `hash of` them, and remembers whether there was a hash.
#[derive(Default)]
pub(crate) struct Locks {
    pub(crate) known: Mutex<Vec<bool>>,
    /// True if there is no slot at all; `crowded` is true if there are slots for known browsers alone.
    pub(crate) busy: AtomicBool,
    pub(crate) crowded: AtomicBool,
    /// Number of slots that are taken.
    pub(crate) taken: Arc<AtomicU64>,
}

struct Taken(Arc<AtomicU64>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[async_trait]
impl PasswordHasher for Locks {
    fn reserve(&self, known: bool) -> Result<PasswordSlot, PasswordQueueFull> {
        if self.busy.load(Relaxed) || self.crowded.load(Relaxed) && !known {
            return Err(PasswordQueueFull);
        }
        self.taken.fetch_add(1, Relaxed);
        Ok(PasswordSlot::new(Taken(Arc::clone(&self.taken))))
    }
    async fn check(&self, _: PasswordSlot, password: Secret, hash: Option<Secret>) -> bool {
        self.known.lock().unwrap().push(hash.is_some());
        let right = format!("hash of {}", password.expose());
        hash.is_some_and(|hash| hash.expose() == right)
    }
    async fn hash(
        &self,
        _: PasswordSlot,
        password: Secret,
        _: [u8; 16],
    ) -> Result<Secret, PasswordHashError> {
        Ok(Secret::new(format!("hash of {}", password.expose())))
    }
}

#[derive(Default)]
struct Neighbours {
    /// Users whose password was used or changed.
    notified: Mutex<Vec<(u64, &'static str)>>,
}

#[async_trait]
impl UserDirectory for Neighbours {
    async fn user_info(&self, user: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        let (name, email) = (format!("User {user}"), format!("{user}@example.com"));
        Ok(Some(UserInfo {
            id: user,
            name,
            email,
            picture: None,
        }))
    }
}

#[async_trait]
impl WorkspaceDirectory for Neighbours {
    async fn workspaces_of(&self, user: u64) -> Result<Vec<UserWorkspace>, AuthStoreError> {
        let workspace = if user == BOB { 8 } else { 7 };
        let name = format!("Workspace {workspace}");
        Ok(vec![UserWorkspace {
            workspace,
            name,
            admin: user == ADA,
        }])
    }
    async fn invitations(&self, _: u64) -> Result<Vec<InvitationSummary>, AuthStoreError> {
        Ok(Vec::new())
    }
    async fn answer_invitation(
        &self,
        _: u64,
        _: u64,
        _: bool,
        _: &ActorContext,
    ) -> Result<bool, AuthStoreError> {
        Ok(false)
    }
    async fn services(&self, _: u64) -> Result<Vec<(u64, String)>, AuthStoreError> {
        Ok(Vec::new())
    }
    async fn create_service(
        &self,
        _: u64,
        _: &str,
        _: &ActorContext,
    ) -> Result<u64, AuthStoreError> {
        Err(AuthStoreError::NoAccount)
    }
    fn password_used(&self, user: u64) {
        self.notified.lock().unwrap().push((user, "used"));
    }
    fn password_changed(&self, user: u64) {
        self.notified.lock().unwrap().push((user, "changed"));
    }
}

/// Key that makes a signature of no meaning, for flows in which no test verifies it.
struct Stamp;

impl Signer for Stamp {
    fn kid(&self) -> &str {
        "stamp"
    }
    fn jwk(&self) -> JsonWebKey {
        JsonWebKey {
            kty: "RSA",
            usage: "sig",
            alg: "RS256",
            kid: self.kid().to_owned(),
            n: String::new(),
            e: String::new(),
        }
    }
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, SignError> {
        Ok(vec![1])
    }
}

#[async_trait]
impl SigningKeys for Neighbours {
    async fn ring(&self) -> Result<Arc<SigningKeyRing>, AuthStoreError> {
        let made = ManualClock::default().now() - Duration::from_secs(86_400);
        Ok(Arc::new(SigningKeyRing::new([(
            Arc::new(Stamp) as Arc<dyn Signer>,
            made,
        )])))
    }
}

/// Store that ignores the actor, with the users whose sign-ins failed.
pub(crate) struct Plain(Arc<Counted>, pub(crate) Mutex<Vec<u64>>);

impl AuditedStore for Plain {
    fn as_actor(&self, _: ActorContext, _: SystemTime) -> Arc<dyn OAuthStore> {
        self.0.clone()
    }

    fn sign_in_failed(&self, user: u64, _: ActorContext, _: SystemTime) {
        self.1.lock().unwrap().push(user);
    }
}

pub(crate) struct Town {
    pub(crate) store: Arc<Counted>,
    pub(crate) acts: Arc<Plain>,
    places: Arc<Neighbours>,
    pub(crate) locks: Arc<Locks>,
    pub(crate) secret: Secret,
    clock: Arc<Hand>,
    entropy: Arc<TestEntropy>,
    /// Portals of two nodes, of which the first answers until [`Town::go_to_node`].
    nodes: [Portal; 2],
    node: AtomicUsize,
    pub(crate) api: Arc<Api>,
}

impl Town {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut PortalSettings)) -> Self {
        Self::with_inspector(0, change)
    }

    /// Returns a portal whose request inspector has this much memory.
    pub(crate) fn with_inspector(bytes: usize, change: impl FnOnce(&mut PortalSettings)) -> Self {
        let store = Arc::new(Counted::default());
        let (clock, entropy) = (
            Arc::new(Hand(ManualClock::default())),
            Arc::new(TestEntropy::default()),
        );
        for user in [ADA, BOB, EVE] {
            let login = Login::new(
                &format!("{user}@example.com"),
                Secret::new(format!("hash of pass-{user}")),
            );
            block_on(store.put_account(Account::new(user, Tier::DEFAULT), Some(login))).unwrap();
        }
        let (secret, digest) = mint_secret(&[9; 32]);
        let app = App {
            id: APP,
            name: "Planner".to_owned(),
            secret: Some(digest),
            redirects: vec![RedirectUri::register(REDIRECT, LoopbackPolicy::Refused).unwrap()],
            scopes: RegisteredScopes::Only(SCOPES.parse("tasks:read tasks:write openid").unwrap()),
            distribution: vec![7],
            disabled_in: vec![],
            owner: ADA,
            created_at: clock.now(),
            disabled_at: None,
        };
        block_on(store.put_app(app, None)).unwrap();
        let api = Arc::new(Api::new(workgraph_api::ApiDependencies {
            graph: Arc::new(MemoryStore::new()),
            tokens: store.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            settings: workgraph_api::ApiSettings {
                inspector: InspectorSettings {
                    bytes,
                    ..InspectorSettings::default()
                },
                ..workgraph_api::ApiSettings::default()
            },
            limits: workgraph_api::TokenLimits::default(),
            keys: workgraph_wire::KeyRing::new(1, [7; 32]),
            gid_generator: Arc::new(GidGenerator::new(0, None)),
        }));
        let mut settings = PortalSettings {
            base_url: format!("{ROOT}/api/1.0"),
            auth_url: ROOT.to_owned(),
            ..PortalSettings::default()
        };
        change(&mut settings);
        let locks = Arc::new(Locks::default());
        let acts = Arc::new(Plain(store.clone(), Mutex::default()));
        let places = Arc::new(Neighbours::default());
        let nodes = [settings.clone(), settings].map(|settings| {
            Portal::new(PortalDependencies {
                api: Arc::clone(&api),
                store: store.clone(),
                audited_store: acts.clone(),
                user_directory: places.clone(),
                workspaces: places.clone(),
                passwords: locks.clone(),
                keys: places.clone(),
                clock: clock.clone(),
                entropy: entropy.clone(),
                settings,
            })
        });
        Self {
            store,
            acts,
            places,
            locks,
            secret,
            clock,
            entropy,
            nodes,
            node: AtomicUsize::new(0),
            api,
        }
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.0.advance(Duration::from_secs(seconds));
    }

    /// Returns the calls about passwords that the service got.
    pub(crate) fn notified(&self) -> Vec<(u64, &'static str)> {
        self.places.notified.lock().unwrap().clone()
    }

    /// Switches random bytes off or on.
    pub(crate) fn switch_entropy(&self, on: bool) {
        self.entropy.off.store(!on, Relaxed);
    }

    /// Lets a node answer from now on.
    pub(crate) fn go_to_node(&self, node: usize) {
        self.node.store(node, Relaxed);
    }

    /// Returns true if a request has a route.
    pub(crate) fn has_route(&self, request: &PortalRequest) -> bool {
        let portal = self.nodes.get(self.node.load(Relaxed)).unwrap();
        portal.route(&request.method, &request.path).is_some()
    }

    pub(crate) fn send(&self, request: &PortalRequest) -> ApiResponse {
        let portal = self.nodes.get(self.node.load(Relaxed)).unwrap();
        let route = portal.route(&request.method, &request.path);
        let route =
            route.unwrap_or_else(|| panic!("{} {} leads nowhere", request.method, request.path));
        block_on(portal.answer(route, request))
    }

    /// Posts a form as an app's server does.
    pub(crate) fn call(&self, from: [u8; 4], path: &str, fields: &[(&str, &str)]) -> ApiResponse {
        self.send(&PortalRequest {
            body: Bytes::from(form(fields)),
            ..request("POST", path, from)
        })
    }

    /// Posts the app's form for a code.
    pub(crate) fn redeem(&self, code: &str) -> ApiResponse {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", "40"),
            ("client_secret", self.secret.expose()),
            ("redirect_uri", REDIRECT),
            ("code", code),
            ("code_verifier", VERIFIER),
        ];
        self.call([9, 9, 9, 9], "/-/oauth_token", &fields)
    }
}
