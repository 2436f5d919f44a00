//! Rate limits before an HTTP service. `cargo run -p workgraph-limits --features tower --example tower_layer`
use std::convert::Infallible;
use std::time::Duration;

use http::{Request, Response};
use tower::{Layer as _, Service as _, service_fn};
use workgraph_limits::tower::RateLimitLayer;
use workgraph_limits::{Limiter, PerTime};

/// Any service will do, such as a router of axum.
async fn hello(_: Request<String>) -> Result<Response<String>, Infallible> {
    Ok(Response::new("hello".to_owned()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let burst = 3.per(Duration::from_secs(10));
    let limits = Limiter::builder()
        .window("burst", burst)
        .window("day", 10_000.per_day());
    let limits = limits.concurrent(20).cost(50_000.per_minute()).build();
    let key = |request: &Request<_>| request.headers().get("authorization").cloned();
    let mut service = RateLimitLayer::new(limits, key).layer(service_fn(hello));
    for n in 1..=4 {
        let request = Request::get("/").header("authorization", "Bearer alice");
        let response = service.call(request.body(String::new())?).await?;
        println!("{n}: {} {:?}", response.status(), response.headers());
        assert_eq!(response.status() == 429, n == 4);
    }
    Ok(())
}
