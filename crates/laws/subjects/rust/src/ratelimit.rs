//! ratelimit: a token bucket for each key, full at first, with a clock of the caller.

use std::collections::HashMap;
use std::time::Duration;

use ratelimit::{Builder, Clock, Ratelimiter, TryWaitError};
use serde_json::{Value, json};

/// Time since the limiter was made.
pub struct SinceStart(quanta::Instant);

impl Clock for SinceStart {
    fn elapsed(&self) -> Duration {
        quanta::Clock.now().saturating_duration_since(self.0)
    }
}

#[derive(Default)]
pub struct Ratelimit {
    window: Duration,
    quota: u64,
    keys: HashMap<String, Ratelimiter<SinceStart>>,
}

impl crate::Subject for Ratelimit {
    fn hello(&self) -> Value {
        json!({"name": "ratelimit", "has": ["quota", "weights"]})
    }

    fn start(&mut self, window_ms: u64, quota: u32, _: u64) {
        *self = Self {
            window: Duration::from_millis(window_ms),
            quota: quota.into(),
            keys: HashMap::new(),
        };
    }

    fn admit(&mut self, key: &str, weight: u32, _: u64) -> Result<(), Value> {
        let bucket = self.keys.entry(key.to_owned()).or_insert_with(|| {
            Builder::with_clock(self.quota, SinceStart(quanta::Clock.now()))
                .period(self.window)
                .max_tokens(self.quota)
                .initial_available(self.quota)
                .build()
                .unwrap()
        });
        bucket
            .try_wait_n(weight.into())
            .map_err(|refused| match refused {
                TryWaitError::Insufficient(wait) => {
                    json!({"wait_ms": wait.as_nanos() as f64 / 1e6})
                }
                other => panic!("{other}"),
            })
    }
}
