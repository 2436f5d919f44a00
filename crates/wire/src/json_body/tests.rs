//! Tests of the JSON parser and of the body's top level.

use serde_json::json;

use super::*;
use crate::messages;

fn refusal(text: &str) -> String {
    parse(text.as_bytes(), JsonLimits::default())
        .unwrap_err()
        .to_string()
}

#[test]
fn values_come_through_unchanged() {
    let text =
        r#"{"z":[1,-2,1.5,true,null,"é\ud83e\udd91\n"],"a":{"b":{}},"n":18446744073709551615}"#;
    let value = parse(text.as_bytes(), JsonLimits::default()).unwrap();
    assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    let keys: Vec<_> = value.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["z", "a", "n"], "order is kept");
}

#[test]
fn broken_syntax_is_invalid_json() {
    let bom = "\u{feff}{}";
    for text in [
        "",
        "{",
        "{\"a\":1,}",
        "[1,]",
        bom,
        "{} x",
        "{}{}",
        "NaN",
        "Infinity",
        "'a'",
        "01",
        "\"\u{1}\"",
        "{1:2}",
    ] {
        assert_eq!(refusal(text), messages::INVALID_JSON, "{text:?}");
    }
}

#[test]
fn duplicate_keys_are_refused_at_every_level_and_in_every_spelling() {
    assert_eq!(refusal(r#"{"name":1,"name":2}"#), "name: given twice");
    assert_eq!(
        refusal(r#"{"data":[{"a":{"x":1,"y":2,"x":1}}]}"#),
        "x: given twice"
    );
    assert_eq!(refusal(r#"{"a":1,"\u0061":2}"#), "a: given twice");
    let private = r#"{"$serde_json::private::RawValue":"{\"a\":1,\"a\":2}"}"#;
    assert!(
        parse(private.as_bytes(), JsonLimits::default())
            .unwrap()
            .is_object(),
        "just a key like any other"
    );
    assert!(parse(br#"[{"a":1},{"a":1}]"#, JsonLimits::default()).is_ok());
}

#[test]
fn text_must_be_utf8_down_to_the_escapes() {
    assert_eq!(
        parse(b"\"\xff\"", JsonLimits::default()),
        Err(JsonError::NotUtf8)
    );
    assert_eq!(
        parse(b"\"\xed\xa0\x80\"", JsonLimits::default()),
        Err(JsonError::NotUtf8)
    );
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800x""#,
        r#""\ud800\u0041""#,
        r#""\ud800\n""#,
        r#"{"\udfff":1}"#,
    ] {
        assert_eq!(refusal(text), messages::NOT_UTF8, "{text}");
    }
}

#[test]
fn numbers_are_finite() {
    for text in ["1e999", "-1e999", "[1e400]"] {
        assert_eq!(refusal(text), messages::NUMBER_RANGE, "{text}");
    }
    assert_eq!(parse(b"1e-999", JsonLimits::default()), Ok(json!(0.0)));
}

#[test]
fn numbers_are_exact_to_the_last_place() {
    for text in [
        "185534092914.24298",
        "0.1",
        "9007199254740993",
        "1.7976931348623157e308",
    ] {
        assert_eq!(
            parse(text.as_bytes(), JsonLimits::default())
                .unwrap()
                .to_string()
                .replace("e+", "e"),
            text
        );
    }
}

#[test]
fn nesting_stops_at_the_limit() {
    let nest = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(parse(nest(32).as_bytes(), JsonLimits::default()).is_ok());
    assert_eq!(
        refusal(&nest(33)),
        "Could not parse request data, nested deeper than 32 levels"
    );
    assert_eq!(
        refusal(&"{\"a\":".repeat(33)),
        "Could not parse request data, nested deeper than 32 levels"
    );
    let high = JsonLimits {
        depth: 1_000,
        ..JsonLimits::default()
    };
    assert_eq!(
        parse(nest(900).as_bytes(), high),
        Err(JsonError::Depth(1_000))
    );
    assert_eq!(
        parse(b"[]", JsonLimits { depth: 0, ..high }),
        Err(JsonError::Depth(0))
    );
    assert_eq!(
        parse(&b"[".repeat(1_000_000), JsonLimits::default()),
        Err(JsonError::Depth(32))
    );
}

#[test]
fn size_stops_at_the_limit() {
    let limits = JsonLimits { bytes: 4, depth: 1 };
    assert!(parse(b"1234", limits).is_ok());
    assert_eq!(parse(b"12345", limits).unwrap_err().status(), 413);
    assert_eq!(read_body_within(b"     ", limits), Err(JsonError::TooLarge));
}

#[test]
fn a_body_has_data_and_perhaps_options() {
    let got = read_body(
        br#"{"options":{"fields":["name"],"pretty":true},"data":{"name":"x","notes":null}}"#,
    )
    .unwrap();
    assert_eq!(Value::Object(got.data), json!({"name": "x", "notes": null}));
    assert_eq!(got.options.fields.unwrap(), ["name"]);
    assert!(got.options.pretty);
    assert!(read_body(br#" {"data":{}} "#).unwrap().data.is_empty());
}

#[test]
fn another_top_level_is_refused() {
    for (text, message) in [
        ("", "data: Missing input"),
        (" \n", "data: Missing input"),
        ("{}", "data: Missing input"),
        (r#"{"options":{}}"#, "data: Missing input"),
        (r#"{"data":null}"#, "data: Missing input"),
        (r#"{"data":[1]}"#, "data: must be an object"),
        (r#"{"data":"x"}"#, "data: must be an object"),
        ("[]", messages::NOT_AN_OBJECT),
        ("null", messages::NOT_AN_OBJECT),
        (r#"{"data":{},"options":[1]}"#, "options: must be an object"),
        (r#"{"data":{},"data":{}}"#, "data: given twice"),
        (r#"{"data":{"name":1,"name":1}}"#, "name: given twice"),
    ] {
        let error = read_body(text.as_bytes()).unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.status()),
            (message, 400),
            "{text}"
        );
    }
    let stray = read_body(br#"{"name":"x"}"#).unwrap_err().to_string();
    assert_eq!(stray, messages::unrecognized("name"));
}

#[test]
fn an_empty_array_is_an_empty_object_where_one_is_due() {
    for body in [r#"{"data":[]}"#, r#"{"data":{},"options":[]}"#] {
        assert_eq!(
            read_body(body.as_bytes()),
            Ok(JsonBody::default()),
            "{body}"
        );
    }
}

#[test]
fn a_byte_order_mark_before_a_body_is_passed_over() {
    let body = read_body("\u{feff}{\"data\":{\"name\":\"a\"}}".as_bytes()).unwrap();
    assert_eq!(body.data["name"], "a");
    assert_eq!(
        read_body("\u{feff}".as_bytes()),
        Err(JsonError::MissingData)
    );
    assert!(read_body("{\"data\":\u{feff}{}}".as_bytes()).is_err());
}
