//! governor: a keyed limiter (GCRA) with its default clock.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::{DefaultKeyedRateLimiter, Quota, clock::Clock, clock::DefaultClock};
use serde_json::{Value, json};

#[derive(Default)]
pub struct Governor(Option<DefaultKeyedRateLimiter<String>>);

impl crate::Subject for Governor {
    fn hello(&self) -> Value {
        json!({"name": "governor", "has": ["quota", "weights", "sweep"]})
    }

    fn start(&mut self, window_ms: u64, quota: u32, _: u64) {
        let one = Duration::from_millis(window_ms) / quota;
        let quota = Quota::with_period(one)
            .unwrap()
            .allow_burst(NonZeroU32::new(quota).unwrap());
        self.0 = Some(DefaultKeyedRateLimiter::keyed(quota));
    }

    fn admit(&mut self, key: &str, weight: u32, _: u64) -> Result<(), Value> {
        let limiter = self.0.as_ref().unwrap();
        let weight = NonZeroU32::new(weight).unwrap();
        let decided = limiter
            .check_key_n(&key.to_owned(), weight)
            .expect("it fits into the burst");
        decided.map_err(|not_until| {
            let wait = not_until.wait_time_from(DefaultClock::default().now());
            json!({"wait_ms": wait.as_nanos() as f64 / 1e6})
        })
    }

    fn sweep(&mut self) {
        self.0.as_ref().unwrap().retain_recent();
    }
}
