//! Target of a webhook: it records each delivery, and refuses some of them.
use crate::common::Seeded;
use crate::history::{Delivery, EventId};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// Running target. It serves until the process ends.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) port: u16,
    deliveries: Arc<Mutex<Vec<Delivery>>>,
}

impl Receiver {
    /// Starts a target that refuses about one delivery of 16.
    pub(crate) fn start(began: Instant, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let deliveries = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&deliveries);
        let random = Arc::new(Mutex::new(Seeded(seed)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, random) = (Arc::clone(&all), Arc::clone(&random));
                // A node that was killed has broken its connection.
                thread::spawn(move || receive(stream, began, &all, &random).ok());
            }
        });
        Self { port, deliveries }
    }

    /// Returns the deliveries so far.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.lock().unwrap().clone()
    }
}

fn micros(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_micros()).unwrap()
}

/// Answers deliveries on one connection until it ends.
fn receive(
    stream: TcpStream,
    began: Instant,
    all: &Mutex<Vec<Delivery>>,
    random: &Mutex<Seeded>,
) -> std::io::Result<()> {
    let mut answer = stream.try_clone()?;
    let mut delivery = BufReader::new(stream);
    loop {
        let (mut length, mut secret, mut ids) = (0, String::new(), String::new());
        let mut line = String::new();
        if delivery.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let begun = micros(began);
        while line != "\r\n" {
            line.clear();
            if delivery.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if let Some(value) = lower.strip_prefix("x-workgraph-event-ids:") {
                ids = value.trim().to_owned();
            }
            if lower.starts_with("x-hook-secret:") {
                secret.clone_from(&line);
            }
        }
        let mut body = vec![0; length];
        delivery.read_exact(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let is_refused = secret.is_empty() && random.lock().unwrap().below(16) == 0;
        let status = if is_refused { "500 Not now" } else { "200 OK" };
        let head = format!("HTTP/1.1 {status}\r\n{secret}Content-Length: 0\r\n\r\n");
        let sent = answer.write_all(head.as_bytes());
        let events = events(&ids, &body);
        if secret.is_empty() && !events.is_empty() {
            all.lock().unwrap().push(Delivery {
                begun,
                ended: micros(began),
                events,
                is_answered: sent.is_ok() && !is_refused,
            });
        }
        sent?;
    }
}

/// Returns the events of a body with the ids of its header.
fn events(ids: &str, body: &Value) -> Vec<EventId> {
    let numbers = ids.split(',').filter_map(|id| {
        let (commit, index) = id.split_once('-')?;
        Some((commit.parse().ok()?, index.parse().ok()?))
    });
    let events = body["events"].as_array().into_iter().flatten();
    let event = |(id, event): ((u64, u64), &Value)| {
        let field = event["change"]["field"].as_str();
        let what = field.or(event["action"].as_str()).unwrap_or_default();
        EventId {
            id,
            task: event["resource"]["gid"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            what: what.to_owned(),
        }
    };
    numbers.zip(events).map(event).collect()
}
