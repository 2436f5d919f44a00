//! A service with an OAuth server inside it: `cargo run -p workgraph-auth --example oauth_server --features axum`

use std::{sync::Arc, time::SystemTime};

use axum::{Router, body::Body, http::Request, routing::get};
use tower::ServiceExt as _;
use workgraph_auth::*;

struct Directory; // a table of yours

#[async_trait::async_trait]
impl UserDirectory for Directory {
    async fn user_info(&self, id: u64) -> Result<Option<UserInfo>, AuthStoreError> {
        Ok((id == 7).then(|| UserInfo::new(id, "Ada", "ada@example.com")))
    }
}

async fn invoices(grant: Grant) -> Result<String, MissingScope> {
    grant.require("invoices:read")?;
    Ok(format!("invoices of user {}", grant.user))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scopes = ScopeRegistry::new([("invoices:read", "See your invoices")]);
    let store = Arc::new(MemoryTokenStore::new());
    let (clock, random): (fn() -> SystemTime, Random) = (|| SystemTime::UNIX_EPOCH, || Ok([7; 32])); // yours
    let oauth = OAuthServer::builder("https://id.example", store, clock, random);
    let oauth = oauth.scopes(scopes).users(Directory).build();
    let app = Router::new().route("/invoices", get(invoices));
    // Your own page `/sign-in` checks the password and ends with `oauth.sign_in(user, next)`.
    let app = app.with_state(oauth.verifier()).merge(oauth.axum_router());
    let discovery = "/.well-known/openid-configuration";
    for (path, status) in [(discovery, 200), ("/invoices", 401)] {
        let request = Request::get(path).body(Body::empty())?;
        assert_eq!(app.clone().oneshot(request).await?.status(), status);
    }
    Ok(())
}
