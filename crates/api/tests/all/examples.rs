//! Examples of the OpenAPI document: each request is sent, and its reply is the one of the example.
use crate::golden;
use crate::probes::{ORCHID, sample, sender};
use crate::world::{Kind, World};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use workgraph_api::request::Method;
use workgraph_operations::all;

/// Texts of these tests, and those that examples have in their place.
const SHOWN: &[(&str, &str)] = &[
    ("https://work.test", "https://work.example"),
    (
        "https://hooks.test/echo/probe",
        "https://hooks.example/garden",
    ),
    (
        "https://files.test/probe",
        "https://files.example/border.pdf",
    ),
    ("orchid.test", "orchid.example"),
    ("Probe", "Plant the border"),
];

/// Gids of one example, under numbers that are the same in each run.
#[derive(Default)]
struct Gids(BTreeMap<String, String>);

impl Gids {
    /// Returns a text with its gids replaced, and the addresses of these tests.
    fn shown(&mut self, text: &str) -> String {
        let text = SHOWN.iter().fold(text.to_owned(), |text, (own, shown)| {
            text.replace(own, shown)
        });
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            let (before, from) = rest.split_at(at);
            let end = from
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(from.len());
            let (digits, after) = from.split_at(end);
            out += before;
            match digits.len() {
                14.. => {
                    let next = 1_200_000_000_000_001 + self.0.len();
                    out += self.0.entry(digits.to_owned()).or_insert(next.to_string());
                }
                _ => out += digits,
            }
            rest = after;
        }
        // What differs from one reply to the next.
        let out = out + rest;
        match out
            .split_once("ticket=")
            .or_else(|| out.split_once("view="))
        {
            Some((address, _)) => format!("{address}example"),
            None => out,
        }
    }

    /// Returns a value with its gids replaced, and what is sealed or secret.
    fn of(&mut self, name: &str, value: &Value) -> Value {
        match value {
            Value::String(_) if ["sync", "offset", "X-Hook-Secret"].contains(&name) => {
                json!("de4774f6915eae04714ca93bb2f5ee81")
            }
            Value::String(text) => json!(self.shown(text)),
            Value::Array(items) => items.iter().map(|item| self.of(name, item)).collect(),
            Value::Object(object) => {
                let parts = object
                    .iter()
                    .map(|(name, part)| (name.clone(), self.of(name, part)));
                Value::Object(parts.collect())
            }
            // Access tokens and counters are numbers that mean something.
            other => other.clone(),
        }
    }

    /// Returns the named values of a path or query.
    fn named<'p>(&mut self, pairs: impl Iterator<Item = (&'p str, &'p str)>) -> Value {
        let decoded =
            |value: &str| workgraph_wire::percent::decode(value.as_bytes(), false).unwrap();
        let named = pairs.map(|(name, value)| {
            let value = self.of(name, &json!(decoded(value)));
            (name.to_owned(), value)
        });
        Value::Object(named.collect())
    }
}

/// Every operation has an example: a request that succeeds, and its reply.
#[test]
fn every_operation_has_an_example_that_is_true() {
    // Reads leave a world as it is.
    let read_only = World::new(Kind::Memory);
    let mut text = String::new();
    for row in all() {
        let is_read = row.method == Method::Get && row.id != "getTaskForCustomID";
        let own;
        let world = match is_read {
            true => &read_only,
            false => {
                own = World::new(Kind::Memory);
                &own
            }
        };
        let request = sample(world, &ORCHID, row);
        let answer = request.send(world, sender(row, "ada"), row);
        assert!(
            (200..300).contains(&answer.status),
            "{}: {}",
            row.id,
            answer.text
        );
        let mut gids = Gids::default();
        let mut example = Map::new();
        let mut add = |name: &str, value: Value| {
            if value.as_object().is_none_or(|object| !object.is_empty()) {
                example.insert(name.to_owned(), value);
            }
        };
        add(
            "path",
            gids.named(request.path.iter().map(|(name, value)| (*name, &**value))),
        );
        add(
            "query",
            gids.named(request.query.iter().map(|(name, value)| (*name, &**value))),
        );
        if matches!(row.method, Method::Post | Method::Put) {
            add(
                "body",
                json!({ "data": gids.of("", &Value::Object(request.body.clone())) }),
            );
        }
        add("status", json!(answer.status));
        add("reply", gids.of("", &answer.json));
        let mark = if text.is_empty() { "{\n" } else { ",\n" };
        text += &format!("{mark}{}: {}", json!(row.id), Value::Object(example));
    }
    text += "\n}\n";
    golden::check(
        &golden::root("crates/operations/src/openapi/examples.json"),
        &text,
    );
}
