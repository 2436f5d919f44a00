//! A project and a task under access rules, by the same requests over a store in memory and over SQLite:
//! `cargo run -p workgraph-api --example two_stores --features tower`
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use tower::ServiceExt as _;
use workgraph_api::http_service::ApiService;
use workgraph_api::{Api, ApiDependencies, service};
use workgraph_auth::{Account, Tier, TokenKind, TokenRecord, TokenStore, mint_token};
use workgraph_core::access::Role;
use workgraph_core::model::{email_address::EmailAddress, time::Time};
use workgraph_core::rules::membership_rules::first_workspace;
use workgraph_core::{GidGenerator, storage::GraphStore};
use workgraph_store_memory::MemoryStore;
use workgraph_store_sqlite::{SqliteStore, StoreOptions};
use workgraph_wire::KeyRing;

/// Moment of 2027, in place of a real clock.
fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// Sends a request of a user, and returns status and body of the reply.
async fn send(
    api: &ApiService,
    token: &str,
    (method, path): (&str, &str),
    body: String,
) -> Result<(u16, String), Box<dyn Error>> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Authorization", format!("Bearer {token}"))
        .header("Content-Type", "application/json");
    let response = api.clone().oneshot(request.body(Body::from(body))?).await?;
    let status = response.status().as_u16();
    let body = to_bytes(Body::new(response.into_body()), 100_000).await?;
    Ok((status, String::from_utf8(body.to_vec())?))
}

/// Returns the gid of a record that was made.
fn gid_of(body: &str) -> Result<String, Box<dyn Error>> {
    let json: serde_json::Value = serde_json::from_str(body)?;
    let gid = json.pointer("/data/gid").and_then(|gid| gid.as_str());
    Ok(gid.ok_or_else(|| body.to_owned())?.to_owned())
}

/// Makes a project and a task of Ada's that Bob does not see, until she shares the project with him.
async fn try_it<S>(store: S, name: &str) -> Result<(), Box<dyn Error>>
where
    S: GraphStore + TokenStore + 'static,
{
    let (store, gids) = (Arc::new(store), Arc::new(GidGenerator::new(0, None)));
    let now = Time::from_system(clock());
    let mint = || gids.next(now.millis().unsigned_abs());
    let (ada, bob) = (
        EmailAddress::parse("ada@example.com")?,
        EmailAddress::parse("bob@example.com")?,
    );
    let members = [("Ada", &ada, Role::Admin), ("Bob", &bob, Role::Member)];
    let (changes, workspace, users) = first_workspace("Orchard", &members, now, &mint);
    store.commit(changes).await?;
    let mut tokens = Vec::new();
    for (number, user) in (1..).zip(&users) {
        let account = Account::new(user.get(), Tier::DEFAULT);
        store.put_account(account, None).await?;
        let (token, digest) = mint_token(TokenKind::Personal, &[number; 32]); // random in earnest
        let record = TokenRecord::personal(u64::from(number), digest, user.get(), clock());
        store.insert_token(record).await?;
        tokens.push(token.expose().to_owned());
    }
    let [ada, bob] = &*tokens else {
        return Err("two users have two tokens".into());
    };
    let random = |buffer: &mut [u8]| {
        buffer.fill(7); // random in earnest, like the key
        Ok(())
    };
    let keys = KeyRing::new(1, [7; 32]);
    let parts = ApiDependencies::new(store, Arc::clone(&gids), clock, random, keys);
    let api = service(Arc::new(Api::new(parts)));

    let body = format!(r#"{{"data":{{"name":"Gardeners","organization":"{workspace}"}}}}"#);
    let (status, made) = send(&api, ada, ("POST", "/teams"), body).await?;
    assert_eq!(status, 201, "{made}");
    let team = gid_of(&made)?;
    let body =
        format!(r#"{{"data":{{"name":"Harvest","team":"{team}","privacy_setting":"private"}}}}"#);
    let (status, made) = send(&api, ada, ("POST", "/projects"), body).await?;
    assert_eq!(status, 201, "{made}");
    let project = gid_of(&made)?;
    let body = format!(r#"{{"data":{{"name":"Pick apples","projects":["{project}"]}}}}"#);
    let (status, made) = send(&api, ada, ("POST", "/tasks"), body).await?;
    assert_eq!(status, 201, "{made}");
    let task = format!("/tasks/{}?opt_fields=name", gid_of(&made)?);

    let (status, _) = send(&api, ada, ("GET", &task), String::new()).await?;
    assert_eq!(status, 200);
    let (status, refused) = send(&api, bob, ("GET", &task), String::new()).await?;
    assert_eq!(status, 403, "{refused}");
    println!("{name}: Bob asks for Ada's task, and gets {status} {refused}");
    let share = format!("/projects/{project}/addMembers");
    let body = format!(
        r#"{{"data":{{"members":"{}"}}}}"#,
        users.last().ok_or("Bob")?
    );
    let (status, shared) = send(&api, ada, ("POST", &share), body).await?;
    assert_eq!(status, 200, "{shared}");
    let (status, task) = send(&api, bob, ("GET", &task), String::new()).await?;
    assert_eq!(status, 200, "{task}");
    println!("{name}: Ada shares the project, and Bob gets {status} {task}");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    try_it(MemoryStore::new(), "memory").await?;
    let folder = std::env::temp_dir().join(format!("two-stores-{}", std::process::id()));
    let tried = async {
        let store = SqliteStore::open(&folder, StoreOptions::default())?;
        try_it(store, "SQLite").await
    };
    let tried = tried.await;
    std::fs::remove_dir_all(&folder)?;
    tried
}
