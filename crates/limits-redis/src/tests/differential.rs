//! The functions and the in-process limiter give equal answers for any history; broken functions do not.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_limits::laws::{
    LawBatch, LawCharges, LawLimit, LawLimiter, LawOverrides, LawRefusal, LawSettings, PerLimit,
    ScenarioRandom,
};
use workgraph_limits::shared_limiter::LocalLimits;
use workgraph_limits::{LimiterSettings, OwnerTotals, Permit, TotalShare, UniformState};

use super::function_limiter::FunctionLimiter;
use super::number;
use super::test_request::TestRequest;
use crate::account_state;
use crate::functions::{self, Functions};
use crate::protocol::{AdmissionReply, OwnerEnd, Settlement};
use crate::test_server::TestAddress;

/// Factor by which the combined quotas of an owner's tokens exceed those of one token.
const MULTIPLE: u32 = 2;

/// Request in flight on both sides.
struct Flight {
    permit: Permit,
    ended: Settlement,
    deadline: u64,
    owner: Option<(u64, TotalShare)>,
}

struct History {
    remote: FunctionLimiter,
    limiter: LawLimiter,
    totals: OwnerTotals<u64, UniformState>,
    flights: Vec<Flight>,
    shadowed: PerLimit<u64>,
    settings: LawSettings,
    with_owners: bool,
    now: u64,
    operations: u64,
}

fn time(now: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(now)
}

impl History {
    fn new(url: &str, functions: &'static Functions, random: &mut ScenarioRandom) -> Self {
        let settings = settings(random);
        Self {
            remote: FunctionLimiter::new(url, functions, settings),
            limiter: LawLimiter::new(settings),
            totals: OwnerTotals::new(&LimiterSettings::from(&LawSettings::default())),
            flights: Vec::new(),
            shadowed: PerLimit::default(),
            settings,
            with_owners: random.chance(50),
            now: random.start().max(1),
            operations: 0,
        }
    }

    fn request(&self, random: &mut ScenarioRandom) -> TestRequest {
        let one = random.request(&self.settings);
        let (reads, writes) = if random.chance(70) {
            let reads = u32::from(random.chance(70));
            (reads, 1 - reads)
        } else {
            (random.figure(0, 3), random.figure(0, 2))
        };
        let mut custom = LawOverrides::default();
        if random.chance(10) {
            custom.search_per_minute = Some(random.figure(0, 20));
            custom.concurrent_reads = Some(random.figure(0, 8));
            custom.concurrent_writes = Some(random.figure(0, 8));
            custom.cost_per_minute = Some(random.figure(0, 200));
        }
        let batch = LawBatch {
            key: one.key,
            rate: one.rate,
            weight: one.weight,
            reads,
            writes,
        };
        let owner = self.with_owners.then(|| {
            let asked = LawCharges::of_key(one.key, 0, &custom);
            let figures = self.limiter.limiter().figures(&asked.request());
            let (quota, weight, searches) = batch.counted();
            let share = |weight, quota: Option<u32>| TotalShare {
                weight,
                quota: quota.map(|quota| quota.saturating_mul(MULTIPLE)),
            };
            let shares = [
                share(weight, Some(quota)),
                share(searches, Some(figures.windows[1].terms.quota)),
                share(0, figures.credits),
            ];
            (u64::from(one.key[0] % 2), shares)
        });
        TestRequest {
            batch,
            custom,
            owner,
        }
    }

    fn step(&mut self, random: &mut ScenarioRandom) -> Result<(), String> {
        self.operations += 1;
        self.now += random.gap(self.settings.standard.quota);
        // The server drops requests at their deadlines; here they must be ended explicitly.
        let now = self.now;
        self.flights.retain(|flight| flight.deadline > now);
        if random.chance(2) {
            self.settings = settings(random);
            self.limiter.set_settings(self.settings);
            workgraph_limits::laws::TestedLimiter::set(&mut self.remote, self.settings);
        }
        if random.chance(3) {
            workgraph_limits::laws::TestedLimiter::sweep(&mut self.remote, now);
        }
        if random.chance(45) && !self.flights.is_empty() {
            self.end_one(random);
        }
        let request = self.request(random);
        self.ask(&request, random)?;
        if random.chance(5) {
            self.compare_states(&request)?;
        }
        Ok(())
    }

    fn end_one(&mut self, random: &mut ScenarioRandom) {
        let last = self.flights.len() as u64 - 1;
        let at = usize::try_from(random.within(0, last)).unwrap();
        let mut flight = self.flights.swap_remove(at);
        let now = time(self.now);
        if random.chance(70) && flight.permit.is_charged() {
            let cost = random.figure(0, 150);
            flight.permit.settle(cost, now);
            flight.ended.cost = cost;
            if let Some((owner, share)) = flight.owner {
                let none = TotalShare::default();
                let used = TotalShare {
                    weight: cost,
                    ..share
                };
                self.totals.charge(&owner, &[none, none, used], now);
                flight.ended.owner = Some(OwnerEnd {
                    owner,
                    used: used.drain_ns(Duration::from_secs(60)),
                    totals: 3,
                });
            }
        }
        drop(flight.permit);
        self.remote.end(&flight.ended, self.now);
    }

    fn ask(&mut self, request: &TestRequest, random: &mut ScenarioRandom) -> Result<(), String> {
        let want_next = random.chance(20);
        let (reply, ended) = self.remote.decide(request, want_next, self.now);
        let local = LocalLimits {
            limiter: self.limiter.limiter(),
            totals: &self.totals,
        };
        let charges = request.charges();
        let answer = local.admit(&request.shared(&charges), time(self.now));
        let answer = answer.map_err(LawRefusal::from);
        let (AdmissionReply::Admitted { shadowed, .. } | AdmissionReply::Refused { shadowed, .. }) =
            reply;
        for (at, limit) in LawLimit::ALL.into_iter().enumerate() {
            *self.shadowed.of_mut(limit) += u64::from(shadowed >> at & 1);
        }
        let wrong = |answer: &dyn std::fmt::Debug| {
            Err(format!(
                "operation {} at {}: {request:?}: the functions say {reply:?}, the limiter {answer:?}",
                self.operations, self.now
            ))
        };
        match (answer, reply) {
            (
                Ok(permit),
                AdmissionReply::Admitted {
                    at, next_wait_ms, ..
                },
            ) if at == self.now => {
                if want_next {
                    drop(permit);
                    self.remote.end(&ended, self.now);
                    // The slots are free again, but the charge remains.
                    let (batch, custom) = (&request.batch, &request.custom);
                    let next = self.limiter.wait(batch, custom, time(self.now));
                    return if next == next_wait_ms {
                        Ok(())
                    } else {
                        wrong(&next)
                    };
                }
                self.flights.push(Flight {
                    permit,
                    deadline: ended.deadline,
                    ended,
                    owner: request.owner.map(|(owner, [.., cost])| (owner, cost)),
                });
                Ok(())
            }
            (Err(refusal), AdmissionReply::Refused { limit, wait_ms, .. })
                if refusal == LawRefusal::new(LawLimit::ALL[usize::from(limit)], wait_ms) =>
            {
                Ok(())
            }
            (answer, _) => wrong(&answer),
        }
    }

    fn compare_states(&mut self, request: &TestRequest) -> Result<(), String> {
        let (key, custom, now) = (&request.batch.key, &request.custom, self.now);
        let quota = request.batch.counted().0;
        let mut own = self.limiter.state_with(key, quota, custom, time(now));
        own.recent.clear();
        let blank = LawLimiter::new(self.settings);
        let mut blank = blank.state_with(key, quota, custom, time(now));
        blank.recent.clear();
        let reply = self.remote.account(key, now);
        let asked = LawCharges::of_key(*key, quota, custom);
        let figures = self.limiter.limiter().figures(&asked.request());
        let read = account_state::read(&reply, &figures, blank);
        if read == own {
            return Ok(());
        }
        Err(format!(
            "operation {} at {now}: the functions have {read:?}, the limiter {own:?}",
            self.operations
        ))
    }
}

fn settings(random: &mut ScenarioRandom) -> LawSettings {
    let mut settings = random.tight();
    if random.chance(20) {
        settings.shadow = random.shadow();
    }
    settings
}

/// Compares histories until `operations` are done.
fn compare(
    url: &str,
    functions: &'static Functions,
    seed: u64,
    operations: u64,
) -> Result<u64, String> {
    let (mut seed, mut done) = (seed, 0);
    while done < operations {
        let random = &mut ScenarioRandom::new(seed);
        let mut history = History::new(url, functions, random);
        for _ in 0..random.within(10, 300) {
            history
                .step(random)
                .map_err(|wrong| format!("seed {seed:#x}: {wrong}"))?;
        }
        let counted = history.limiter.counts().shadowed;
        if counted != history.shadowed {
            return Err(format!(
                "seed {seed:#x}: in shadow mode {:?}, not {counted:?}",
                history.shadowed
            ));
        }
        done += history.operations;
        seed = ScenarioRandom::new(seed).next();
    }
    Ok(done)
}

/// S913. `just limits-campaign` makes ten million operations.
#[test]
fn the_functions_give_the_answers_of_the_in_process_limiter() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let operations = number("WORKGRAPH_REDIS_CAMPAIGN_OPS", 20_000);
    let (url, seed) = (server.url(), number("WORKGRAPH_LAW_SEED", 1));
    let part = |n: u64| compare(&url, functions::current(), seed + n, operations.div_ceil(2));
    std::thread::scope(|scope| {
        let parts = [0, 1 << 40].map(|n| scope.spawn(move || part(n)));
        for part in parts {
            part.join().unwrap().unwrap();
        }
    });
}

/// Mistakes: a part of the functions' text, and its replacement.
const TWINS: [(&str, &str); 16] = [
    (
        "age < ticks and ticks - age or 0",
        "age <= ticks and ticks - age + 1 or 0",
    ),
    (
        "math.max(0, used + weight - quota)",
        "math.max(0, used + weight - quota - 1)",
    ),
    (
        "window.refused = string.sub(window.refused, surplus * 4 + 1) .. string.rep(stamp(tick), weight)",
        "window.refused = window.refused",
    ),
    (
        "window.refused = string.sub(window.refused, surplus * 4 + 1) .. string.rep(stamp(tick), weight)",
        "window.refused = window.refused .. string.rep(stamp(tick), math.max(0, weight - surplus))",
    ),
    (
        "window.held, window.held_since = refused, tick",
        "window.held = 0",
    ),
    (
        "tick_of(window, now), window.ticks\n    if n then",
        "tick_of(window, now), window.ticks - 1\n    if n then",
    ),
    (
        "running > 0 and deadline_at(deadlines, running) - now",
        "running > 0 and deadline_at(deadlines, 1) - now",
    ),
    ("math.floor(debt / cost) + 1", "math.floor(debt / cost)"),
    ("        account.rate = request.cost\n", ""),
    (
        "wait = math.max(wait, wait_for_credit(account, request.cost))",
        "wait = wait_for_credit(account, request.cost)",
    ),
    (
        "        elseif first == 0 then\n            first = limit",
        "        else\n            first = limit",
    ),
    (
        "account.classes[i] = without_deadlines(account.classes[i], deadline, slots)",
        "account.classes[i] = account.classes[i]",
    ),
    (
        "wait = math.max(wait, left(second, n - from, low, ticks))",
        "wait = left(second, n - from, low, ticks)",
    ),
    (
        "owner[i] + math.min(math.max(share.time, 1), share.full) - share.full",
        "owner[i] + share.time - share.full",
    ),
    (
        "window.admitted = trimmed(window.admitted, tick % WORD, window.ticks)",
        "window.admitted = window.admitted",
    ),
    (
        "ttl = math.max(ttl, math.ceil(account.spent / account.rate))",
        "ttl = ttl",
    ),
];

#[test]
fn broken_functions_give_other_answers() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let template = include_str!("../functions.lua");
    for (right, wrong) in TWINS {
        assert_eq!(template.matches(right).count(), 1, "{right}");
        let broken = Functions::new(&template.replace(right, wrong));
        let found = compare(&server.url(), Box::leak(Box::new(broken)), 1, 60_000);
        assert!(found.is_err(), "`{wrong}` for `{right}` is not noticed");
    }
}
