//! The API inside an axum service, over a store in memory: `cargo run -p workgraph-api --example embedded_api --features tower`
use std::{error::Error, sync::Arc, time::SystemTime};

use axum::{Router, body::Body, http::Request};
use tower::ServiceExt as _;
use workgraph_api::{Api, ApiDependencies, ports::EntropyUnavailable, service};
use workgraph_auth::{Account, Tier, TokenKind, TokenRecord, TokenStore as _, mint_token};
use workgraph_core::model::{email_address::EmailAddress, time::Time};
use workgraph_core::rules::membership_rules::first_workspace;
use workgraph_core::{GidGenerator, access::Role, storage::GraphStore as _};
use workgraph_store_memory::MemoryStore;

const NOW: SystemTime = SystemTime::UNIX_EPOCH; // a clock of yours

fn random(bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
    bytes.fill(7); // random bytes of yours, as below
    Ok(())
}
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (store, gids) = (MemoryStore::new(), Arc::new(GidGenerator::new(0, None)));
    let ada = ("Ada", &EmailAddress::parse("ada@example.com")?, Role::Admin);
    let (now, mint) = (Time::from_system(NOW), || gids.next(0));
    let (changes, _, users) = first_workspace("Orchard", &[ada], now, &mint);
    store.commit(changes).await?;
    let user = users.first().ok_or("Ada")?.get();
    let account = Account::new(user, Tier::DEFAULT);
    store.put_account(account, None).await?;
    let (token, digest) = mint_token(TokenKind::Personal, &[1; 32]);
    let record = TokenRecord::personal(1, digest, user, NOW);
    store.insert_token(record).await?;
    let keys = workgraph_wire::KeyRing::new(1, [7; 32]);
    let parts = ApiDependencies::new(Arc::new(store), gids.clone(), || NOW, random, keys);
    let app = Router::new().nest_service("/api/1.0", service(Arc::new(Api::new(parts))));
    let request = Request::get("/api/1.0/users/me");
    let request = request.header("Authorization", format!("Bearer {}", token.expose()));
    let response = app.oneshot(request.body(Body::empty())?).await?;
    assert_eq!(response.status(), 200);
    Ok(())
}
