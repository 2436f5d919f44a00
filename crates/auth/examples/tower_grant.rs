//! A tower service behind a layer that checks tokens: `cargo run -p workgraph-auth --example tower_grant --features tower`

use std::{convert::Infallible, sync::Arc, time::SystemTime};

use axum::http::{Request, Response};
use tower::{Layer as _, ServiceExt as _, service_fn};
use workgraph_auth::*;

async fn invoices(request: Request<String>) -> Result<Response<String>, Infallible> {
    let user = request.extensions().get::<Grant>().map(|grant| grant.user);
    Ok(Response::new(format!("invoices of user {user:?}")))
}

fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH // a clock of yours
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = MemoryTokenStore::new(); // or any `TokenLookup` of yours
    let account = Account::new(7, Tier::DEFAULT);
    store.put_account(account, None).await?;
    let (secret, digest) = mint_token(TokenKind::Personal, &[1; 32]); // random bytes of yours
    let record = TokenRecord::personal(1, digest, 7, clock());
    store.insert_token(record).await?;
    let verifier = TokenVerifier::new(Arc::new(store), clock);
    let layer = GrantLayer::new(verifier).require("invoices:read");
    let service = layer.layer(service_fn(invoices));
    for (token, status) in [(secret.expose(), 200), ("me", 401)] {
        let request = Request::get("/").header("Authorization", format!("Bearer {token}"));
        let request = request.body(String::new())?;
        let response = service.clone().oneshot(request).await?;
        assert_eq!(response.status(), status);
        println!("{status} {:?} {}", response.headers(), response.body());
    }
    Ok(())
}
