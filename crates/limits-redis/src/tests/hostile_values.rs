//! Foreign values under the keys of the limiter: each is treated as a new account, and no call takes long.

use std::time::Duration;

use redis::{Connection, ConnectionLike, Value, cmd};
use workgraph_limits::SharedLimiter;
use workgraph_limits::TotalShare;
use workgraph_limits::laws::{LawLimiter, LawSettings, ScenarioRandom};

use super::function_limiter::connect;
use super::nodes::request;
use super::test_request::TestRequest;
use crate::functions::{self, Functions};
use crate::protocol::{AdmissionReply, FunctionFigures, Protocol, Settlement, read_admission};
use crate::redis_limiter::RedisLimiter;
use crate::settings::RedisLimiterSettings;
use crate::test_server::TestServer;

const NOW: u64 = 1_800_000_000_000;
const OWNER: u64 = 9;
/// Number of the first byte of the times in a packed account, and of the counts of its lists.
const TIMES: [usize; 3] = [1, 9, 29];
const COUNTS: usize = 37;
const HEADER: usize = 57;

/// Server whose functions are called, and the arguments of the calls.
struct Subject {
    server: TestServer,
    connection: Connection,
    protocol: Protocol,
    limiter: LawLimiter,
}

impl Subject {
    fn start(functions: &'static Functions) -> Option<Self> {
        let server = TestServer::start(&[])?;
        for setting in [&b"busy-reply-threshold"[..], b"lua-time-limit"] {
            let parts = [&b"CONFIG"[..], b"SET", setting, b"100"];
            server.command(&parts).unwrap();
        }
        let connection = connect(&server.url(), functions);
        connection
            .set_read_timeout(Some(Duration::from_secs(2)))
            .unwrap();
        Some(Self {
            server,
            connection,
            protocol: Protocol::new("hostile", functions),
            limiter: LawLimiter::new(LawSettings::default()),
        })
    }

    fn request(&self) -> TestRequest {
        let share = TotalShare {
            weight: 1,
            quota: Some(100),
        };
        TestRequest {
            owner: Some((OWNER, [share; 3])),
            ..request(10)
        }
    }

    /// Decides about a request; fails if no well-formed answer arrives in time.
    fn decide(&mut self) -> Result<AdmissionReply, String> {
        let request = self.request();
        let charges = request.charges();
        let request = request.shared(&charges);
        let figures = self.limiter.limiter().figures(&request.request);
        let figures = FunctionFigures::of(&figures).unwrap();
        let call = self.protocol.admit(&request, &figures, true, Some(NOW));
        let reply = self.connection.req_command(&call);
        let reply = reply.map_err(|error| {
            // A call that takes long is killed, so that the server can be stopped.
            let _ended = self.server.command(&[b"FUNCTION", b"KILL"]);
            error.to_string()
        })?;
        read_admission(&reply).ok_or_else(|| format!("{reply:?}"))
    }

    fn settle(&mut self) -> Result<Value, String> {
        let ended = Settlement {
            key: self.request().batch.key,
            deadline: NOW + 30_000,
            slots: vec![1, 0],
            cost: 3,
            rate: 100,
            length_ms: 60_000,
            ..Settlement::default()
        };
        let call = self.protocol.settle(&ended, Some(NOW));
        let reply = self.connection.req_command(&call);
        reply.map_err(|error| error.to_string())
    }

    fn keys(&self) -> [String; 2] {
        let key = self.protocol.key(&self.request().batch.key);
        [key, format!("hostile:total:{{{OWNER}}}")]
    }

    fn put(&mut self, key: &str, value: &[u8]) {
        let mut set = cmd("SET");
        let _: () = set.arg(key).arg(value).query(&mut self.connection).unwrap();
    }

    fn get(&mut self, key: &str) -> Vec<u8> {
        cmd("GET").arg(key).query(&mut self.connection).unwrap()
    }

    fn clear(&mut self) {
        let _: Value = cmd("FLUSHDB").query(&mut self.connection).unwrap();
    }
}

/// Returns a corrupted value, in one of many ways that make it invalid as an account.
fn broken(value: &[u8], random: &mut ScenarioRandom) -> Vec<u8> {
    let mut bytes = value.to_vec();
    let last = u64::try_from(value.len()).unwrap() - 1;
    let at = usize::try_from(random.within(0, last)).unwrap();
    match random.within(0, 5) {
        0 => bytes.truncate(at),
        1 => bytes.extend((0..=at).map(|n| u8::try_from(n % 256).unwrap())),
        2 => bytes[0] ^= u8::try_from(random.within(1, 255)).unwrap(),
        3 => {
            let count = COUNTS + 4 * usize::try_from(random.within(0, 4)).unwrap();
            bytes[count + 3] ^= u8::try_from(random.within(1, 255)).unwrap();
        }
        4 => {
            let time = TIMES[usize::try_from(random.within(0, 2)).unwrap()];
            let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5, 1e300];
            let odd = odd[usize::try_from(random.within(0, 4)).unwrap()];
            bytes[time..time + 8].copy_from_slice(&odd.to_be_bytes());
        }
        _ => {
            // The only deadline.
            let from = bytes.len() - 8;
            bytes[from..].copy_from_slice(&f64::NAN.to_be_bytes());
        }
    }
    bytes
}

/// S978.
#[test]
fn a_value_that_is_no_account_is_a_new_one() {
    let Some(mut subject) = Subject::start(functions::current()) else {
        return;
    };
    let [key, total] = subject.keys();
    let fresh = subject.decide().unwrap();
    let (account, owner) = (subject.get(&key), subject.get(&total));
    assert_eq!(account.len(), HEADER + 4 + 8);
    let random = &mut ScenarioRandom::new(11);
    for turn in 0..super::number("WORKGRAPH_HOSTILE", 400) {
        subject.clear();
        let value = broken(&account, random);
        subject.put(&key, &value);
        assert_eq!(subject.decide().as_ref(), Ok(&fresh), "{turn}: {value:?}");
        assert_eq!(subject.get(&key), account, "{turn}: {value:?}");
        subject.put(&key, &value);
        assert_eq!(subject.settle(), Ok(Value::Int(0)), "{turn}: {value:?}");

        subject.clear();
        let mut value = owner.clone();
        match turn % 3 {
            0 => value.truncate(usize::try_from(random.within(0, 31)).unwrap()),
            1 => value.push(0),
            _ => value[8..16].copy_from_slice(&f64::NAN.to_be_bytes()),
        }
        subject.put(&total, &value);
        assert_eq!(subject.decide().as_ref(), Ok(&fresh), "{turn}: {value:?}");
    }
    for key in [&key, &total] {
        subject.clear();
        let mut list = cmd("RPUSH");
        let _: i64 = list
            .arg(key)
            .arg("x")
            .query(&mut subject.connection)
            .unwrap();
        assert_eq!(subject.decide().as_ref(), Ok(&fresh), "a list at {key}");
    }
}

/// Detects functions that don't compare the length with the counts: a truncated deadline makes them loop forever.
#[test]
fn functions_that_trust_the_counts_are_noticed() {
    let template = include_str!("../functions.lua");
    let check = "#packed ~= writes_at + writes * 8 - 1";
    assert_eq!(template.matches(check).count(), 1);
    let trusting = Functions::new(&template.replace(check, "false"));
    let Some(mut subject) = Subject::start(Box::leak(Box::new(trusting))) else {
        return;
    };
    let [key, _] = subject.keys();
    subject.decide().unwrap();
    let mut account = subject.get(&key);
    account.truncate(account.len() - 4);
    subject.put(&key, &account);
    assert!(subject.decide().is_err());
}

/// S978.
#[tokio::test]
async fn a_time_that_is_none_does_not_stop_the_start() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let since: &[u8] = b"workgraph:since";
    server.command(&[b"SET", since, b"yesterday"]).unwrap();
    let settings = RedisLimiterSettings::new(server.url());
    let (limiter, _) = RedisLimiter::connect(&settings).await.unwrap();
    assert_eq!(limiter.counts().failures, 0);
    server.command(&[b"DEL", since]).unwrap();
    server.command(&[b"RPUSH", since, b"x"]).unwrap();
    RedisLimiter::connect(&settings).await.unwrap();
}
