//! A list handler with sealed page tokens: a plain function from a query to a status and a JSON
//! envelope, so that it fits axum, hyper or any other framework. Run it, with or without the laws:
//! `cargo run -p workgraph-wire --example page_tokens --features laws`

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use workgraph_wire::{
    Cursor, CursorError, KeyRing, NextPage, QueryParams, envelope, error_envelope, listing_digest,
    messages,
};

const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// The tasks by gid, with their projects.
const TASKS: [(i64, &str); 6] = [(1, "7"), (2, "7"), (3, "8"), (4, "7"), (5, "7"), (6, "7")];

/// Seals the gid after which a page starts. Servers that share an address share the keys.
struct Pager(KeyRing);

impl Pager {
    fn seal(&self, gid: i64, listing: [u8; 16], expires: SystemTime, nonce: [u8; 12]) -> String {
        let cursor = Cursor {
            listing,
            after: vec![gid],
            max_seq: 0,   // not needed here: it hides rows that came after the first page
            rows_sent: 0, // nor this: it bounds a whole walk
            expires,
        };
        cursor.seal(&self.0, nonce)
    }

    fn open(&self, token: &str, listing: [u8; 16], now: SystemTime) -> Result<i64, CursorError> {
        let cursor = Cursor::open(token, &self.0, listing, now)?;
        cursor.after.first().copied().ok_or(CursorError::Invalid)
    }
}

/// Returns the page that `GET /tasks?project=...&limit=...&offset=...` asks for, or why it is refused.
/// The nonce must be fresh random bytes for each request.
fn task_page(
    pager: &Pager,
    user: &str,
    query: &str,
    now: SystemTime,
    nonce: [u8; 12],
) -> Result<Vec<u8>, String> {
    let query = QueryParams::parse(query).map_err(|e| e.to_string())?;
    let limit = query.limit().map_err(|e| e.to_string())?.unwrap_or(50);
    let project = query.get("project").map_err(|e| e.to_string())?;
    let project = project.ok_or_else(|| messages::missing_input("project"))?;
    // A token is no permission: here a server checks that the user may see the project.

    // All that selects and sorts the rows is in the digest; `limit` may differ from page to page.
    let listing = listing_digest(&[user.as_bytes(), b"/tasks", project.as_bytes()]);
    let after = match query.get("offset").map_err(|e| e.to_string())? {
        Some(token) => pager.open(token, listing, now).map_err(|e| e.to_string())?,
        None => 0,
    };
    let rows = TASKS.iter().filter(|row| row.1 == project && row.0 > after);
    let rows: Vec<i64> = rows.map(|row| row.0).collect();
    let (page, rest) = rows.split_at(rows.len().min(usize::from(limit)));
    let items = page.iter().map(|gid| json!({"gid": gid.to_string()}));
    let items = items.collect::<Value>().to_string();
    let Some(last) = page.last().filter(|_| !rest.is_empty()) else {
        return Ok(envelope::page_envelope(items.as_bytes(), NextPage::Null));
    };
    let offset = &pager.seal(*last, listing, now + LIFETIME, nonce);
    let path = &format!("/tasks?{}", query.next_page_query(Some(limit), offset));
    let uri = &format!("https://work.example/api/1.0{path}");
    let next = NextPage::Page { offset, path, uri };
    Ok(envelope::page_envelope(items.as_bytes(), next))
}

/// Returns the status and the body of a response.
fn respond(page: Result<Vec<u8>, String>) -> (u16, Vec<u8>) {
    match page {
        Ok(body) => (200, body),
        Err(message) => (
            400,
            error_envelope::error(&message, "Read https://work.example/errors"),
        ),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // A server keeps its key (else tokens end with the process), and asks its clock for the time.
    let pager = Pager(KeyRing::new(1, random()?));
    let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);

    // A client follows `next_page` until it is null.
    let mut queries = vec!["project=7&limit=2".to_owned()];
    while let Some(query) = queries.last() {
        let (status, body) = respond(task_page(&pager, "ann", query, now, random()?));
        println!("{status} {}", String::from_utf8_lossy(&body));
        let reply: Value = serde_json::from_slice(&body)?;
        let path = reply.pointer("/next_page/path").and_then(Value::as_str);
        let Some((_, next)) = path.and_then(|path| path.split_once('?')) else {
            break;
        };
        queries.push(next.to_owned());
    }
    assert_eq!(queries.len(), 3, "5 tasks are 3 pages");

    // The second page's token for another user, with another filter, and when it has expired.
    let second = queries.get(1).ok_or("there is no second page")?;
    let other = &second.replace("project=7", "project=8");
    for (user, query, now) in [
        ("bob", second, now),
        ("ann", other, now),
        ("ann", second, now + LIFETIME),
    ] {
        let (status, body) = respond(task_page(&pager, user, query, now, random()?));
        println!("{status} {}", String::from_utf8_lossy(&body));
        assert_eq!(status, 400);
    }
    #[cfg(feature = "laws")]
    laws::check(&pager, now)?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "an example has no server to ask")]
fn random<const N: usize>() -> Result<[u8; N], Box<dyn Error>> {
    let bytes = ring::rand::generate(&ring::rand::SystemRandom::new());
    let bytes = bytes.map_err(|_| "the system has no random bytes")?;
    Ok(bytes.expose())
}

/// The laws of page tokens, run against the pager. A test would try many cases, made by proptest.
#[cfg(feature = "laws")]
mod laws {
    use super::*;
    use workgraph_wire::codec_laws::{self, Codec, CodecCase};

    impl Codec for Pager {
        type Position = i64;

        fn seal(&self, case: &CodecCase<i64>) -> String {
            self.seal(case.position, case.listing, case.expires, case.nonce)
        }

        fn open(&self, token: &str, listing: [u8; 16], at: SystemTime) -> Result<i64, CursorError> {
            self.open(token, listing, at)
        }
    }

    pub(super) fn check(pager: &Pager, now: SystemTime) -> Result<(), Box<dyn Error>> {
        let case = CodecCase {
            position: 4,
            listing: random()?,
            expires: now + LIFETIME,
            nonce: random()?,
        };
        for (name, law) in codec_laws::all() {
            law(pager, &case).map_err(|violation| format!("{name}: {violation}"))?;
            println!("the pager keeps the law {name}");
        }
        Ok(())
    }
}
