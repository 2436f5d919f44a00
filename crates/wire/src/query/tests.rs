//! Tests of query decoding and of the typed readers.

use super::*;

fn query(raw: &str) -> Query {
    Query::parse(raw).unwrap()
}

fn message<T: fmt::Debug>(result: Result<T, QueryError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn values_are_decoded_and_keep_their_order() {
    let q = query("b=1+2&a=%C3%A9&opt_pretty&&=x&b2=a=b");
    let pairs: Vec<_> = q.iter().collect();
    assert_eq!(
        pairs,
        [
            ("b", "1 2"),
            ("a", "é"),
            ("opt_pretty", ""),
            ("", "x"),
            ("b2", "a=b")
        ]
    );
    assert_eq!(q.get("missing"), Ok(None));
    assert!(query("").is_empty());
}

#[test]
fn what_cannot_be_decoded_names_its_parameter() {
    assert_eq!(
        message(Query::parse("ok=1&project=%zz")),
        "project: not valid percent-encoding"
    );
    assert_eq!(
        message(Query::parse("opt_fields=a%00")),
        "opt_fields: must not contain NUL"
    );
    assert_eq!(message(Query::parse("text=%ff")), "text: not valid UTF-8");
    assert_eq!(
        message(Query::parse("na%me=1")),
        "na%me: not valid percent-encoding"
    );
    assert_eq!(
        message(query("limit=1&limit=1").get("limit")),
        "limit: given twice"
    );
}

/// S41.
#[test]
fn limit_is_one_to_a_hundred_in_ascii_digits() {
    assert_eq!(query("limit=1").limit(), Ok(Some(1)));
    assert_eq!(query("limit=100").limit(), Ok(Some(100)));
    assert_eq!(query("").limit(), Ok(None));
    for bad in [
        "0",
        "101",
        "-1",
        "1.5",
        "%2B5",
        "+5",
        "1e2",
        "%D9%A3",
        "",
        "0x1",
        "65537",
        "1%20",
        "99999999999",
    ] {
        assert_eq!(
            message(query(&format!("limit={bad}")).limit()),
            "limit: must be 1 to 100",
            "{bad}"
        );
    }
    assert_eq!(
        message(query("limit=5&limit=6").limit()),
        "limit: given twice"
    );
}

#[test]
fn flags_take_the_spellings_that_clients_send() {
    for (text, expected) in [
        ("true", true),
        ("True", true),
        ("1", true),
        ("false", false),
        ("False", false),
        ("0", false),
    ] {
        assert_eq!(
            query(&format!("archived={text}")).flag("archived"),
            Ok(Some(expected))
        );
    }
    assert_eq!(
        message(query("archived=yes").flag("archived")),
        "archived: must be true or false"
    );
}

#[test]
fn options_come_from_the_opt_parameters() {
    let options =
        query("opt_fields=name,assignee.email&opt_pretty&limit=5&offset=abc&opt_client_name=x")
            .options()
            .unwrap();
    assert_eq!(options.fields.unwrap(), ["name", "assignee.email"]);
    assert!(options.pretty && options.expand.is_none());
    assert_eq!(
        (options.limit, options.offset.as_deref()),
        (Some(5), Some("abc"))
    );
    assert!(!query("opt_pretty=false").options().unwrap().pretty);
    assert_eq!(
        message(query("opt_pretty=x").options()),
        "opt_pretty: must be true or false"
    );
}

/// S02.
#[test]
fn the_next_page_keeps_the_other_parameters() {
    let q = query("workspace=1&offset=old&limit=7&text=a%26b+c&opt_fields=name,assignee.name");
    assert_eq!(
        q.rewrite(Some(20), "AbC-_"),
        "workspace=1&text=a%26b%20c&opt_fields=name,assignee.name&limit=20&offset=AbC-_"
    );
}

#[test]
fn repeats_are_found_anywhere() {
    assert_eq!(query("a=1&b=2&c=3").distinct(), Ok(()));
    assert_eq!(
        message(query("a=1&b=2&c=3&b=2&a=1").distinct()),
        "b: given twice"
    );
}
