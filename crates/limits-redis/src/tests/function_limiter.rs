//! The functions as a limiter, called sequentially at given times.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use redis::{Client, Connection, ConnectionLike, Value, cmd};
use workgraph_limits::laws::{
    AdmissionTicket, LawLimit, LawLimiter, LawOverrides, LawRefusal, LawRequest, LawSettings,
    LimitKey, TestedLimiter,
};

use super::test_request::TestRequest;
use crate::functions::Functions;
use crate::protocol::{
    AdmissionReply, FunctionFigures, Protocol, Settlement, deadline, read_admission,
};

/// Milliseconds by which accounts outlast their use under a given time.
const GIVEN_TIME_TTL: u64 = 60_000;

static MADE: AtomicU64 = AtomicU64::new(0);

/// Connects to a server that has the functions loaded.
pub(super) fn connect(url: &str, functions: &Functions) -> Connection {
    let mut connection = Client::open(url).unwrap().get_connection().unwrap();
    let loaded = cmd("FUNCTION")
        .arg("LOAD")
        .arg(&functions.source)
        .query::<Value>(&mut connection);
    if let Err(error) = loaded {
        assert!(error.to_string().contains("already exists"), "{error}");
    }
    connection
}

/// Number of nodes, which take turns.
const NODES: usize = 3;

/// The functions as called by three nodes in turn, under separate keys.
pub(super) struct FunctionLimiter {
    connections: [Connection; NODES],
    turn: usize,
    pub(super) protocol: Protocol,
    /// Holder of the settings.
    pub(super) figures: LawLimiter,
    settings: LawSettings,
    endless: bool,
    open: HashMap<AdmissionTicket, Settlement>,
    admitted: u64,
    /// Latest time of each key, and the instant of its last call.
    touched: HashMap<LimitKey, (u64, Instant)>,
}

impl FunctionLimiter {
    pub(super) fn new(url: &str, functions: &'static Functions, settings: LawSettings) -> Self {
        let number = MADE.fetch_add(1, Relaxed);
        let prefix = format!("test-{}-{number}", std::process::id());
        Self {
            connections: [(); NODES].map(|()| connect(url, functions)),
            turn: 0,
            protocol: Protocol::new(&prefix, functions),
            figures: LawLimiter::new(settings),
            settings,
            endless: false,
            open: HashMap::new(),
            admitted: 0,
            touched: HashMap::new(),
        }
    }

    /// Makes requests last until they are finished, for laws that let them outlive their deadlines.
    pub(super) fn endless(mut self) -> Self {
        self.endless = true;
        self.set(self.settings);
        self
    }

    /// Returns the connection of the node whose turn it is.
    fn connection(&mut self) -> &mut Connection {
        self.turn += 1;
        &mut self.connections[self.turn % NODES]
    }

    fn touch(&mut self, key: LimitKey, now: u64) {
        let (last, at) = self.touched.entry(key).or_insert((now, Instant::now()));
        (*last, *at) = (now.max(*last), Instant::now());
    }

    /// Decides about a request; `Ok` contains the data for ending it, and the wait of its repetition.
    pub(super) fn decide(
        &mut self,
        request: &TestRequest,
        want_next: bool,
        now: u64,
    ) -> (AdmissionReply, Settlement) {
        let charges = request.charges();
        let request = request.shared(&charges);
        let figures = self.figures.limiter().figures(&request.request);
        let places = FunctionFigures::of(&figures).unwrap();
        let call = self.protocol.admit(&request, &places, want_next, Some(now));
        let reply = self.connection().req_command(&call).unwrap();
        let reply = read_admission(&reply).unwrap_or_else(|| panic!("{reply:?}"));
        let key = *request.request.key();
        self.touch(key, now);
        let mut ended = Settlement {
            key,
            slots: places.slots(),
            length_ms: figures.cost_length_ms,
            rate: figures.credits.unwrap_or(0),
            ..Settlement::default()
        };
        if let AdmissionReply::Admitted { at, .. } = reply {
            ended.deadline = at + deadline(&figures);
        }
        (reply, ended)
    }

    /// Ends a request, or takes a cost.
    pub(super) fn end(&mut self, ended: &Settlement, now: u64) {
        let call = self.protocol.settle(ended, Some(now));
        assert_eq!(self.connection().req_command(&call).unwrap(), Value::Int(0));
        self.touch(ended.key, now);
    }

    /// Returns the packed account of a key.
    pub(super) fn account(&mut self, key: &LimitKey, now: u64) -> Value {
        let call = self.protocol.state(key, Some(now));
        self.connection().req_command(&call).unwrap()
    }
}

impl TestedLimiter for FunctionLimiter {
    fn admit(&mut self, request: &LawRequest, now: u64) -> Result<AdmissionTicket, LawRefusal> {
        let request = TestRequest {
            batch: request.as_batch(),
            custom: LawOverrides::default(),
            owner: None,
        };
        match self.decide(&request, false, now) {
            (AdmissionReply::Admitted { .. }, ended) => {
                let ticket = AdmissionTicket(self.admitted);
                self.admitted += 1;
                self.open.insert(ticket, ended);
                Ok(ticket)
            }
            (AdmissionReply::Refused { limit, wait_ms, .. }, _) => {
                Err(LawRefusal::new(LawLimit::ALL[usize::from(limit)], wait_ms))
            }
        }
    }

    fn settle(&mut self, ticket: AdmissionTicket, cost: u32, now: u64) {
        let settings = self.settings;
        let (Some(open), Some(_)) = (self.open.get(&ticket), settings.cost_per_minute) else {
            return;
        };
        let ended = Settlement {
            key: open.key,
            cost: cost.min(settings.cost_ceiling),
            rate: open.rate,
            length_ms: open.length_ms,
            ..Settlement::default()
        };
        self.end(&ended, now);
    }

    fn finish(&mut self, ticket: AdmissionTicket) {
        if let Some(ended) = self.open.remove(&ticket) {
            // With a given time, a time before the last one counts as the last one.
            self.end(&ended, 0);
        }
    }

    fn set(&mut self, mut settings: LawSettings) {
        if self.endless {
            settings.deadline = Duration::from_secs(1 << 30);
        }
        self.settings = settings;
        self.figures.set_settings(settings);
    }

    /// Drops the accounts that the server would have dropped at this time.
    fn sweep(&mut self, now: u64) {
        let touched: Vec<_> = self
            .touched
            .iter()
            .map(|(key, used)| (*key, *used))
            .collect();
        for (key, (last, at)) in touched {
            let name = self.protocol.key(&key);
            let left: i64 = cmd("PTTL").arg(&name).query(self.connection()).unwrap();
            let Ok(left) = u64::try_from(left) else {
                continue;
            };
            let passed = u64::try_from(at.elapsed().as_millis()).unwrap() + 2;
            let ttl = (left + passed).saturating_sub(GIVEN_TIME_TTL);
            if now.saturating_sub(last) >= ttl {
                let _: i64 = cmd("DEL").arg(&name).query(self.connection()).unwrap();
            }
        }
    }
}
