//! An axum service that checks tokens and scopes: `cargo run -p workgraph-auth --example axum_grant --features axum`
use std::{sync::Arc, time::SystemTime};

use axum::{Router, body::Body, http::Request, routing::get};
use tower::ServiceExt as _;
use workgraph_auth::*;

async fn invoices(grant: Grant) -> Result<String, MissingScope> {
    grant.require("invoices:read")?;
    Ok(format!("invoices of user {}", grant.user))
}

fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH // a clock of yours
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scopes = ScopeRegistry::new([("invoices:read", "See your invoices")]);
    let store = MemoryTokenStore::new();
    let account = Account::new(7, Tier::DEFAULT);
    store.put_account(account, None).await?;
    let mut tokens = Vec::new();
    for (id, names) in [(1, "invoices:read"), (2, "")] {
        let (secret, digest) = mint_token(TokenKind::Personal, &[id as u8; 32]); // random bytes of yours
        let mut record = TokenRecord::personal(id, digest, 7, clock());
        record.scopes = scopes.parse(names)?;
        store.insert_token(record).await?;
        tokens.push(format!("Bearer {}", secret.expose()));
    }
    let verifier = TokenVerifier::new(Arc::new(store), clock);
    let app = Router::new().route("/", get(invoices)).with_state(verifier);
    tokens.push("Bearer me".to_owned());
    for (token, status) in tokens.iter().zip([200, 403, 401]) {
        let request = Request::get("/").header("Authorization", token);
        let response = app.clone().oneshot(request.body(Body::empty())?).await?;
        assert_eq!(response.status(), status);
    }
    Ok(())
}
