//! An axum service with sealed pages: `cargo run -p workgraph-wire --example axum_pages --features axum`

use axum::body::{Body, to_bytes};
use axum::{Router, extract::State, http::Request, routing::get};
use tower::ServiceExt as _;
use workgraph_wire::{ErrorReply, KeyRing, Page, PageParams, PageTokens};

const PEOPLE: [(&str, u64); 5] = [("Ann", 1), ("Ann", 4), ("Bo", 2), ("Cy", 5), ("Zoe", 3)];

type Reply = Result<Page<(&'static str, u64)>, ErrorReply>;

async fn people(State(pages): State<PageTokens>, params: PageParams<2>) -> Reply {
    let after = params.after::<(String, u64)>(&pages, &"people by name")?;
    let rows = PEOPLE.into_iter().filter(|(name, id)| {
        let row = (name.to_string(), *id);
        after.as_ref().is_none_or(|after| row > *after)
    });
    let rows = rows.take(params.rows_to_read()).collect();
    Ok(params.page(rows, &pages, &"people by name", |row| *row)?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pages = PageTokens::new(KeyRing::new(1, [42; 32])); // 32 secret random bytes
    let route = Router::new().route("/people", get(people));
    let app = route.with_state(pages);
    for (path, status) in [
        ("/people?limit=3", 200),
        ("/people?limit=0", 400),
        ("/people?offset=me", 400),
    ] {
        let request = Request::get(path).body(Body::empty())?;
        let response = app.clone().oneshot(request).await?;
        assert_eq!(response.status(), status);
        let body = to_bytes(response.into_body(), 10_000).await?;
        println!("{status} {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}
