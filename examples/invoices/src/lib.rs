//! A service of its own from three libraries: pages by `workgraph-wire`, limits by `workgraph-limits`, and tokens of its own
//! OAuth server by `workgraph-auth`. Read this file first; `sign_in` is the page, and `limits` says what each client may do.

mod limits;
mod sign_in;

use std::error::Error;
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{FromRef, State};
use axum::middleware::map_response;
use axum::routing::get;
use axum::{Router, response};
use workgraph_auth::{
    Account, App, Grant, GrantLayer, LoopbackPolicy, MemoryTokenStore, OAuthServer, Random,
    RedirectUri, ScopeRegistry, Secret, Tier, TokenStore as _, TokenVerifier,
};
use workgraph_wire::{KeyRing, Page, PageParams, PageTokens};

use sign_in::Users;

/// State that the handlers share.
#[derive(Clone)]
pub struct Invoices {
    pages: PageTokens,
    clock: fn() -> SystemTime,
    /// Server that gives tokens to apps.
    pub oauth: OAuthServer,
}

impl FromRef<Invoices> for PageTokens {
    fn from_ref(app: &Invoices) -> Self {
        app.pages.clone()
    }
}

impl FromRef<Invoices> for TokenVerifier {
    fn from_ref(app: &Invoices) -> Self {
        app.oauth.verifier()
    }
}

impl Invoices {
    /// Makes the service for an address, with its users: here in memory, in earnest in a database behind the same traits. Time
    /// and random bytes are arguments, so that a test decides about them.
    ///
    /// # Errors
    /// The store fails, or the system has no random bytes.
    pub async fn new(
        issuer: &str,
        clock: fn() -> SystemTime,
        random: Random,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let store = Arc::new(MemoryTokenStore::new());
        for user in Users::IDS {
            let account = Account::new(user, Tier::DEFAULT);
            store.put_account(account, None).await?;
        }
        // Keep this key: with another one, the page tokens that clients hold are refused.
        let page_key = random()?;
        let oauth = OAuthServer::builder(issuer, store, clock, random);
        Ok(Self {
            clock,
            pages: PageTokens::new(KeyRing::new(1, page_key)),
            oauth: oauth.scopes(scopes()).users(Users).build(),
        })
    }

    /// Registers an app that may ask users for their invoices, and returns it with its secret, which nobody can read again.
    ///
    /// # Errors
    /// The redirect URL is none, or the store fails.
    pub async fn register_app(
        &self,
        name: &str,
        redirect: &str,
    ) -> Result<(App, Secret), Box<dyn Error + Send + Sync>> {
        let redirect = RedirectUri::register(redirect, LoopbackPolicy::Allowed)?;
        let scopes = scopes().parse("invoices:read")?;
        let owner = Users::IDS[0];
        Ok(self
            .oauth
            .register_app(name, redirect, scopes, owner)
            .await?)
    }

    /// Returns all routes. Of the layers of a router the last one comes first: who asks, then what he may still do.
    pub fn router(&self) -> Router {
        let invoices = Router::new()
            .route("/invoices", get(invoices))
            .layer(limits::of_tokens(self.clock))
            .layer(GrantLayer::new(self.oauth.verifier()))
            .layer(map_response(limits::explain));
        let guessed = sign_in::routes().with_state(self.oauth.clone());
        let guessed = guessed.merge(self.oauth.axum_router());
        let guessed = guessed
            .layer(map_response(limits::charge_for_a_guess))
            .layer(limits::of_guesses(self.clock))
            .layer(map_response(limits::explain));
        invoices.with_state(self.clone()).merge(guessed)
    }
}

/// Returns what apps may ask users for.
fn scopes() -> ScopeRegistry {
    ScopeRegistry::new([("invoices:read", "See your invoices")])
}

/// `GET /invoices`: a page of the numbers of a user's invoices, the newest first.
async fn invoices(
    grant: Grant,
    State(pages): State<PageTokens>,
    params: PageParams<20, 100>,
) -> response::Result<Page<u64>> {
    grant.require("invoices:read")?;
    // A page token is good for the list and the user that it was made for.
    let binding = ("GET /invoices", grant.user);
    let after = params.after::<u64>(&pages, &binding)?;
    // Here a database reads `rows_to_read()` rows behind `after`.
    let numbers = (1..after.unwrap_or(251)).rev();
    let rows = numbers.take(params.rows_to_read()).collect();
    Ok(params.page(rows, &pages, &binding, |number| *number)?)
}
