//! Subjects behind HTTP: a small server on loopback gives the ones in memory an address.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]
#![cfg(feature = "http")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use workgraph_laws::limiter::{
    self, HttpLimiter, LimiterAnswer, LimiterSetup, LimiterSubject, ReferenceLimiter,
};
use workgraph_laws::pagination::{
    self, HttpList, MemoryList, PageReply, PageRequest, PageUser, PagedList,
};
use workgraph_laws::receiver::{self, Delivery, HttpReceiver, MemoryReceiver, ReceiverSubject};
use workgraph_laws::{Report, RunOptions, Verdict};

struct Request {
    method: String,
    path: String,
    query: HashMap<String, String>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

type Handler = Box<dyn FnMut(&Request) -> (u16, Vec<(String, String)>, String) + Send>;

/// Serves requests one after the other on a port of loopback until the process ends; returns the address.
fn serve(mut handler: Handler) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), &mut handler);
        }
    });
    address
}

fn answer(stream: TcpStream, handler: &mut Handler) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut words = line.split_whitespace();
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let unescape = |text: &str| text.replace("%2E", ".").replace("%2D", "-");
    let query = pairs
        .map(|(name, value)| (name.to_owned(), unescape(&digits(value))))
        .collect();
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query,
        headers: Vec::new(),
        body: Vec::new(),
    };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
        request
            .headers
            .push((name.to_owned(), value.trim().to_owned()));
    }
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).unwrap();
    let (status, headers, body) = handler(&request);
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    (&stream).write_all(head.as_bytes()).unwrap();
}

/// Undoes the percent-encoding of letters and digits, which the laws send on purpose.
fn digits(text: &str) -> String {
    let mut text = text.to_owned();
    for byte in (b'0'..=b'9').chain(b'a'..=b'z').chain(b'A'..=b'Z') {
        text = text.replace(&format!("%{byte:02X}"), &char::from(byte).to_string());
    }
    text
}

fn judged_broken(report: &Report, law: &str) {
    let broken: Vec<_> = report
        .with_verdict(Verdict::Broken)
        .map(|law| law.law)
        .collect();
    assert!(broken.contains(&law), "the mutant of {law}: {report}");
    let steps = report
        .with_verdict(Verdict::Broken)
        .find(|broken| broken.law == law)
        .unwrap()
        .steps
        .len();
    assert!(steps <= 12, "{report}");
}

fn list(law: &str) -> HttpList {
    let mut list = MemoryList::breaking(law);
    let address = serve(Box::new(move |request| {
        let id = request
            .path
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        match request.method.as_str() {
            "POST" => (
                201,
                Vec::new(),
                format!("{{\"data\":{{\"id\":\"{}\"}}}}", list.create().unwrap()),
            ),
            "DELETE" => (200, Vec::new(), format!("{:?}", list.delete(&id).is_ok())),
            "PUT" => (200, Vec::new(), format!("{:?}", list.change(&id).is_ok())),
            _ => {
                let second = request
                    .headers
                    .iter()
                    .any(|(_, value)| value == "Bearer second");
                let page = PageRequest {
                    limit: request.query.get("limit").cloned(),
                    cursor: request.query.get("cursor").cloned(),
                    user: if second {
                        PageUser::Second
                    } else {
                        PageUser::First
                    },
                    encode_all: false,
                };
                match list.page(&page).unwrap() {
                    PageReply::Refused { status } => (status, Vec::new(), "{}".to_owned()),
                    PageReply::Page { ids, next } => {
                        let items: Vec<_> =
                            ids.iter().map(|id| serde_json::json!({"id": id})).collect();
                        (
                            200,
                            Vec::new(),
                            serde_json::json!({"data": items, "next": next}).to_string(),
                        )
                    }
                }
            }
        }
    }));
    let text = format!(
        r#"
list = "GET {address}/items?limit={{limit}}&cursor={{cursor}}"
items = "/data"
id = "/id"
next = "/next"
create = {{ request = "POST {address}/items", body = '{{"name":"same"}}', id = "/data/id" }}
delete = "DELETE {address}/items/{{id}}"
change = {{ request = "PUT {address}/items/{{id}}", body = '{{"name":"{{random}}"}}' }}
headers = {{ Authorization = "Bearer first" }}
other_headers = {{ Authorization = "Bearer second" }}
"#
    );
    HttpList::from_toml(&text).unwrap()
}

#[test]
fn a_right_list_keeps_every_law_over_http() {
    let options = RunOptions {
        operations: 150,
        ..RunOptions::default()
    };
    let report = pagination::judge(&mut list(""), &options).unwrap();
    assert_eq!(report.with_verdict(Verdict::Holds).count(), 10, "{report}");
}

#[test]
fn wrong_lists_are_found_over_http_and_told_as_curl() {
    // Skips rows at a deletion, skips equal keys, takes a cut cursor for the first page.
    for law in ["W3", "W2", "W8"] {
        let options = RunOptions {
            run: vec![law.to_owned()],
            ..RunOptions::default()
        };
        let report = pagination::judge(&mut list(law), &options).unwrap();
        judged_broken(&report, law);
        let told = report.to_string();
        assert!(
            told.contains("curl -si -H 'Authorization: Bearer first'"),
            "{told}"
        );
    }
}

/// Serves a limiter that breaks a law; that of "silence" sends no `Retry-After`.
fn limited_endpoint(law: &str) -> HttpLimiter {
    let is_silent = law == "silence";
    let mut limiter = ReferenceLimiter::breaking(law);
    limiter
        .start(&LimiterSetup {
            window_ms: 10_000,
            quota: 3,
            permits: None,
            cost: None,
        })
        .unwrap();
    let mut now = 0;
    let address = serve(Box::new(move |request| {
        if request.path == "/clock" {
            now = request.query.get("now").unwrap().parse().unwrap();
            return (204, Vec::new(), String::new());
        }
        let key = request
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("x-key"))
            .unwrap();
        match limiter.admit(&key.1, 1, now).unwrap() {
            LimiterAnswer::Admitted { .. } => (200, Vec::new(), "{}".to_owned()),
            LimiterAnswer::Refused { .. } if is_silent => (429, Vec::new(), "{}".to_owned()),
            LimiterAnswer::Refused { wait_ms } => {
                let seconds = wait_ms.div_ceil(1_000).to_string();
                (
                    429,
                    vec![("Retry-After".to_owned(), seconds)],
                    "{}".to_owned(),
                )
            }
        }
    }));
    let text = format!(
        "request = \"GET {address}/limited\"\nheaders = {{ X-Key = \"{{key}}\" }}\nquota = 3\nwindow_ms = 10000\n\
         clock = \"POST {address}/clock?now={{now_ms}}\"\n"
    );
    HttpLimiter::from_toml(&text).unwrap()
}

#[test]
fn a_limited_endpoint_is_judged_with_its_clock() {
    let options = RunOptions {
        operations: 150,
        ..RunOptions::default()
    };
    let report = limiter::judge(&mut limited_endpoint(""), &options).unwrap();
    assert_eq!(report.with_verdict(Verdict::Holds).count(), 9, "{report}");
    // One too many, Retry-After 0, one bucket for all, and a 429 without Retry-After.
    for (mutant, law) in [("G1", "G1"), ("G4", "G4"), ("G6", "G6"), ("silence", "G4")] {
        let options = RunOptions {
            operations: 600,
            run: vec![law.to_owned()],
            ..RunOptions::default()
        };
        judged_broken(
            &limiter::judge(&mut limited_endpoint(mutant), &options).unwrap(),
            law,
        );
    }
}

fn receiver(law: &str) -> HttpReceiver {
    let mut receiver = MemoryReceiver::breaking(law);
    let address = serve(Box::new(move |request| {
        let delivery = Delivery {
            headers: request.headers.clone(),
            body: request.body.clone(),
        };
        let reply = receiver.post(&delivery).unwrap();
        assert!(reply.took < Duration::from_secs(12));
        let secret = reply
            .secret
            .map(|secret| ("X-Hook-Secret".to_owned(), secret));
        (reply.status, secret.into_iter().collect(), String::new())
    }));
    HttpReceiver::new(format!("{address}/hooks"))
}

#[test]
fn receivers_are_judged_over_http() {
    let report = receiver::judge(&mut receiver(""), &RunOptions::default()).unwrap();
    assert_eq!(report.exit_status(&[]), 0, "{report}");
    // R9 is about real time; its mutant is tried in process.
    for law in ["R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8"] {
        let report = receiver::judge(&mut receiver(law), &RunOptions::default()).unwrap();
        judged_broken(&report, law);
    }
}

#[test]
fn an_address_that_does_not_answer_can_not_be_judged() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut nobody = HttpReceiver::new(format!("http://127.0.0.1:{port}/"));
    let refused = receiver::judge(&mut nobody, &RunOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("127.0.0.1"), "{refused}");
}
