//! `subjects NAME` answers JSON lines for the limiter with that name.

mod governor;
mod leaky_bucket;
mod ratelimit;
mod tower_governor;

use std::io::{BufRead as _, stdin};

use serde_json::{Value, json};

/// Limiter of another crate, created again for each scenario.
trait Subject {
    /// First line: name and abilities.
    fn hello(&self) -> Value;
    fn start(&mut self, window_ms: u64, quota: u32, now: u64);
    /// Answer of the library to a request; `Err` is the wait as the library states it.
    fn admit(&mut self, key: &str, weight: u32, now: u64) -> Result<(), Value>;
    fn sweep(&mut self) {}
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let mut subject: Box<dyn Subject> = match name.as_str() {
        "governor" => Box::new(governor::Governor::default()),
        "leaky-bucket" => Box::new(leaky_bucket::LeakyBucket::new()),
        "ratelimit" => Box::new(ratelimit::Ratelimit::default()),
        "tower-governor" => Box::new(tower_governor::TowerGovernor::new()),
        other => panic!("no limiter is named {other:?}"),
    };
    println!("{}", subject.hello());
    for line in stdin().lock().lines() {
        let op: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let number = |name: &str| op[name].as_u64().unwrap_or_default();
        if let Some(now) = op["now"].as_u64() {
            quanta::set_ms(now);
        }
        let answer = match op["op"].as_str().unwrap() {
            "new" => {
                subject.start(number("window_ms"), number("quota") as u32, number("now"));
                json!({})
            }
            "admit" => {
                let (key, weight) = (op["key"].as_str().unwrap(), number("weight") as u32);
                match subject.admit(key, weight, number("now")) {
                    Ok(()) => json!({"admitted": true}),
                    Err(Value::Object(mut wait)) => {
                        wait.insert("admitted".to_owned(), false.into());
                        wait.into()
                    }
                    Err(_) => json!({"admitted": false}),
                }
            }
            "sweep" => {
                subject.sweep();
                json!({})
            }
            "stop" => return,
            _ => json!({}),
        };
        println!("{answer}");
    }
}
