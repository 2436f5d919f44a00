//! Helpers of the OAuth tests: apps, users, and a service with a store, a signer and endpoints.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use async_trait::async_trait;
use workgraph_auth::authorization::pkce::CodeChallenge;
use workgraph_auth::authorization::registered_app::mint_secret;
use workgraph_auth::conformance::{SCOPES, block_on};
use workgraph_auth::endpoints::token_endpoints::NewTokenMaterial;
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, AuthorizationCode, AuthorizationPolicy,
    AuthorizationRefusal, AuthorizationRequest, ConsentRecord, EndpointReply, EndpointRequest,
    Endpoints, LoopbackPolicy, MemoryTokenStore, OAuthStore, Param, RedirectUri, RegisteredScopes,
    Secret, SecretDigest, Tier, TokenSettings, TokenStore, UserDirectory, UserInfo, VerifiedClient,
};

use crate::{at, random};

pub(crate) const REDIRECT: &str = "https://app.example/cb";
pub(crate) const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";
pub(crate) const ISSUER: &str = "https://wg.example/api/1.0";
/// Policy of a server with default settings.
pub(crate) const POLICY: AuthorizationPolicy<'_> = AuthorizationPolicy::new(ISSUER, SCOPES);
pub(crate) const VERIFIER: &str =
    "a-verifier.of_64~characters-0123456789-0123456789-0123456789-012";

pub(crate) fn pairs(list: &[(&str, &str)]) -> Vec<Param> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    list.iter().map(own).collect()
}

/// Returns the list with one parameter set, or left out.
pub(crate) fn with(list: &[Param], name: &str, value: Option<&str>) -> Vec<Param> {
    let mut list: Vec<Param> = list.iter().filter(|(n, _)| n != name).cloned().collect();
    list.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    list
}

pub(crate) fn secret_of(app: u64) -> Secret {
    mint_secret(&random(app)).0
}

/// Returns an app with these scopes, two redirect URLs and distribution to workspace 7.
pub(crate) fn app(id: u64, scopes: &str) -> App {
    let uri = |text| RedirectUri::register(text, LoopbackPolicy::Refused).unwrap();
    App {
        id,
        name: "App".to_owned(),
        secret: Some(mint_secret(&random(id)).1),
        redirects: vec![uri(REDIRECT), uri(OOB)],
        scopes: RegisteredScopes::from_set(SCOPES.parse(scopes).unwrap()),
        distribution: vec![7],
        disabled_in: Vec::new(),
        owner: 12,
        created_at: at(0),
        disabled_at: None,
    }
}

pub(crate) fn ada() -> UserInfo {
    UserInfo {
        id: 12,
        name: "Ada \"L\" é".to_owned(),
        email: "ada@example.com".to_owned(),
        picture: Some("https://wg.example/p/12".to_owned()),
    }
}

/// Returns a valid authorization request of app 40.
pub(crate) fn asks() -> Vec<Param> {
    pairs(&[
        ("client_id", "40"),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("state", "xyz"),
        ("scope", "tasks:read"),
        ("code_challenge", &CodeChallenge::of(VERIFIER).to_string()),
        ("code_challenge_method", "S256"),
    ])
}

pub(crate) fn read(
    app: impl Into<std::sync::Arc<App>>,
    params: &[Param],
) -> Result<AuthorizationRequest, Box<AuthorizationRefusal>> {
    read_by(&POLICY, app, params)
}

/// Reads a request by a policy.
pub(crate) fn read_by(
    policy: &AuthorizationPolicy<'_>,
    app: impl Into<std::sync::Arc<App>>,
    params: &[Param],
) -> Result<AuthorizationRequest, Box<AuthorizationRefusal>> {
    let verified = VerifiedClient::check(params, Some(app), policy).unwrap();
    AuthorizationRequest::read(verified, params, policy)
}

pub(crate) struct Town;

#[async_trait]
impl UserDirectory for Town {
    async fn user_info(&self, user: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        Ok((user == 12).then(ada))
    }
}

/// Memory store with user 12, app 40 (`tasks:read tasks:write openid`) and app 41 (full).
pub(crate) struct Service {
    pub(crate) store: Arc<MemoryTokenStore>,
    policy: AuthorizationPolicy<'static>,
    ids: AtomicU64,
}

impl Service {
    pub(crate) fn new() -> Self {
        let store = Arc::new(MemoryTokenStore::new());
        block_on(store.put_account(Account::new(12, Tier::DEFAULT), None)).unwrap();
        block_on(store.put_app(app(40, "tasks:read tasks:write openid"), None)).unwrap();
        block_on(store.put_app(app(41, "default"), None)).unwrap();
        Self {
            store,
            policy: POLICY,
            ids: AtomicU64::new(1000),
        }
    }

    /// Makes a service with another policy.
    pub(crate) fn under(policy: AuthorizationPolicy<'static>) -> Self {
        Self {
            policy,
            ..Self::new()
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn fresh(&self) -> NewTokenMaterial {
        let (access_id, refresh_id) = (self.id(), self.id());
        NewTokenMaterial {
            access_id,
            access: random(access_id),
            refresh_id,
            refresh: random(refresh_id),
        }
    }

    pub(crate) fn endpoints(&self) -> Endpoints<'_> {
        Endpoints {
            store: self.store.as_ref(),
            users: &Town,
            issuer: self.policy.issuer,
            scopes: self.policy.scopes,
            tokens: TokenSettings::DEFAULT,
            public_clients: self.policy.public_clients,
            signer: None,
        }
    }

    /// Allows a request as user 12, and returns the code.
    pub(crate) fn allow(&self, params: &[Param], now: SystemTime) -> String {
        let id = params
            .iter()
            .find(|(n, _)| n == "client_id")
            .unwrap()
            .1
            .parse()
            .unwrap();
        let app = block_on(self.store.app(id)).unwrap().unwrap();
        let request = read_by(&self.policy, app, params).unwrap();
        let (text, code) = AuthorizationCode::mint(&request, 12, at(0), &random(self.id()), now);
        let allow = ConsentRecord {
            ticket: SecretDigest(random(self.id())),
            time: now,
            authorization: Authorization {
                id: self.id(),
                user: 12,
                app: id,
                scopes: request.scopes(),
                created_at: now,
                revoked_at: None,
            },
            code: Some(code),
        };
        block_on(self.store.keep_consent(allow)).unwrap();
        text.expose().to_owned()
    }

    pub(crate) fn token(&self, form: &[Param], now: SystemTime) -> EndpointReply {
        self.token_by(form, &[], now)
    }

    pub(crate) fn token_by(
        &self,
        pairs: &[Param],
        authorization: &[&str],
        now: SystemTime,
    ) -> EndpointReply {
        let form = EndpointRequest {
            pairs,
            authorization,
        };
        block_on(self.endpoints().token(&form, &self.fresh(), now)).unwrap()
    }

    pub(crate) fn revoke(&self, pairs: &[Param], now: SystemTime) -> EndpointReply {
        let form = EndpointRequest {
            pairs,
            authorization: &[],
        };
        block_on(self.endpoints().revoke(&form, now)).unwrap()
    }

    pub(crate) fn info(&self, token: &str, now: SystemTime) -> String {
        let pairs = pairs(&[("token", token)]);
        let form = EndpointRequest {
            pairs: &pairs,
            authorization: &[],
        };
        let reply = block_on(self.endpoints().token_info(&form, now)).unwrap();
        assert_eq!(reply.status, 200);
        reply.body
    }

    pub(crate) fn works(&self, token: &str, now: SystemTime) -> bool {
        self.info(token, now).contains("\"active\":true")
    }

    /// Returns access and refresh token of a whole flow of app 40.
    pub(crate) fn tokens(&self, now: SystemTime) -> (String, String) {
        let reply = self.token(&exchange(&self.allow(&asks(), now)), now);
        assert_eq!(reply.status, 200, "{}", reply.body);
        (
            member(&reply, "access_token"),
            member(&reply, "refresh_token"),
        )
    }
}

/// Returns the form that redeems a code of app 40.
pub(crate) fn exchange(code: &str) -> Vec<Param> {
    pairs(&[
        ("grant_type", "authorization_code"),
        ("client_id", "40"),
        ("client_secret", secret_of(40).expose()),
        ("redirect_uri", REDIRECT),
        ("code", code),
        ("code_verifier", VERIFIER),
    ])
}

/// Returns the form that uses a refresh token of app 40.
pub(crate) fn refreshing(token: &str) -> Vec<Param> {
    pairs(&[
        ("grant_type", "refresh_token"),
        ("client_id", "40"),
        ("client_secret", secret_of(40).expose()),
        ("refresh_token", token),
    ])
}

/// Returns a member of a reply that is a text without escapes.
pub(crate) fn member(reply: &EndpointReply, name: &str) -> String {
    let mark = format!("\"{name}\":\"");
    let (_, rest) = reply
        .body
        .split_once(&mark)
        .unwrap_or_else(|| panic!("no {name} in {}", reply.body));
    rest.split_once('"').unwrap().0.to_owned()
}

/// Returns status and error code.
pub(crate) fn error(reply: &EndpointReply) -> (u16, String) {
    (reply.status, member(reply, "error"))
}

/// Returns the result of `error` for a status of 400.
pub(crate) fn bad(code: &str) -> (u16, String) {
    (400, code.to_owned())
}
