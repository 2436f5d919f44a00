//! Properties of the readers and writers: none panics, and each undoes the other.

use proptest::prelude::*;
use serde_json::{Value, json};
use workgraph_wire::form_body::FORM_BYTES;
use workgraph_wire::json_body::JsonLimits;
use workgraph_wire::{
    ErrorObject, FormBody, NextPage, QueryParams, envelope, error_envelope, json_body, messages,
    phrase,
};

/// Generates any text but one with a NUL, which queries and forms refuse.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_.]{0,12}",
        any::<String>().prop_map(|s| s.replace('\0', "")),
        "[&=+%#? ;,|()é🦑]{0,8}",
    ]
}

/// Generates parameters whose names are neither paging parameters nor options.
fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    let reserved = |name: &String| name != "limit" && name != "offset" && !name.starts_with("opt_");
    prop::collection::vec((text().prop_filter("reserved", reserved), text()), 0..8)
}

/// Generates any JSON value within the default depth.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|list| Value::Object(list.into_iter().collect())),
        ]
    })
}

/// Encodes a form without our own encoder: every byte is coded.
fn encode(pairs: &[(String, String)], code: fn(&str) -> String) -> String {
    pairs
        .iter()
        .map(|(n, v)| format!("{}={}", code(n), code(v)))
        .collect::<Vec<_>>()
        .join("&")
}

fn coded(text: &str) -> String {
    text.bytes().map(|b| format!("%{b:02x}")).collect()
}

/// Returns the text uncoded: the broken twin of `coded`.
fn uncoded(text: &str) -> String {
    text.to_owned()
}

fn owned(query: &QueryParams) -> Vec<(String, String)> {
    query
        .iter()
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .collect()
}

/// Returns true if a query reads back as it was encoded.
fn round_trips(pairs: &[(String, String)], code: fn(&str) -> String) -> bool {
    QueryParams::parse(&encode(pairs, code)).is_ok_and(|q| owned(&q) == pairs)
}

/// Generates an object of texts, lists and objects, as a form with brackets can express them: nothing in it
/// is empty, and no part has a number for a name.
fn record() -> impl Strategy<Value = Value> {
    let leaf = text().prop_map(Value::from);
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z][a-z_.]{0,6}", inner, 1..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    // A field with an option's name is an option, and a single field may be read as a wrapping.
    let field = "[a-ce-np-z][a-z_.]{0,6}";
    prop::collection::btree_map(field, value, 1..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// Appends the fields of a form that express a value. If `numbered` is true, items have their numbers.
fn bracketed(name: &str, value: &Value, numbered: bool, out: &mut Vec<(String, String)>) {
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let at = if numbered {
                    at.to_string()
                } else {
                    String::new()
                };
                bracketed(&format!("{name}[{at}]"), item, numbered, out);
            }
        }
        Value::Object(map) => {
            for (part, value) in map {
                let part = if name.is_empty() {
                    part.clone()
                } else {
                    format!("{name}[{part}]")
                };
                bracketed(&part, value, numbered, out);
            }
        }
        text => out.push((
            name.to_owned(),
            text.as_str().unwrap_or_default().to_owned(),
        )),
    }
}

/// Returns true if a form reads back as the record that was written into it.
fn says(record: &Value, numbered: bool) -> bool {
    let mut pairs = Vec::new();
    bracketed("", record, numbered, &mut pairs);
    let form = FormBody::parse(encode(&pairs, coded).as_bytes(), FORM_BYTES);
    let body = form.and_then(|form| form.into_body(|_| false));
    body.is_ok_and(|body| Value::Object(body.data) == *record)
}

/// Returns true if indenting keeps the value.
fn keeps_value(value: &Value, indent: fn(&[u8]) -> Vec<u8>) -> bool {
    let text = indent(value.to_string().as_bytes());
    json_body::parse(
        &text,
        JsonLimits {
            depth: 127,
            ..JsonLimits::default()
        },
    )
    .is_ok_and(|v| v == *value)
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(raw in any::<String>(), bytes in any::<Vec<u8>>()) {
        if let Ok(query) = QueryParams::parse(&raw) {
            let _ = (query.limit(), query.options(), query.flag("a"));
        }
        let _ = FormBody::parse(&bytes, FORM_BYTES).map(|form| form.into_body(|_| false));
        let _ = json_body::read_body(&bytes);
        let _ = json_body::parse(raw.as_bytes(), JsonLimits::default());
        let _ = envelope::indent(&bytes);
        prop_assert!(messages::clip(&raw).chars().all(|c| !c.is_control()));
    }

    #[test]
    fn no_near_miss_makes_a_reader_panic(raw in r#"[%&=+0-9a-fA-F"\\{}\[\]:,ud8.eE-]{0,60}"#) {
        let _ = QueryParams::parse(&raw).map(|q| q.options());
        let _ = json_body::read_body(raw.as_bytes());
        let _ = envelope::indent(raw.as_bytes());
    }

    #[test]
    fn queries_and_forms_read_what_was_encoded(pairs in pairs()) {
        prop_assume!(!pairs.iter().any(|(n, v)| n.is_empty() && v.is_empty()));
        prop_assert!(round_trips(&pairs, coded));
        let form = FormBody::parse(encode(&pairs, coded).as_bytes(), FORM_BYTES);
        prop_assert_eq!(form.map(|f| owned(&f.fields)), Ok(pairs));
    }

    /// S131.
    #[test]
    fn forms_with_brackets_say_what_was_written_into_them(record in record()) {
        prop_assert!(says(&record, true), "{}", record);
    }

    #[test]
    fn the_next_page_has_the_same_parameters(pairs in pairs(), limit in 1..=100_u16, offset in "[A-Za-z0-9_-]{1,120}") {
        let mut sent = pairs.clone();
        sent.insert(0, ("limit".into(), "7".into()));
        sent.push(("offset".into(), "old".into()));
        let query = QueryParams::parse(&encode(&sent, coded));
        let rewritten = query.map(|q| q.next_page_query(Some(limit), &offset)).unwrap_or_default();
        prop_assert!(rewritten.is_ascii() && !rewritten.contains(' '), "{}", rewritten);
        let next = QueryParams::parse(&rewritten);
        prop_assert_eq!(next.as_ref().map(|q| q.limit()), Ok(Ok(Some(limit))));
        let mut expected = pairs;
        expected.extend([("limit".to_owned(), limit.to_string()), ("offset".to_owned(), offset)]);
        prop_assert_eq!(next.map(|q| owned(&q)), Ok(expected));
    }

    #[test]
    fn limits_are_read_like_plain_numbers(text in "[0-9]{1,4}|[ +-]?[0-9a-z.]{0,3}") {
        let expected = text.parse::<u16>().ok().filter(|n| (1..=100).contains(n) && text.len() <= 3 && !text.starts_with('+'));
        let query = QueryParams::parse(&format!("limit={}", coded(&text)));
        prop_assert_eq!(query.map(|q| q.limit().unwrap_or_default()), Ok(expected));
    }

    #[test]
    fn json_values_come_back(value in value()) {
        let text = value.to_string();
        prop_assert_eq!(json_body::parse(text.as_bytes(), JsonLimits::default()), Ok(value.clone()));
        let body = json!({"options": {"pretty": true}, "data": {"x": value}}).to_string();
        let body = json_body::read_body_within(body.as_bytes(), JsonLimits { depth: 40, ..JsonLimits::default() });
        prop_assert_eq!(body.map(|b| (b.options.pretty, Value::Object(b.data))), Ok((true, json!({"x": value}))));
    }

    #[test]
    fn a_key_given_twice_is_refused_wherever_it_is(value in value(), key in text(), other in text()) {
        prop_assume!(key != other);
        let (k, o) = (Value::from(key.clone()), Value::from(other));
        let text = format!("[{{{k}:{value},{o}:[],{k}:null}}]");
        prop_assert_eq!(json_body::parse(text.as_bytes(), JsonLimits::default()), Err(json_body::JsonError::DuplicateKey(messages::clip(&key))));
    }

    #[test]
    fn truncated_json_is_refused(value in value(), cut in any::<prop::sample::Index>()) {
        let text = json!({"data": value}).to_string();
        prop_assert!(json_body::read_body(&text.as_bytes()[..cut.index(text.len())]).is_err());
    }

    #[test]
    fn strings_and_indentation_are_json(value in value(), text in any::<String>()) {
        let mut out = Vec::new();
        envelope::string(&mut out, &text);
        prop_assert_eq!(serde_json::from_slice::<String>(&out).ok(), Some(text));
        prop_assert!(keeps_value(&value, envelope::indent));
        let reference = serde_json::to_string_pretty(&value).unwrap_or_default();
        prop_assert_eq!(String::from_utf8(envelope::indent(value.to_string().as_bytes())), Ok(reference));
    }

    #[test]
    fn envelopes_hold_what_was_put_in(value in value(), t in any::<[String; 3]>(), random in any::<u64>()) {
        let items = value.to_string();
        let page = NextPage::Page { offset: &t[0], path: &t[1], uri: Some(&t[2]) };
        let read = |bytes: Vec<u8>| serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
        let next = json!({"offset": t[0], "path": t[1], "uri": t[2]});
        prop_assert_eq!(read(envelope::page_envelope(items.as_bytes(), page)), json!({"data": value, "next_page": next}));
        let fault = ErrorObject::with_phrase(t[0].clone(), phrase::phrase(random));
        let written = read(error_envelope::errors(std::slice::from_ref(&fault), "help"));
        prop_assert_eq!(written, json!({"errors": [{"message": t[0], "phrase": fault.phrase, "help": "help"}]}));
    }
}

#[test]
fn a_broken_encoder_fails_the_round_trip() {
    let pairs = [("a".to_owned(), "1&b=2+3".to_owned())];
    assert!(round_trips(&pairs, coded) && !round_trips(&pairs, uncoded));
}

#[test]
fn a_form_that_does_not_number_items_mixes_them_up() {
    let record =
        json!({"filters": [{"action": "added", "fields": ["a", "b"]}, {"action": "removed"}]});
    assert!(says(&record, true) && !says(&record, false));
}

#[test]
fn a_broken_indenter_loses_the_value() {
    fn careless(json: &[u8]) -> Vec<u8> {
        String::from_utf8_lossy(json)
            .replace(',', ",\n")
            .into_bytes()
    }
    let value = json!({"a": "x,y", "b": [1, 2]});
    assert!(keeps_value(&value, envelope::indent) && !keeps_value(&value, careless));
}

#[test]
fn a_parser_that_keeps_the_last_duplicate_is_not_ours() {
    let text = r#"{"data":{"a":1,"a":2}}"#;
    assert!(
        serde_json::from_str::<Value>(text).is_ok()
            && json_body::read_body(text.as_bytes()).is_err()
    );
}
