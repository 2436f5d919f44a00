//! The functions and the in-process limiter give equal answers for any limits: windows of any number and
//! length, several classes, a cost with another length.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::{Connection, ConnectionLike};
use workgraph_limits::laws::ScenarioRandom;
use workgraph_limits::{
    AdmissionRequest, ConcurrentSettings, CostSettings, DigestLimiter, LimitKey, LimiterSettings,
    LocalLimits, OwnerTotals, PerTime, Permit, SharedRequest, SlotRequest, TotalShare,
    UniformState, WindowCharge, WindowSettings,
};

use super::function_limiter::connect;
use super::number;
use crate::account_state;
use crate::functions;
use crate::protocol::{
    AdmissionReply, FunctionFigures, Protocol, Settlement, deadline, read_admission,
};
use crate::test_server::TestAddress;

const DAY: u64 = 86_400;

/// Returns random limits; most have lengths other than a minute.
fn shape(random: &mut ScenarioRandom) -> LimiterSettings {
    let lengths = [1, 10, 60, 3_600, DAY, 30 * DAY];
    let length = |random: &mut ScenarioRandom| {
        let at = usize::try_from(random.within(0, 5)).unwrap();
        Duration::from_secs(lengths[at])
    };
    let mut settings = LimiterSettings::default();
    for name in ["a", "b", "c", "d"] {
        if random.chance(60) {
            let rate = random.figure(1, 20).per(length(random));
            settings.windows.push(WindowSettings {
                floor_percent: [0, 10, 50, 100][usize::try_from(random.within(0, 3)).unwrap()],
                shadow: random.chance(10),
                ..WindowSettings::new(name, rate)
            });
        }
    }
    for name in ["reads", "writes", "exports"] {
        if random.chance(60) {
            let class = ConcurrentSettings::new(name, random.figure(0, 5));
            settings.concurrent.push(class);
        }
    }
    if random.chance(60) {
        settings.cost = CostSettings::new("cost", random.figure(1, 200).per(length(random)));
    }
    settings
}

/// Request in flight on both sides.
struct Flight {
    permit: Permit,
    ended: Settlement,
}

struct Shapes {
    connection: Connection,
    protocol: Protocol,
    limiter: DigestLimiter,
    totals: OwnerTotals<u64, UniformState>,
    flights: Vec<Flight>,
    now: u64,
}

fn time(now: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(now)
}

impl Shapes {
    fn step(&mut self, random: &mut ScenarioRandom) -> Result<(), String> {
        self.now += match random.within(0, 9) {
            0 => random.within(0, 2 * DAY * 1_000),
            1..4 => random.within(0, 60_000),
            _ => random.within(0, 1_500),
        };
        let now = self.now;
        self.flights.retain(|flight| flight.ended.deadline > now);
        if random.chance(40) && !self.flights.is_empty() {
            let last = self.flights.len() as u64 - 1;
            let at = usize::try_from(random.within(0, last)).unwrap();
            let mut flight = self.flights.swap_remove(at);
            if random.chance(60) && flight.permit.is_charged() {
                let cost = random.figure(0, 50);
                flight.permit.settle(cost, time(now));
                flight.ended.cost = cost.min(self.limiter.settings().cost.ceiling);
            }
            drop(flight.permit);
            let call = self.protocol.settle(&flight.ended, Some(now));
            self.connection.req_command(&call).unwrap();
        }
        let settings = self.limiter.settings();
        let key: LimitKey = [u8::from(random.chance(50)); 16];
        let windows: Vec<_> = settings
            .windows
            .iter()
            .map(|_| WindowCharge::of(random.figure(0, 3)))
            .collect();
        let slots: Vec<_> = settings
            .concurrent
            .iter()
            .map(|_| SlotRequest::of(random.figure(0, 2)))
            .collect();
        let request = AdmissionRequest::new(&key).windows(&windows).slots(&slots);
        let share = |weight, quota: u32| TotalShare {
            weight,
            quota: Some(quota.saturating_mul(2)),
        };
        let each = settings.windows.iter().zip(&windows);
        let mut shares: Vec<_> = each
            .map(|(of, charge)| share(charge.weight, of.rate.quota))
            .collect();
        shares.push(TotalShare {
            weight: 0,
            quota: settings.cost.quota,
        });
        let shared = SharedRequest {
            request,
            owner: random.chance(50).then_some((&7, &shares[..])),
        };
        self.ask(&shared)
    }

    fn ask(&mut self, shared: &SharedRequest<'_>) -> Result<(), String> {
        let figures = self.limiter.figures(&shared.request);
        let places = FunctionFigures::of(&figures).unwrap();
        let call = self.protocol.admit(shared, &places, false, Some(self.now));
        let reply = self.connection.req_command(&call).unwrap();
        let reply = read_admission(&reply).unwrap_or_else(|| panic!("{reply:?}"));
        let local = LocalLimits {
            limiter: &self.limiter,
            totals: &self.totals,
        };
        match (local.admit(shared, time(self.now)), reply) {
            (Ok(permit), AdmissionReply::Admitted { at, .. }) => {
                let ended = Settlement {
                    key: *shared.request.key(),
                    slots: places.slots(),
                    rate: figures.credits.unwrap_or(0),
                    length_ms: figures.cost_length_ms,
                    deadline: at + deadline(&figures),
                    ..Settlement::default()
                };
                self.flights.push(Flight { permit, ended });
            }
            (Err(refusal), AdmissionReply::Refused { limit, wait_ms, .. })
                if places.limit(limit) == Some(refusal.limit) && wait_ms == refusal.wait_ms => {}
            (answer, reply) => {
                return Err(format!(
                    "at {}: the functions say {reply:?}, the limiter {answer:?} to {shared:?} of {:?}",
                    self.now,
                    self.limiter.settings()
                ));
            }
        }
        let mut own = self.limiter.state(&shared.request, time(self.now));
        own.recent.clear();
        let call = self.protocol.state(shared.request.key(), Some(self.now));
        let reply = self.connection.req_command(&call).unwrap();
        let blank = DigestLimiter::new(self.limiter.settings());
        let blank = blank.state(&shared.request, time(self.now));
        let read = account_state::read(&reply, &figures, blank);
        if read == own {
            Ok(())
        } else {
            Err(format!("the functions have {read:?}, the limiter {own:?}"))
        }
    }
}

#[test]
fn limits_of_any_shape_are_decided_as_in_process() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let mut seed = number("WORKGRAPH_LAW_SEED", 1);
    for round in 0..number("WORKGRAPH_REDIS_SHAPES", 60) {
        let random = &mut ScenarioRandom::new(seed);
        let settings = shape(random);
        let prefix = format!("shapes-{}-{round}", std::process::id());
        let mut shapes = Shapes {
            connection: connect(&server.url(), functions::current()),
            protocol: Protocol::new(&prefix, functions::current()),
            totals: OwnerTotals::new(&settings),
            limiter: DigestLimiter::new(settings),
            flights: Vec::new(),
            now: random.start().max(1),
        };
        for _ in 0..100 {
            if let Err(wrong) = shapes.step(random) {
                panic!("seed {seed:#x}: {wrong}");
            }
        }
        seed = ScenarioRandom::new(seed).next();
    }
}

/// Limits of a minute stay in the plain form. Nodes of the previous version know no other.
#[test]
fn limits_of_a_minute_are_kept_in_the_form_that_older_nodes_know() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let mut connection = connect(&server.url(), functions::current());
    let protocol = Protocol::new(
        &format!("forms-{}", std::process::id()),
        functions::current(),
    );
    let mut form_of = |settings: LimiterSettings, key: u8| {
        let limiter = DigestLimiter::new(settings);
        let key = [key; 16];
        let request = SharedRequest {
            request: AdmissionRequest::new(&key),
            owner: None,
        };
        let figures = limiter.figures(&request.request);
        let places = FunctionFigures::of(&figures).unwrap();
        let call = protocol.admit(&request, &places, false, Some(1_800_000_000_000));
        connection.req_command(&call).unwrap();
        let packed: Vec<u8> = redis::cmd("GET")
            .arg(protocol.key(&key))
            .query(&mut connection)
            .unwrap();
        (packed[0], packed.len())
    };
    let plain = LimiterSettings::from(&workgraph_limits::laws::LawSettings::default());
    assert_eq!(form_of(plain.clone(), 1), (1, 57 + 2 * 4 + 2 * 8));
    let mut other = plain;
    other.windows[0].rate = 10.per_hour();
    assert_eq!(form_of(other, 2).0, 2);
}

/// A general account that is cut or has a changed byte is read as an account or a new one: the functions answer.
#[test]
fn a_general_account_that_is_damaged_fails_no_call() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let mut connection = connect(&server.url(), functions::current());
    let prefix = format!("damaged-{}", std::process::id());
    let protocol = Protocol::new(&prefix, functions::current());
    let mut settings = LimiterSettings::from(&workgraph_limits::laws::LawSettings::default());
    settings.windows[0].rate = 10.per_day();
    let limiter = DigestLimiter::new(settings);
    let key = [1; 16];
    let name = protocol.key(&key);
    let request = SharedRequest {
        request: AdmissionRequest::new(&key),
        owner: None,
    };
    let figures = limiter.figures(&request.request);
    let places = FunctionFigures::of(&figures).unwrap();
    let call = protocol.admit(&request, &places, true, Some(1_800_000_000_000));
    connection.req_command(&call).unwrap();
    let mut get = redis::cmd("GET");
    let packed: Vec<u8> = get.arg(&name).query(&mut connection).unwrap();
    assert_eq!(packed[0], 2);
    let mut damaged: Vec<Vec<u8>> = (0..packed.len()).map(|n| packed[..n].to_vec()).collect();
    for at in 0..packed.len() {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut one = packed.clone();
            one[at] = byte;
            damaged.push(one);
        }
    }
    for value in damaged {
        let mut set = redis::cmd("SET");
        let _: () = set.arg(&name).arg(&value).query(&mut connection).unwrap();
        let reply = connection.req_command(&call).unwrap();
        assert!(read_admission(&reply).is_some(), "{reply:?} to {value:?}");
    }
}
