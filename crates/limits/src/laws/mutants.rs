//! Mutants, one for each law: the reference limiter with a single mistake.

use super::law_class::RequestClass;
use super::law_limit::LawRefusal;
use super::law_request::{LawRequest, RateQuota};
use super::law_settings::LawSettings;
use std::collections::BTreeSet;

use super::harness::key;
use super::{AdmissionTicket, ReferenceLimiter, TestedLimiter};

/// Limiter that breaks the law that it is named after. It shows that the law can fail.
#[derive(Debug)]
pub struct MutantLimiter {
    law: &'static str,
    settings: LawSettings,
    inner: ReferenceLimiter,
    /// Latest time seen; `clock` is the time as the mutant counts it.
    last: u64,
    clock: u64,
    /// Number of refusals, and the last refusal.
    refusals: u64,
    refused: Option<(u64, LawRefusal)>,
    leaked: BTreeSet<AdmissionTicket>,
    quota: Option<u32>,
}

impl MutantLimiter {
    /// Makes the mutant of the law with this name; for an unknown law it has no mistake.
    #[must_use]
    pub fn boxed(law: &'static str, settings: LawSettings) -> Box<dyn TestedLimiter> {
        let mut given = settings;
        match law {
            "L5" => given.standard.floor_percent = 100, // forgets refused attempts
            "L9" => given.standard.floor_percent = 50,  // forgets some of them
            _ => {}
        }
        Box::new(Self {
            law,
            settings: given,
            inner: ReferenceLimiter::new(given),
            last: 0,
            clock: 0,
            refusals: 0,
            refused: None,
            leaked: BTreeSet::new(),
            quota: None,
        })
    }

    /// Returns the request, modified by the mutant's mistake.
    fn mistake(&self, request: &LawRequest) -> LawRequest {
        let mut request = *request;
        let more = |rate: &mut RateQuota, by: i32| {
            if let RateQuota::Standard { quota } = rate {
                *quota = quota.saturating_add_signed(by);
            }
        };
        match self.law {
            "L1" => more(&mut request.rate, 1),
            "L6" if self.refusals > 0 => more(&mut request.rate, -1), // never forgives
            "L8" => more(&mut request.rate, -1),
            "L10" => request.key = key(0),
            "L12" => request.weight = 1,
            "L16" => request.class = RequestClass::Read,
            _ => {}
        }
        request
    }

    /// Returns the time, modified by the mutant's mistake.
    fn tell(&mut self, now: u64) -> u64 {
        if self.law == "L13" {
            // Counts the distance of a step back as elapsed time.
            self.clock += if self.clock == 0 {
                now
            } else {
                self.last.abs_diff(now)
            };
            self.last = now;
            return self.clock;
        }
        now
    }
}

impl TestedLimiter for MutantLimiter {
    fn admit(&mut self, request: &LawRequest, now: u64) -> Result<AdmissionTicket, LawRefusal> {
        let request = self.mistake(request);
        let now = self.tell(now);
        if self.law == "L7"
            && let Some((at, refusal)) = self.refused
            && now - at < 20_000
        {
            return Err(refusal); // counts few refusals, so that going faster pays
        }
        if self.law == "L11"
            && let (RateQuota::Search, quota) = (request.rate, self.settings.standard.quota)
        {
            let _ = self.inner.admit(
                &LawRequest {
                    rate: RateQuota::Standard { quota },
                    ..request
                },
                now,
            ); // counts a search twice
        }
        if self.law == "L20"
            && let RateQuota::Standard { quota } = request.rate
        {
            if self.quota.is_some_and(|old| old != quota) {
                self.inner = ReferenceLimiter::new(self.settings); // starts afresh with the new plan
            }
            self.quota = Some(quota);
        }
        self.inner.admit(&request, now).map_err(|mut refusal| {
            self.refusals += 1;
            match self.law {
                "L0" | "L3" => refusal.wait_ms += 1,
                "L2" => {
                    refusal.wait_ms -= 1;
                    refusal.retry_after = refusal.wait_ms / 1_000;
                }
                "L4" => refusal.retry_after = refusal.wait_ms / 1_000,
                "L17" => refusal.wait_ms = refusal.wait_ms.next_multiple_of(1_000),
                "L19" => {
                    // Only asks the limit that refused.
                    let waits = self.inner.waits(&request, now);
                    let own = waits
                        .iter()
                        .find(|(limit, _)| *limit == refusal.limit)
                        .map_or(1, |(_, wait)| *wait);
                    refusal = LawRefusal::new(refusal.limit, own);
                }
                _ => {}
            }
            self.refused = Some((now, refusal));
            refusal
        })
    }

    fn settle(&mut self, ticket: AdmissionTicket, cost: u32, now: u64) {
        let now = self.tell(now);
        self.inner.settle(ticket, cost, now);
    }

    fn finish(&mut self, ticket: AdmissionTicket) {
        if self.law == "L15" && ticket.0 % 50 == 49 && self.leaked.insert(ticket) {
            return; // loses a permit now and then
        }
        self.inner.finish(ticket);
    }

    fn set(&mut self, settings: LawSettings) {
        self.settings = settings;
        self.inner.set(settings);
    }

    fn sweep(&mut self, _now: u64) {
        if self.law == "L14" {
            self.inner = ReferenceLimiter::new(self.settings); // evicts what is still needed
        }
    }
}
