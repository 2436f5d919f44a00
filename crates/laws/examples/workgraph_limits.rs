//! The limiter of workgraph-limits behind JSON lines, with all its abilities:
//! `workgraph laws limiter -- target/debug/examples/workgraph_limits`

use std::collections::HashMap;
use std::io::{BufReader, stdin, stdout};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_laws::SubjectError;
use workgraph_laws::limiter::{
    LimiterAbility, LimiterAnswer, LimiterProfile, LimiterSetup, LimiterSubject, answer_json_lines,
};
use workgraph_limits::{AdmissionRequest, Limiter, PerTime, Permit, WindowCharge};

struct OwnLimiter {
    profile: LimiterProfile,
    limiter: Limiter<String>,
    permits: HashMap<u64, Permit<String>>,
    tickets: u64,
}

fn time(now: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(now)
}

impl LimiterSubject for OwnLimiter {
    fn profile(&self) -> &LimiterProfile {
        &self.profile
    }

    fn start(&mut self, setup: &LimiterSetup) -> Result<(), SubjectError> {
        let length = Duration::from_millis(setup.window_ms);
        let mut builder = Limiter::builder().window("requests", setup.quota.per(length));
        if let Some(permits) = setup.permits {
            builder = builder.concurrent(permits);
        }
        if let Some(cost) = setup.cost {
            builder = builder.cost(cost.per(length));
        }
        self.permits.clear();
        self.limiter = builder.build();
        Ok(())
    }

    fn admit(&mut self, key: &str, weight: u32, now: u64) -> Result<LimiterAnswer, SubjectError> {
        let (key, windows) = (key.to_owned(), [WindowCharge::of(weight)]);
        let request = AdmissionRequest::new(&key).windows(&windows);
        Ok(match self.limiter.admit_request(&request, time(now)) {
            Ok(permit) => {
                let ticket = self.tickets;
                self.tickets += 1;
                self.permits.insert(ticket, permit);
                LimiterAnswer::Admitted { ticket }
            }
            Err(refusal) => LimiterAnswer::Refused {
                wait_ms: refusal.wait_ms,
            },
        })
    }

    fn finish(&mut self, ticket: u64) -> Result<(), SubjectError> {
        self.permits.remove(&ticket);
        Ok(())
    }

    fn settle(&mut self, ticket: u64, cost: u32, now: u64) -> Result<(), SubjectError> {
        if let Some(permit) = self.permits.get_mut(&ticket) {
            permit.settle(cost, time(now));
        }
        Ok(())
    }

    fn set_quota(&mut self, quota: u32) -> Result<(), SubjectError> {
        let mut settings = self.limiter.settings();
        for window in &mut settings.windows {
            window.rate.quota = quota;
        }
        self.limiter.set_settings(&settings);
        Ok(())
    }

    fn sweep(&mut self, now: u64) -> Result<(), SubjectError> {
        self.limiter.evict_idle(time(now));
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    use LimiterAbility::{Change, Clock, Cost, Permits, Quota, Sweep, Weights};
    let abilities = [Quota, Permits, Cost, Weights, Change, Sweep, Clock];
    let mut limiter = OwnLimiter {
        profile: LimiterProfile::new("workgraph-limits", &abilities),
        limiter: Limiter::builder().build(),
        permits: HashMap::new(),
        tickets: 0,
    };
    Ok(answer_json_lines(
        &mut limiter,
        BufReader::new(stdin()),
        stdout().lock(),
    )?)
}
