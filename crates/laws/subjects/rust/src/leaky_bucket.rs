//! leaky-bucket: a bucket for each key, full at first, under tokio's paused clock. It states no wait.

use std::collections::HashMap;
use std::time::Duration;

use leaky_bucket::RateLimiter;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

pub struct LeakyBucket {
    runtime: Runtime,
    window: Duration,
    quota: u32,
    keys: HashMap<String, RateLimiter>,
    last: u64,
}

impl LeakyBucket {
    pub fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        Self {
            runtime,
            window: Duration::ZERO,
            quota: 1,
            keys: HashMap::new(),
            last: 0,
        }
    }
}

impl crate::Subject for LeakyBucket {
    fn hello(&self) -> Value {
        json!({"name": "leaky-bucket", "has": ["quota", "weights"], "wait": "none"})
    }

    fn start(&mut self, window_ms: u64, quota: u32, now: u64) {
        (self.window, self.quota, self.last) = (Duration::from_millis(window_ms), quota, now);
        self.keys.clear();
    }

    fn admit(&mut self, key: &str, weight: u32, now: u64) -> Result<(), Value> {
        let passed = Duration::from_millis(now - std::mem::replace(&mut self.last, now));
        self.runtime.block_on(async {
            tokio::time::advance(passed).await;
            let bucket = self.keys.entry(key.to_owned()).or_insert_with(|| {
                let (max, one) = (self.quota as usize, self.window / self.quota);
                RateLimiter::builder()
                    .max(max)
                    .initial(max)
                    .interval(one)
                    .build()
            });
            bucket
                .try_acquire(weight as usize)
                .then_some(())
                .ok_or(Value::Null)
        })
    }
}
