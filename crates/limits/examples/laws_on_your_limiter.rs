//! Runs the laws on two limiters written here: a log of the last minute, which keeps all laws about quotas, and a counter
//! per calendar minute, which is caught. Replace either of them with your own limiter.
//! `cargo run -p workgraph-limits --features laws --example laws_on_your_limiter`

use std::collections::HashMap;
use std::error::Error;
use std::iter::repeat_n;

use workgraph_limits::laws::{AdmissionTicket, LAWS, TestedLimiter};
use workgraph_limits::laws::{LawLimit, LawRefusal, LawRequest, LawSettings, LimitKey, RateQuota};

/// Seed of the made-up traffic; the same seed makes the same traffic.
const SEED: u64 = 1;
/// Number of operations that each law is tried with.
const OPERATIONS: u64 = 20_000;
const MINUTE_MS: u64 = 60_000;

/// Quota of one key.
trait Window: Default {
    /// Counts an attempt; of the refused attempts, only the newest `remembered` count. Fails with the wait in milliseconds.
    fn attempt(&mut self, now: u64, weight: u32, quota: u32, remembered: u32) -> Result<(), u64>;
}

/// Times of the attempts of the last minute, oldest first.
#[derive(Default)]
struct SlidingLog {
    admitted: Vec<u64>,
    refused: Vec<u64>,
}

impl Window for SlidingLog {
    fn attempt(&mut self, now: u64, weight: u32, quota: u32, remembered: u32) -> Result<(), u64> {
        let (weight, quota) = (weight as usize, quota as usize);
        self.admitted.retain(|at| now - at < MINUTE_MS);
        self.refused.retain(|at| now - at < MINUTE_MS);
        if self.admitted.len() + self.refused.len() + weight <= quota {
            self.admitted.extend(repeat_n(now, weight));
            return Ok(());
        }
        // Refusals that were remembered before the quota was cut count until they are a minute old.
        let most = self.refused.len().max(remembered as usize);
        self.refused.extend(repeat_n(now, weight));
        self.refused
            .drain(..self.refused.len().saturating_sub(most));

        // There is room again when the last of the surplus times is a minute old.
        let mut counted = [self.admitted.as_slice(), &self.refused].concat();
        counted.sort_unstable();
        let last = counted.get(counted.len() + weight - quota - 1);
        Err(last.map_or(MINUTE_MS, |at| at + MINUTE_MS - now)) // none: more than the quota
    }
}

/// Counter that starts again with each calendar minute: up to twice the quota fits around the turn.
#[derive(Default)]
struct CalendarMinute {
    minute: u64,
    used: u32,
}

impl Window for CalendarMinute {
    fn attempt(&mut self, now: u64, weight: u32, quota: u32, _: u32) -> Result<(), u64> {
        if self.minute != now / MINUTE_MS {
            (self.minute, self.used) = (now / MINUTE_MS, 0);
        }
        if weight > quota {
            return Err(MINUTE_MS);
        }
        if self.used + weight > quota {
            return Err(MINUTE_MS - now % MINUTE_MS);
        }
        self.used += weight;
        Ok(())
    }
}

/// Limiter of rates alone, as the laws see it: without permits and costs.
struct RateLimiter<W> {
    settings: LawSettings,
    /// Windows of each key: one for searches, and one for the rest.
    windows: HashMap<(LimitKey, bool), W>,
    /// Latest time seen: a clock that steps back stands still.
    latest: u64,
    admitted: u64,
}

/// Makes a limiter with windows of one kind.
fn limiter<W: Window + 'static>(settings: LawSettings) -> Box<dyn TestedLimiter> {
    Box::new(RateLimiter {
        settings,
        windows: HashMap::<_, W>::new(),
        latest: 0,
        admitted: 0,
    })
}

impl<W: Window> TestedLimiter for RateLimiter<W> {
    fn admit(&mut self, request: &LawRequest, now: u64) -> Result<AdmissionTicket, LawRefusal> {
        let (quota, weight, searches) = match request.rate {
            RateQuota::Standard { quota } => (quota, request.weight, 0),
            RateQuota::Search => (0, 0, request.weight),
            RateQuota::Mixed { quota, searches } => (quota, request.weight, searches),
        };
        let floor = quota * u32::from(self.settings.standard.floor_percent.min(100)) / 100;
        let search = self.settings.search_per_minute;
        self.latest = self.latest.max(now);
        let mut refusal = None;
        for (limit, weight, quota, remembered) in [
            (LawLimit::Standard, weight, quota, quota - floor),
            (LawLimit::Search, searches, search, 0),
        ] {
            let key = (request.key, limit == LawLimit::Search);
            let window = self.windows.entry(key).or_default();
            if weight > 0
                && let Err(wait_ms) = window.attempt(self.latest, weight, quota, remembered)
            {
                let first = refusal.get_or_insert(LawRefusal {
                    limit,
                    retry_after: wait_ms.div_ceil(1_000),
                    wait_ms,
                });
                *first = first.with_min_wait(wait_ms);
            }
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        self.admitted += 1;
        Ok(AdmissionTicket(self.admitted - 1))
    }

    fn settle(&mut self, _: AdmissionTicket, _: u32, _: u64) {}

    fn finish(&mut self, _: AdmissionTicket) {}

    fn set(&mut self, settings: LawSettings) {
        self.settings = settings;
    }

    fn sweep(&mut self, _: u64) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut caught = None;
    // The other laws are about permits and costs, which these limiters do not have.
    for law in LAWS.iter().filter(|law| law.needs.is_empty()) {
        law.check(&limiter::<SlidingLog>, SEED, OPERATIONS)?;
        let violation = law.counterexample(&limiter::<CalendarMinute>, SEED, OPERATIONS);
        let answer = violation.as_ref().map_or("kept", |_| "BROKEN");
        println!("{:<4}{}", law.name, law.rule);
        println!("    log: kept; calendar minute: {answer}");
        if law.name == "L1" {
            caught = violation;
        }
    }
    let caught = caught.ok_or("the calendar minute should break L1")?;
    println!("\nThe calendar minute, at its shortest: {caught}");
    Ok(())
}
