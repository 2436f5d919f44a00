//! Small clients: for each rule one that keeps it, and one that breaks only this rule.
use super::*;
use crate::stand_in::authorization_log::LoggedAuthorization;
use crate::stand_in::delivery_fault::DeliveryFault;
use crate::stand_in::delivery_faults::LoggedDelivery;
use crate::stand_in::request_log::LoggedRequest;
use std::time::{Duration, SystemTime};
use workgraph_auth::SecretDigest;

/// Client whose requests are sent one after the other.
#[derive(Default)]
struct SmallClient {
    history: ClientHistory,
    now: u64,
}

impl SmallClient {
    /// Sends a request that is answered with a status, and returns it for changes.
    fn send(&mut self, line: &str, status: u16) -> &mut LoggedRequest {
        let (method, path) = line.split_once(' ').unwrap();
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(self.now);
        let mut sent = LoggedRequest::new(at, method.to_owned(), path.to_owned());
        sent.after = self.history.requests.len() as u64;
        sent.number = sent.after + 1;
        sent.status = status;
        sent.token = Some(SecretDigest::of("token"));
        sent.operation = match path.split('?').next().unwrap() {
            "/events" => "getEvents",
            _ if method == "POST" => "createTask",
            _ => "getTasks",
        };
        self.history.requests.push(sent);
        self.history.requests.last_mut().unwrap()
    }

    fn refused(&mut self, line: &str, wait: u64) {
        self.send(line, 429).retry_after = Some(wait.to_string());
    }

    fn wait(&mut self, seconds: u64) {
        self.now += seconds;
    }

    fn page(&mut self, line: &str, next: Option<&str>) {
        self.send(line, 200).next_offset = next.map(str::to_owned);
    }

    fn events(&mut self, sync: &str, status: u16, next: &str) {
        let line = format!("GET /events?resource=1&sync={sync}");
        self.send(&line, status).sync = Some(next.to_owned());
    }

    fn receive(&mut self, fault: Option<DeliveryFault>, seconds: u64, status: Option<u16>) {
        self.history.deliveries.push(LoggedDelivery {
            fault,
            took: Duration::from_secs(seconds),
            status,
        });
    }

    fn authorize(&mut self, query: &str) {
        let asked = LoggedAuthorization::of_query(query);
        self.history.authorizations.push(asked);
    }

    /// Returns the names of the rules that hold, and of those that are broken.
    fn judged(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let (mut holds, mut broken) = (Vec::new(), Vec::new());
        for rule in &RULES {
            match (rule.judge)(&self.history) {
                RuleOutcome::Holds => holds.push(rule.name),
                RuleOutcome::Broken(_) => broken.push(rule.name),
                RuleOutcome::Skipped(_) => {}
            }
        }
        (holds, broken)
    }
}

const FORGED: Option<DeliveryFault> = Some(DeliveryFault::BadSignature);
const SECOND: Option<DeliveryFault> = Some(DeliveryFault::SecondHandshake);
const PKCE: &str = "client_id=7&code_challenge_method=S256&code_challenge=c&state=";

type Play = fn(&mut SmallClient);

/// For each rule, a client that keeps it and a client that breaks it.
const CLIENTS: [(&str, Play, Play); 12] = [
    (
        "retry-after",
        |client| {
            client.refused("GET /tasks", 30);
            client.wait(30);
            client.send("GET /tasks", 200);
        },
        |client| {
            client.refused("GET /tasks", 30);
            client.wait(29);
            client.send("GET /tasks", 200);
        },
    ),
    (
        "no-early-requests",
        |client| {
            client.refused("GET /tasks", 30);
            client.wait(31);
            client.send("GET /projects", 200);
        },
        |client| {
            client.refused("GET /tasks", 30);
            client.refused("GET /projects", 30);
        },
    ),
    (
        "no-retry-of-refusals",
        |client| {
            client.send("POST /tasks", 400);
            client.send("POST /tasks", 201).length = 12;
        },
        |client| {
            client.send("POST /tasks", 400);
            client.send("POST /tasks", 400);
        },
    ),
    (
        "pages-by-next-page",
        |client| {
            client.page("GET /tasks?limit=2", Some("a"));
            client.page("GET /tasks?limit=2&offset=a", None);
        },
        |client| client.page("GET /tasks?limit=2", Some("a")),
    ),
    (
        "no-invented-offsets",
        |client| {
            client.page("GET /tasks?limit=2", Some("a"));
            client.page("GET /tasks?limit=2&offset=a", None);
        },
        |client| client.page("GET /tasks?limit=2&offset=2", None),
    ),
    (
        "keeps-sync-tokens",
        |client| {
            client.events("", 412, "a");
            client.events("a", 200, "b");
            client.events("b", 412, "c");
            client.events("c", 200, "d");
        },
        |client| {
            client.events("", 412, "a");
            client.events("a", 200, "b");
            client.events("a", 200, "c");
        },
    ),
    (
        "looks-before-repeating",
        |client| {
            client.send("POST /tasks", 201).is_cut = true;
            client.send("GET /tasks", 200);
            client.send("POST /tasks", 201);
        },
        |client| {
            client.send("POST /tasks", 201).is_cut = true;
            client.send("POST /tasks", 201);
        },
    ),
    (
        "answers-deliveries-in-time",
        |client| client.receive(None, 9, Some(200)),
        |client| client.receive(None, 10, Some(200)),
    ),
    (
        "verifies-signatures",
        |client| client.receive(FORGED, 0, Some(401)),
        |client| client.receive(FORGED, 0, Some(200)),
    ),
    (
        "keeps-the-first-secret",
        |client| client.receive(SECOND, 0, Some(200)),
        |client| client.receive(SECOND, 0, Some(401)),
    ),
    (
        "pkce-and-state",
        |client| {
            client.authorize(&format!("{PKCE}1"));
            client.authorize(&format!("{PKCE}2"));
        },
        |client| client.authorize("client_id=7&state=1"),
    ),
    (
        "no-more-scopes-than-used",
        |client| {
            client.authorize(&format!("{PKCE}1&scope=tasks:read+openid"));
            client.history.used.insert(7, ["getTask"].into());
        },
        |client| {
            client.authorize(&format!("{PKCE}1&scope=tasks:read+users:read"));
            client.history.used.insert(7, ["getTask"].into());
        },
    ),
];

#[test]
fn a_client_that_keeps_a_rule_and_one_that_breaks_it_are_told_apart() {
    assert_eq!(CLIENTS.map(|(name, ..)| name), RULES.map(|rule| rule.name));
    for (name, right, wrong) in CLIENTS {
        let mut client = SmallClient::default();
        right(&mut client);
        let (holds, broken) = client.judged();
        assert!(holds.contains(&name), "{name}: {holds:?}");
        assert_eq!(broken, Vec::<&str>::new(), "{name}");

        let mut client = SmallClient::default();
        wrong(&mut client);
        assert_eq!(client.judged().1, [name], "{name}");
    }
}

#[test]
fn a_client_that_did_nothing_is_not_judged() {
    assert_eq!(SmallClient::default().judged(), (vec![], vec![]));
    let grade = ClientGrade::of(&ClientHistory::default(), None).unwrap();
    assert_eq!(grade.json()["holds"], true);
    assert!(ClientGrade::of(&ClientHistory::default(), Some("retry-after,x")).is_err());
}

#[test]
fn requests_that_were_under_way_and_those_of_others_break_nothing() {
    let mut client = SmallClient::default();
    client.refused("GET /tasks", 30);
    // It began before the refusal arrived.
    client.send("GET /tasks", 429).after = 0;
    client.send("GET /tasks", 429).token = None;
    assert_eq!(client.judged().1, Vec::<&str>::new());
}

#[test]
fn the_grade_is_xml_that_junit_knows() {
    let mut client = SmallClient::default();
    client.page("GET /tasks?a=\"<b>\"", Some("a"));
    let grade = ClientGrade::of(&client.history, Some("pages-by-next-page,retry-after")).unwrap();
    let xml = grade.junit();
    assert!(
        xml.contains(r#"tests="2" failures="1" skipped="1""#),
        "{xml}"
    );
    assert!(xml.contains("&lt;b&gt;") && !xml.contains("<b>"), "{xml}");
}
