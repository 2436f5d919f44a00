//! Test of a client that waits out a rate limit, without waiting: `cargo run -p workgraph-stand-in --example waits_out_a_limit`.
use serde_json::json;
use std::time::Duration;
use workgraph_stand_in::{StandIn, StandInError, World};

/// Client under test, which asks for its user. `sleep` is a part of it that a test can replace.
async fn name_of_user(
    world: &World,
    sleep: impl AsyncFn(Duration) -> Result<(), StandInError>,
) -> Result<String, StandInError> {
    loop {
        match world.api("GET", "/users/me", None).await {
            Ok(user) => {
                let name = user.get("name").and_then(|name| name.as_str());
                return Ok(name.unwrap_or("Nobody").to_owned());
            }
            // A real client reads `Retry-After`; this one waits for a second, again and again.
            Err(StandInError::Refused { status: 429, .. }) => sleep(Duration::from_secs(1)).await?,
            Err(error) => return Err(error),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StandInError> {
    let stand_in = StandIn::start().await?;
    let world = stand_in.world().now("2026-03-01T09:30:00Z").await?;
    world.limits().exhaust("standard").await?;
    let name = name_of_user(&world, async |period| world.clock().sleep(period).await).await?;
    println!("{name} answered at {}", world.clock().now().await?);
    let refused = json!({"operation": "getUser", "status": 429, "at_least": 1});
    world.verify(refused).await?;
    // The client asks again too early, and the grade says so.
    match world.grade(&["retry-after"]).await {
        Ok(grade) => println!("{grade}"),
        Err(error) => println!("{error}"),
    }
    stand_in.stop().await
}
