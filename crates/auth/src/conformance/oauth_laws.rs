//! Laws of the token lifecycle. Long random runs do everything to tokens that apps, users, owners and time can, through the
//! endpoints, and compare the outcome with a model that is simple enough to trust.
//!
//! The two share no reasoning: the store writes one row and works out the state of a token in its context when it looks the
//! token up; the model walks all tokens at once and marks those that are revoked.
mod law_steps;

use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use super::{SCOPES, TokenStoreFailure, at, ensure};
use crate::authorization::authorization_code::{AuthorizationCode, REPEAT_GRACE};
use crate::authorization::authorization_policy::AuthorizationPolicy;
use crate::authorization::authorization_request::{AuthorizationRequest, VerifiedClient};
use crate::authorization::pkce::CodeChallenge;
use crate::authorization::redirect_uri::{LoopbackPolicy, RedirectUri};
use crate::authorization::registered_app::{App, RegisteredScopes, mint_secret};
use crate::authorization::user_authorization::Authorization;
use crate::endpoints::introspection::introspect;
use crate::endpoints::token_endpoints::{
    EndpointReply, EndpointRequest, Endpoints, NewTokenMaterial, UserDirectory,
};
use crate::oidc::id_token::UserInfo;
use crate::params::Param;
use crate::ports::oauth_store::{ConsentRecord, OAuthStore};
use crate::ports::token_store::AuthStoreError;
use crate::tokens::grant::check_token;
use crate::tokens::scope::ScopeSet;
use crate::tokens::token_record::{Account, Tier};
use crate::tokens::token_text::{SecretDigest, TokenSettings, token_digest};

const USERS: [u64; 3] = [1, 2, 3];
const APPS: [u64; 3] = [40, 41, 42];
const REDIRECT: &str = "https://app.example/cb";
const POLICY: AuthorizationPolicy<'_> =
    AuthorizationPolicy::new("https://wg.example/api/1.0", SCOPES);
const NAMES: [&str; 4] = ["tasks:read", "tasks:write", "users:read", "openid"];
/// Number of codes, refresh tokens and access tokens that are tracked; older ones are dropped.
const WATCHED: usize = 24;

/// Counts of the steps of a run, by kind. A run with a zero says nothing about that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OAuthLawCounts {
    /// All steps of the run.
    pub steps: u64,
    /// Codes made after a consent.
    pub allowed: u64,
    /// Codes made without asking the user, under a live authorization.
    pub silent: u64,
    /// Silent requests that had to fail, and did.
    pub not_silent: u64,
    /// Codes redeemed.
    pub redeemed: u64,
    /// Redemptions that had to fail, and did.
    pub refused: u64,
    /// Codes replayed by their own app.
    pub replayed: u64,
    /// Access tokens issued for refresh tokens.
    pub refreshed: u64,
    /// Refreshes that had to fail, and did.
    pub not_refreshed: u64,
    /// Refresh tokens revoked by apps.
    pub revoked: u64,
    /// Apps deauthorized by users.
    pub deauthorized: u64,
    /// Look-ups of tokens that had to work, and did.
    pub alive: u64,
    /// Look-ups of tokens that had to be dead, and were.
    pub dead: u64,
    /// Look-ups of tokens whose scopes were cut.
    pub cut: u64,
}

/// Runs `steps` random steps on an empty store; the same `seed` gives the same steps.
///
/// # Errors
/// The first difference between store and model, with the step.
pub async fn run(
    store: &dyn OAuthStore,
    seed: u64,
    steps: u64,
) -> Result<OAuthLawCounts, TokenStoreFailure> {
    let mut world = OAuthModel::new(store, seed).await?;
    for step in 0..steps {
        let introspected = |TokenStoreFailure(reason)| {
            TokenStoreFailure(format!("seed {seed}, step {step}: {reason}"))
        };
        world.step().await.map_err(introspected)?;
    }
    world.tally.steps = steps;
    Ok(world.tally)
}

struct AnyUser;

#[async_trait]
impl UserDirectory for AnyUser {
    async fn user_info(&self, user: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        Ok(Some(UserInfo {
            id: user,
            name: "Ada".to_owned(),
            email: "ada@example.com".to_owned(),
            picture: None,
        }))
    }
}

/// Random numbers by SplitMix64, which are good enough for tests.
struct LawRandom(u64);

impl LawRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap_or(0)
    }

    /// Returns a number below `n`, more often near its end, since new items are the most
    /// interesting.
    fn late(&mut self, n: usize) -> usize {
        self.below(n).max(self.below(n))
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    fn scopes(&mut self) -> String {
        let bits = 1 + self.below(15);
        let chosen = NAMES
            .iter()
            .enumerate()
            .filter(|(at, _)| bits >> at & 1 == 1);
        chosen.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
    }
}

/// Code as the model knows it.
#[derive(Clone, Debug)]
struct ModelCode {
    text: String,
    verifier: Option<String>,
    user: u64,
    app: u64,
    scopes: ScopeSet,
    end: SystemTime,
    used: Option<SystemTime>,
    /// True if the user has withdrawn its authorization.
    withdrawn: bool,
    family: Option<u64>,
}

/// Token as the model knows it.
#[derive(Clone, Debug)]
struct ModelToken {
    text: String,
    user: u64,
    app: u64,
    scopes: ScopeSet,
    /// The id of the refresh token on which it depends; its own id for a refresh token.
    family: u64,
    refresh: bool,
    end: Option<SystemTime>,
    dead: bool,
}

struct OAuthModel<'a> {
    store: &'a dyn OAuthStore,
    rng: LawRandom,
    tally: OAuthLawCounts,
    now: SystemTime,
    next_id: u64,
    apps: Vec<App>,
    secrets: Vec<String>,
    disabled: Vec<u64>,
    /// The scopes that each user (first) granted to each app (second).
    granted: Vec<((u64, u64), ScopeSet)>,
    codes: Vec<ModelCode>,
    tokens: Vec<ModelToken>,
}

fn text_of(body: &str, member: &str) -> Option<String> {
    let (_, rest) = body.split_once(&format!("\"{member}\":\""))?;
    Some(rest.split_once('"')?.0.to_owned())
}

fn pairs(list: &[(&str, &str)]) -> Vec<Param> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    list.iter().map(own).collect()
}

impl<'a> OAuthModel<'a> {
    async fn new(store: &'a dyn OAuthStore, seed: u64) -> Result<Self, TokenStoreFailure> {
        let mut world = Self {
            store,
            rng: LawRandom(seed),
            tally: OAuthLawCounts::default(),
            now: at(0),
            next_id: 1000,
            apps: Vec::new(),
            secrets: Vec::new(),
            disabled: Vec::new(),
            granted: Vec::new(),
            codes: Vec::new(),
            tokens: Vec::new(),
        };
        for user in USERS {
            store
                .put_account(Account::new(user, Tier::new(1)), None)
                .await?;
        }
        for id in APPS {
            let (secret, digest) = mint_secret(&SecretDigest::of(&format!("secret {id}")).0);
            let uri = RedirectUri::register(REDIRECT, LoopbackPolicy::Refused);
            let app = App {
                id,
                name: "App".to_owned(),
                secret: Some(digest),
                redirects: uri.into_iter().collect(),
                scopes: RegisteredScopes::Full,
                distribution: vec![7],
                disabled_in: Vec::new(),
                owner: 1,
                created_at: at(0),
                disabled_at: None,
            };
            store.put_app(app.clone(), None).await?;
            world.apps.push(app);
            world.secrets.push(secret.expose().to_owned());
        }
        Ok(world)
    }

    fn endpoints(&self) -> Endpoints<'a> {
        Endpoints {
            store: self.store,
            users: &AnyUser,
            issuer: POLICY.issuer,
            scopes: POLICY.scopes,
            tokens: TokenSettings::DEFAULT,
            public_clients: POLICY.public_clients,
            signer: None,
        }
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn random(&mut self) -> [u8; 32] {
        SecretDigest::of(&self.rng.next().to_string()).0
    }

    fn fresh(&mut self) -> NewTokenMaterial {
        NewTokenMaterial {
            access_id: self.id(),
            access: self.random(),
            refresh_id: self.id(),
            refresh: self.random(),
        }
    }

    fn app(&self, id: u64) -> Result<(&App, &str), TokenStoreFailure> {
        let mut both = self.apps.iter().zip(&self.secrets);
        let found = both.find(|(app, _)| app.id == id);
        let (app, secret) = found.ok_or_else(|| TokenStoreFailure("no such app".to_owned()))?;
        Ok((app, secret))
    }

    fn grant(&self, user: u64, app: u64) -> Option<ScopeSet> {
        let found = self.granted.iter().find(|(pair, _)| *pair == (user, app));
        found.map(|(_, scopes)| *scopes)
    }

    /// Returns the scopes that a token has now in the model; `None` if it is dead.
    fn expected(&self, token: &ModelToken) -> Option<ScopeSet> {
        let (app, _) = self.app(token.app).ok()?;
        let over = token.end.is_some_and(|end| self.now >= end);
        if token.dead || over || app.disabled_at.is_some() || self.disabled.contains(&token.user) {
            return None;
        }
        let granted = self.grant(token.user, token.app)?;
        Some(token.scopes.intersect(granted).intersect(app.scopes.set()))
    }

    async fn step(&mut self) -> Result<(), TokenStoreFailure> {
        match self.rng.below(200) {
            0..=29 => self.authorize().await?,
            30..=74 => self.redeem().await?,
            75..=119 => self.refresh().await?,
            120..=124 => self.revoke().await?,
            125..=126 => self.deauthorize().await?,
            127..=128 => self.register().await?,
            129..=131 => self.switch_app().await?,
            132..=134 => self.switch_user().await?,
            135..=149 => self.pass(),
            _ => {}
        }
        if let Some(at) = self.rng.below(self.tokens.len() + 1).checked_sub(1) {
            self.look(at).await?;
        }
        for kept in [false, true] {
            let count = self.tokens.iter().filter(|t| t.refresh == kept).count();
            let oldest = self.tokens.iter().position(|t| t.refresh == kept);
            if let Some(oldest) = oldest.filter(|_| count > WATCHED) {
                self.tokens.remove(oldest);
            }
        }
        if self.codes.len() > WATCHED {
            self.codes.remove(0);
        }
        Ok(())
    }

    /// Advances the clock: by some seconds or minutes, or to the end of a code or token, or to a millisecond before it.
    fn pass(&mut self) {
        let ends = self.codes.iter().map(|code| code.end);
        let ends = ends.chain(self.tokens.iter().filter_map(|token| token.end));
        let next = ends.filter(|end| *end > self.now).min();
        self.now = match (self.rng.below(6), next) {
            (0, Some(end)) => end,
            (1, Some(end)) => (end - Duration::from_millis(1)).max(self.now),
            (2, _) => self.now + Duration::from_secs(900),
            _ => self.now + Duration::from_secs(5),
        };
    }

    fn kill(&mut self, doomed: impl Fn(&ModelToken) -> bool) {
        for token in self.tokens.iter_mut().filter(|token| doomed(token)) {
            token.dead = true;
        }
    }

    /// Checks a token as an API request and an introspection would.
    async fn look(&mut self, at: usize) -> Result<(), TokenStoreFailure> {
        let Some(token) = self.tokens.get(at).cloned() else {
            return Ok(());
        };
        let digest = token_digest(&token.text)
            .ok_or_else(|| TokenStoreFailure("a garbled token".to_owned()))?;
        let found = self.store.find_token(&digest).await?;
        let (record, account) =
            found.ok_or_else(|| TokenStoreFailure("a token is found, dead or alive".to_owned()))?;
        let expected = self.expected(&token);
        let bearer = check_token(&record, &account, self.now).map(|grant| grant.scopes);
        ensure(
            bearer.ok() == expected.filter(|_| !token.refresh),
            "a request may do what the model says",
        )?;
        let introspected = introspect(Some((&record, &account)), self.now).to_json();
        ensure(
            introspected.contains("\"active\":true") == expected.is_some(),
            "introspection tells what is so",
        )?;
        match expected {
            Some(scopes) => {
                ensure(
                    introspected.contains(&format!("\"scope\":\"{scopes}\"")),
                    "introspection tells the scopes that are left",
                )?;
                self.tally.alive += 1;
                self.tally.cut += u64::from(scopes != token.scopes);
            }
            None => {
                self.tally.dead += 1;
                if token.dead && self.rng.one_in(4) {
                    self.tokens.remove(at);
                }
            }
        }
        Ok(())
    }
}
