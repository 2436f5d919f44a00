//! The requests that a world received, so that a test can check what its client sent.
use crate::stand_in::request_notes::RequestNote;
use crate::stand_in::timeline::time_text;
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::SystemTime;
use workgraph_auth::SecretDigest;
use workgraph_wire::query_params::QueryParams;

/// Number of the last requests that are kept, and of bytes of a path or an agent.
const KEPT: usize = 10_000;
const TEXT_MAX: usize = 1_024;
/// Maximum number of near misses in an answer.
const NEAR_MAX: usize = 20;
/// Maximum number of bytes of all bodies that are kept, and of one reply.
const BODIES_MAX: usize = 4 << 20;
const REPLY_MAX: usize = 256 << 10;

/// Request to the API, with its outcome.
#[derive(Clone, Debug)]
pub(crate) struct LoggedRequest {
    /// Number among all requests to the world, from 1, in the order of their ends.
    pub(crate) number: u64,
    /// Number of requests that had ended when it began.
    pub(crate) after: u64,
    /// Time at which the request began.
    pub(crate) at: SystemTime,
    pub(crate) method: String,
    /// Path and query, below the world.
    pub(crate) path: String,
    /// Name of the operation; empty if the request matches none.
    pub(crate) operation: &'static str,
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) user_agent: Option<String>,
    pub(crate) token: Option<SecretDigest>,
    /// Size of its body in bytes.
    pub(crate) length: u64,
    /// True if the client got no whole reply, since a fault cut the connection.
    pub(crate) is_cut: bool,
    /// Page token of the next page, and sync token, in the reply.
    pub(crate) next_offset: Option<String>,
    pub(crate) sync: Option<String>,
    pub(crate) content_type: Option<String>,
    /// Names in it that its operation does not know.
    pub(crate) unknown: Vec<String>,
    /// Bodies of request and reply, as long as there is room for them.
    pub(crate) bodies: Option<LoggedBodies>,
}

/// Bodies of a request and of its reply.
#[derive(Clone, Debug)]
pub(crate) struct LoggedBodies {
    /// Path and query, however long they are.
    pub(crate) path: String,
    pub(crate) content_type: Option<String>,
    pub(crate) request: Bytes,
    pub(crate) reply: Bytes,
}

impl LoggedBodies {
    fn len(&self) -> usize {
        self.path.len() + self.request.len() + self.reply.len()
    }
}

impl LoggedRequest {
    pub(crate) const fn new(at: SystemTime, method: String, path: String) -> Self {
        Self {
            number: 0,
            after: 0,
            token: None,
            length: 0,
            is_cut: false,
            next_offset: None,
            sync: None,
            content_type: None,
            unknown: Vec::new(),
            bodies: None,
            at,
            method,
            path,
            operation: "",
            status: 0,
            retry_after: None,
            user_agent: None,
        }
    }

    /// Takes the page token and the sync token from the body of the reply, which a client needs for its next request.
    pub(crate) fn read_reply(&mut self, body: &[u8]) {
        let is_list = self.method == "GET" && !self.operation.is_empty();
        if !is_list || body.is_empty() {
            return;
        }
        let reply: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |pointer: &str| reply.pointer(pointer)?.as_str().map(str::to_owned);
        self.next_offset = text("/next_page/offset");
        self.sync = text("/sync");
    }

    /// Stores the notes that were taken during the request, and its reply. Bodies that are too large are left out.
    pub(crate) fn keep(&mut self, note: RequestNote, reply: &[u8]) {
        self.unknown = note.unknown;
        let request = note.body.filter(|_| reply.len() <= REPLY_MAX);
        self.bodies = request.map(|request| LoggedBodies {
            path: self.path.clone(),
            content_type: self.content_type.take(),
            request: request.into(),
            reply: Bytes::copy_from_slice(reply),
        });
    }

    /// Returns the value of a parameter of the query.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.path.split_once('?')?;
        let sent = QueryParams::parse(query).ok()?;
        let (_, value) = sent.iter().find(|(found, _)| *found == name)?;
        Some(value.to_owned())
    }

    /// Returns the path and query without a parameter.
    pub(crate) fn path_without(&self, name: &str) -> String {
        let Some((path, query)) = self.path.split_once('?') else {
            return self.path.clone();
        };
        let pairs = query.split('&');
        let others: Vec<&str> = pairs
            .filter(|pair| pair.split('=').next() != Some(name))
            .collect();
        format!("{path}?{}", others.join("&"))
    }

    fn json(&self) -> Value {
        json!({
            "number": self.number,
            "at": time_text(self.at),
            "method": self.method,
            "path": self.path,
            "operation": self.operation,
            "status": self.status,
            "retry_after": self.retry_after,
            "user_agent": self.user_agent,
            "unknown": self.unknown,
        })
    }
}

/// Values that requests must have; a missing field allows every value.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestPattern {
    operation: Option<String>,
    method: Option<String>,
    /// Path without the query.
    path: Option<String>,
    status: Option<u16>,
    /// True if requests must have unknown names, false if they must have none.
    has_unknown: Option<bool>,
    /// Number of requests that must match, exactly, at least, or at most.
    count: Option<usize>,
    at_least: Option<usize>,
    at_most: Option<usize>,
}

impl RequestPattern {
    /// Reads a pattern from the query of a request.
    ///
    /// # Errors
    /// Names the parameter that is unknown or wrong.
    pub(crate) fn of_query(query: &str) -> Result<Self> {
        let mut pattern = Self::default();
        for (name, value) in QueryParams::parse(query)?.iter() {
            let text = || Some(value.to_owned());
            match name {
                "operation" => pattern.operation = text(),
                "method" => pattern.method = text(),
                "path" => pattern.path = text(),
                "status" => {
                    let status = value.parse();
                    let status = status.with_context(|| {
                        format!("status: must be a number such as 429, not `{value}`")
                    })?;
                    pattern.status = Some(status);
                }
                "has_unknown" => {
                    let has_unknown = value.parse();
                    pattern.has_unknown = Some(has_unknown.with_context(|| {
                        format!("has_unknown: must be true or false, not `{value}`")
                    })?);
                }
                _ => bail!(
                    "{name}: the parameters are operation, method, path, status and has_unknown"
                ),
            }
        }
        pattern.checked()
    }

    /// Reads a pattern from the body of a request.
    ///
    /// # Errors
    /// Names the member that is unknown or wrong.
    pub(crate) fn of_body(body: &[u8]) -> Result<Self> {
        serde_json::from_slice::<Self>(body)?.checked()
    }

    /// Checks that requests can match.
    fn checked(self) -> Result<Self> {
        if let Some(operation) = &self.operation
            && !workgraph_operations::all().any(|known| known.id == operation)
        {
            bail!("operation: no operation has the name `{operation}`");
        }
        Ok(self)
    }

    /// Returns the number of fields that a request does not have.
    fn misses(&self, request: &LoggedRequest) -> usize {
        let path = request.path.split('?').next().unwrap_or_default();
        let differ = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_some_and(|wanted| wanted != found)
        };
        [
            differ(&self.operation, request.operation),
            differ(&self.method, &request.method),
            differ(&self.path, path),
            self.status.is_some_and(|status| status != request.status),
            self.has_unknown
                .is_some_and(|wanted| wanted == request.unknown.is_empty()),
        ]
        .into_iter()
        .filter(|missed| *missed)
        .count()
    }

    fn holds_for(&self, count: usize) -> bool {
        let any = [self.count, self.at_least, self.at_most];
        let least = if any == [None; 3] {
            Some(1)
        } else {
            self.at_least
        };
        self.count.is_none_or(|wanted| wanted == count)
            && least.is_none_or(|least| count >= least)
            && self.at_most.is_none_or(|most| count <= most)
    }
}

/// Cuts a text that is too long to be kept.
pub(crate) fn shorten(text: &mut String) {
    if text.len() > TEXT_MAX {
        text.truncate(text.floor_char_boundary(TEXT_MAX));
    }
}

/// The last requests of one world.
#[derive(Default)]
pub(crate) struct RequestLog(Mutex<Log>);

#[derive(Default)]
struct Log {
    last: u64,
    requests: VecDeque<LoggedRequest>,
    /// Size of all bodies in bytes.
    body_bytes: usize,
    /// Number of the oldest requests, whose bodies were dropped.
    without_bodies: usize,
    /// Operations that were admitted, by app.
    used: BTreeMap<u64, BTreeSet<&'static str>>,
}

impl Log {
    fn forget_first(&mut self) {
        let bodies = self.requests.pop_front().and_then(|first| first.bodies);
        self.body_bytes -= bodies.map_or(0, |bodies| bodies.len());
        self.without_bodies = self.without_bodies.saturating_sub(1);
    }

    /// Drops the bodies of the oldest requests until the other bodies fit.
    fn make_room(&mut self) {
        while self.body_bytes > BODIES_MAX
            && let Some(request) = self.requests.get_mut(self.without_bodies)
        {
            self.body_bytes -= request.bodies.take().map_or(0, |bodies| bodies.len());
            self.without_bodies += 1;
        }
    }
}

impl RequestLog {
    pub(crate) fn push(&self, mut request: LoggedRequest) {
        shorten(&mut request.path);
        if let Some(agent) = &mut request.user_agent {
            shorten(agent);
        }
        let mut log = self.0.lock();
        log.last += 1;
        request.number = log.last;
        if log.requests.len() == KEPT {
            log.forget_first();
        }
        log.body_bytes += request.bodies.as_ref().map_or(0, LoggedBodies::len);
        log.requests.push_back(request);
        log.make_room();
    }

    /// Returns the number of requests that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.0.lock().last
    }

    /// Records an operation that an app was admitted to.
    pub(crate) fn note_use(&self, app: u64, operation: &'static str) {
        let mut log = self.0.lock();
        log.used.entry(app).or_default().insert(operation);
    }

    /// Returns the requests, oldest first, and the operations that apps were admitted to.
    pub(crate) fn all(&self) -> (Vec<LoggedRequest>, BTreeMap<u64, BTreeSet<&'static str>>) {
        let log = self.0.lock();
        (log.requests.iter().cloned().collect(), log.used.clone())
    }

    /// Returns the requests that match, oldest first.
    pub(crate) fn json(&self, pattern: &RequestPattern) -> Value {
        let log = self.0.lock();
        let matching = log.requests.iter().filter(|one| pattern.misses(one) == 0);
        matching.map(LoggedRequest::json).collect()
    }

    /// Returns whether the number of matching requests is as the pattern demands; if not, adds the requests that differ in
    /// one field.
    pub(crate) fn verify(&self, pattern: &RequestPattern) -> Value {
        let log = self.0.lock();
        let with = |misses| {
            log.requests
                .iter()
                .filter(move |one| pattern.misses(one) == misses)
        };
        let count = with(0).count();
        if pattern.holds_for(count) {
            return json!({ "holds": true, "count": count });
        }
        let near: Vec<Value> = with(1)
            .rev()
            .take(NEAR_MAX)
            .map(LoggedRequest::json)
            .collect();
        json!({ "holds": false, "count": count, "near_misses": near })
    }

    pub(crate) fn clear(&self) {
        let mut log = self.0.lock();
        *log = Log {
            last: log.last,
            ..Log::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> RequestLog {
        let log = RequestLog::default();
        for (operation, status) in [("createTask", 429), ("createTask", 201), ("getTask", 200)] {
            let path = "/api/1.0/tasks?opt_fields=name".to_owned();
            let request = LoggedRequest::new(SystemTime::UNIX_EPOCH, "POST".to_owned(), path);
            log.push(LoggedRequest {
                operation,
                status,
                ..request
            });
        }
        log
    }

    #[test]
    fn a_count_is_exact_at_least_or_at_most() {
        let holds = |pattern: Value| {
            let pattern: RequestPattern = serde_json::from_value(pattern).unwrap();
            log().verify(&pattern)["holds"].as_bool().unwrap()
        };
        assert!(holds(json!({"operation": "createTask"})));
        assert!(holds(json!({"operation": "createTask", "count": 2})));
        assert!(holds(
            json!({"operation": "createTask", "at_least": 1, "at_most": 2})
        ));
        assert!(holds(json!({"path": "/api/1.0/tasks", "count": 3})));
        assert!(!holds(
            json!({"operation": "createTask", "status": 201, "count": 2})
        ));
        assert!(!holds(json!({"operation": "deleteTask"})));
        assert!(holds(json!({"operation": "deleteTask", "at_most": 0})));
    }

    #[test]
    fn bodies_are_kept_as_long_as_there_is_room() {
        let log = RequestLog::default();
        let size = 100 << 10;
        let most = BODIES_MAX / size;
        for number in 0..3 * most {
            let mut request =
                LoggedRequest::new(SystemTime::UNIX_EPOCH, "GET".to_owned(), "/".to_owned());
            let note = RequestNote {
                unknown: Vec::new(),
                body: Some(Vec::new()),
            };
            request.keep(note, &vec![0; if number % 2 == 0 { size } else { 0 }]);
            log.push(request);
        }
        let (requests, _) = log.all();
        let kept = requests.iter().filter(|one| one.bodies.is_some()).count();
        assert!(
            (2 * most - 2..=2 * most + 2).contains(&kept),
            "{kept} of {most}"
        );
        assert!(requests.first().unwrap().bodies.is_none());
        assert!(requests.last().unwrap().bodies.is_some());
        let mut large = requests[0].clone();
        large.keep(RequestNote::default(), &[]);
        assert!(large.bodies.is_none());
    }

    #[test]
    fn what_nearly_matched_is_shown() {
        let pattern = RequestPattern::of_query("operation=createTask&status=500").unwrap();
        let near = log().verify(&pattern)["near_misses"].clone();
        let statuses: Vec<_> = near
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["status"])
            .collect();
        assert_eq!(statuses, [201, 429]);
        assert!(RequestPattern::of_query("state=500").is_err());
        assert!(RequestPattern::of_query("status=many").is_err());
    }
}
