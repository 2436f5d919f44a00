//! What the OAuth tests share: apps, people, and a service in which everything is at hand.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use async_trait::async_trait;
use workgraph_auth::client::mint_secret;
use workgraph_auth::conformance::block_on;
use workgraph_auth::endpoint::Fresh;
use workgraph_auth::pkce::Challenge;
use workgraph_auth::{
    Account, Allow, App, Authorization, AuthorizationRequest, Code, Digest, Endpoints, Form,
    IssuerInResponses, Loopback, MemoryTokenStore, OAuthStore, Pair, People, Person, Policy,
    RedirectUri, Refused, Registered, Reply, Secret, StoreError, Tier, TokenStore, Verified,
};

use crate::{at, random};

pub(crate) const REDIRECT: &str = "https://app.example/cb";
pub(crate) const OOB: &str = "urn:ietf:wg:oauth:2.0:oob";
pub(crate) const ISSUER: &str = "https://wg.example/api/1.0";
/// The policy of a server that nobody configured.
pub(crate) const POLICY: Policy<'_> = Policy {
    issuer: ISSUER,
    issuer_in_responses: IssuerInResponses::Openid,
    oob_without_pkce: false,
};
pub(crate) const VERIFIER: &str =
    "a-verifier.of_64~characters-0123456789-0123456789-0123456789-012";

pub(crate) fn pairs(list: &[(&str, &str)]) -> Vec<Pair> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    list.iter().map(own).collect()
}

/// The list with one parameter set, or left out.
pub(crate) fn with(list: &[Pair], name: &str, value: Option<&str>) -> Vec<Pair> {
    let mut list: Vec<Pair> = list.iter().filter(|(n, _)| n != name).cloned().collect();
    list.extend(value.map(|value| (name.to_owned(), value.to_owned())));
    list
}

pub(crate) fn secret_of(app: u64) -> Secret {
    mint_secret(&random(app)).0
}

/// An app with these scopes, two redirect URLs and distribution to workspace 7.
pub(crate) fn app(id: u64, scopes: &str) -> App {
    let uri = |text| RedirectUri::register(text, Loopback::Refused).unwrap();
    App {
        id,
        name: "App".to_owned(),
        secret: Some(mint_secret(&random(id)).1),
        redirects: vec![uri(REDIRECT), uri(OOB)],
        scopes: Registered::from_set(scopes.parse().unwrap()),
        distribution: vec![7],
        disabled_in: Vec::new(),
        owner: 12,
        created_at: at(0),
        disabled_at: None,
    }
}

pub(crate) fn ada() -> Person {
    Person {
        id: 12,
        name: "Ada \"L\" é".to_owned(),
        email: "ada@example.com".to_owned(),
        picture: Some("https://wg.example/p/12".to_owned()),
    }
}

/// A valid authorization request of app 40.
pub(crate) fn asks() -> Vec<Pair> {
    pairs(&[
        ("client_id", "40"),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("state", "xyz"),
        ("scope", "tasks:read"),
        ("code_challenge", &Challenge::of(VERIFIER).to_string()),
        ("code_challenge_method", "S256"),
    ])
}

pub(crate) fn read(
    app: impl Into<std::sync::Arc<App>>,
    params: &[Pair],
) -> Result<AuthorizationRequest, Box<Refused>> {
    read_by(&POLICY, app, params)
}

/// Reads a request by a policy.
pub(crate) fn read_by(
    policy: &Policy<'_>,
    app: impl Into<std::sync::Arc<App>>,
    params: &[Pair],
) -> Result<AuthorizationRequest, Box<Refused>> {
    let verified = Verified::check(params, Some(app)).unwrap();
    AuthorizationRequest::read(verified, params, policy)
}

pub(crate) struct Town;

#[async_trait]
impl People for Town {
    async fn person(&self, user: u64) -> Result<Option<Person>, StoreError> {
        Ok((user == 12).then(ada))
    }
}

/// The memory store with user 12, app 40 (`tasks:read tasks:write openid`) and app 41 (full).
pub(crate) struct Service {
    pub(crate) store: Arc<MemoryTokenStore>,
    ids: AtomicU64,
}

impl Service {
    pub(crate) fn new() -> Self {
        let store = Arc::new(MemoryTokenStore::new());
        block_on(store.put_account(Account::new(12, Tier::Free), None)).unwrap();
        block_on(store.put_app(app(40, "tasks:read tasks:write openid"), None)).unwrap();
        block_on(store.put_app(app(41, "default"), None)).unwrap();
        Self {
            store,
            ids: AtomicU64::new(1000),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn fresh(&self) -> Fresh {
        let (access_id, refresh_id) = (self.id(), self.id());
        Fresh {
            access_id,
            access: random(access_id),
            refresh_id,
            refresh: random(refresh_id),
        }
    }

    pub(crate) fn endpoints(&self) -> Endpoints<'_> {
        Endpoints {
            store: self.store.as_ref(),
            people: &Town,
            issuer: ISSUER,
            signer: None,
        }
    }

    /// User 12 allows a request, and the code comes back.
    pub(crate) fn allow(&self, params: &[Pair], now: SystemTime) -> String {
        let id = params
            .iter()
            .find(|(n, _)| n == "client_id")
            .unwrap()
            .1
            .parse()
            .unwrap();
        let app = block_on(self.store.app(id)).unwrap().unwrap();
        let request = read(app, params).unwrap();
        let (text, code) = Code::mint(&request, 12, at(0), &random(self.id()), now);
        let allow = Allow {
            ticket: Digest(random(self.id())),
            at: now,
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
        block_on(self.store.allow(allow)).unwrap();
        text.expose().to_owned()
    }

    pub(crate) fn token(&self, form: &[Pair], now: SystemTime) -> Reply {
        self.token_by(form, &[], now)
    }

    pub(crate) fn token_by(
        &self,
        pairs: &[Pair],
        authorization: &[&str],
        now: SystemTime,
    ) -> Reply {
        let form = Form {
            pairs,
            authorization,
        };
        block_on(self.endpoints().token(&form, &self.fresh(), now)).unwrap()
    }

    pub(crate) fn revoke(&self, pairs: &[Pair], now: SystemTime) -> Reply {
        let form = Form {
            pairs,
            authorization: &[],
        };
        block_on(self.endpoints().revoke(&form, now)).unwrap()
    }

    pub(crate) fn info(&self, token: &str, now: SystemTime) -> String {
        let pairs = pairs(&[("token", token)]);
        let form = Form {
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

    /// Access and refresh token of a whole flow of app 40.
    pub(crate) fn tokens(&self, now: SystemTime) -> (String, String) {
        let reply = self.token(&exchange(&self.allow(&asks(), now)), now);
        assert_eq!(reply.status, 200, "{}", reply.body);
        (
            member(&reply, "access_token"),
            member(&reply, "refresh_token"),
        )
    }
}

/// The form that redeems a code of app 40.
pub(crate) fn exchange(code: &str) -> Vec<Pair> {
    pairs(&[
        ("grant_type", "authorization_code"),
        ("client_id", "40"),
        ("client_secret", secret_of(40).expose()),
        ("redirect_uri", REDIRECT),
        ("code", code),
        ("code_verifier", VERIFIER),
    ])
}

/// The form that uses a refresh token of app 40.
pub(crate) fn refreshing(token: &str) -> Vec<Pair> {
    pairs(&[
        ("grant_type", "refresh_token"),
        ("client_id", "40"),
        ("client_secret", secret_of(40).expose()),
        ("refresh_token", token),
    ])
}

/// A member of a reply that is a text without escapes.
pub(crate) fn member(reply: &Reply, name: &str) -> String {
    let mark = format!("\"{name}\":\"");
    let (_, rest) = reply
        .body
        .split_once(&mark)
        .unwrap_or_else(|| panic!("no {name} in {}", reply.body));
    rest.split_once('"').unwrap().0.to_owned()
}

/// Status and error code.
pub(crate) fn error(reply: &Reply) -> (u16, String) {
    (reply.status, member(reply, "error"))
}

/// What `error` gives for a status of 400.
pub(crate) fn bad(code: &str) -> (u16, String) {
    (400, code.to_owned())
}
