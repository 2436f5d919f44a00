//! `cargo run -p invoices`: the service on port 8420, and what to try.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::SystemTime;

use invoices::Invoices;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::net::TcpListener;
use workgraph_limits::SteadyClock;

/// Returns the time; it does not step back when the clock of the system does.
fn now() -> SystemTime {
    static CLOCK: LazyLock<SteadyClock> = LazyLock::new(SteadyClock::new);
    CLOCK.now()
}

/// Returns 32 random bytes.
#[expect(
    clippy::disallowed_methods,
    reason = "a program asks the system for random bytes"
)]
fn random() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| "the system has no random bytes".to_owned())?;
    Ok(bytes)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let issuer = "http://127.0.0.1:8420";
    let callback = "http://127.0.0.1:8420/callback";
    let app = Invoices::new(issuer, now, random).await?;
    let (registered, secret) = app.register_app("Bookkeeper", callback).await?;
    let (id, secret) = (registered.client_id(), secret.expose());
    println!(
        "{issuer}/-/oauth_authorize?response_type=code&state=1&scope=invoices:read&client_id={id}\
         &redirect_uri={callback}"
    );
    println!(
        "Sign in as ada with the password lovelace. The address that you come to has a code:\n"
    );
    println!(
        "curl {issuer}/-/oauth_token -d grant_type=authorization_code -d client_id={id} \
         -d client_secret={secret} -d redirect_uri={callback} -d code=CODE"
    );
    println!("curl -i '{issuer}/invoices?limit=3' -H 'Authorization: Bearer TOKEN'");
    let listener = TcpListener::bind("127.0.0.1:8420").await?;
    let service = app
        .router()
        .into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).await?;
    Ok(())
}
