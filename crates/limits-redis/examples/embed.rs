//! The limiter in a service: one Redis, several processes, and each request asks before it runs.
//!
//! `cargo run -p workgraph-limits-redis --example embed -- redis://127.0.0.1`
#![expect(
    clippy::disallowed_methods,
    reason = "an example has no clock but that of the machine"
)]

use std::error::Error;
use std::time::{Duration, SystemTime};

use workgraph_limits::{
    AdmissionBatch, Limiter, LimiterSettings, LocalLimits, OwnerTotals, RateQuota,
    RequestOverrides, SharedLimiter, SharedRequest,
};
use workgraph_limits_redis::{RedisLimiter, RedisLimiterSettings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1);
    let url = url.unwrap_or_else(|| "redis://127.0.0.1".to_owned());
    let settings = RedisLimiterSettings {
        processes: 3,
        ..RedisLimiterSettings::new(url)
    };
    let (shared, warnings) = RedisLimiter::connect(&settings).await?;
    for warning in warnings {
        println!("{warning}");
    }
    // The limiter of this process takes part: it goes on alone when the server is away.
    let (limiter, totals) = (Limiter::new(LimiterSettings::default()), OwnerTotals::new());
    let local = LocalLimits {
        limiter: &limiter,
        totals: &totals,
    };
    let request = SharedRequest {
        batch: AdmissionBatch {
            key: *b"a customer's key",
            rate: RateQuota::Standard { quota: 5 },
            weight: 1,
            reads: 1,
            writes: 0,
        },
        custom: RequestOverrides::default(),
        owner: None,
    };
    for n in 1..=7 {
        match shared.admit(&request, local, SystemTime::now()).await {
            Ok(mut permit) => {
                println!("{n}: admitted");
                permit.settle(12, SystemTime::now());
            }
            Err(refusal) => println!("{n}: {refusal}"),
        }
    }
    println!("{:?}, {:?}", shared.mode(), shared.counts());
    // Ends are sent without waiting; give the last one the time to leave.
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(())
}
