//! Tests of query decoding and of the typed accessors.

use super::*;

fn query(raw: &str) -> QueryParams {
    QueryParams::parse(raw).unwrap()
}

fn message<T: std::fmt::Debug>(result: Result<T, QueryError>) -> String {
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
        message(QueryParams::parse("ok=1&project=%zz")),
        "project: not valid percent-encoding"
    );
    assert_eq!(
        message(QueryParams::parse("opt_fields=a%00")),
        "opt_fields: must not contain NUL"
    );
    assert_eq!(
        message(QueryParams::parse("text=%ff")),
        "text: not valid UTF-8"
    );
    assert_eq!(
        message(QueryParams::parse("na%me=1")),
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
        ("TRUE", true),
        ("yes", true),
        ("No", false),
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
    for bad in ["y", "on", "null", "2", "%20true"] {
        assert_eq!(
            message(query(&format!("archived={bad}")).flag("archived")),
            "archived: must be true or false"
        );
    }
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

/// S126.
#[test]
fn repeated_and_empty_lists_of_fields_are_one_list() {
    let fields = |raw: &str| query(raw).options().unwrap().fields;
    let named = |raw: &str| fields(raw).unwrap().join("|");
    assert_eq!(named("opt_fields=name&opt_fields=,notes,"), "name|notes");
    assert_eq!(named("opt_fields[]=name&opt_fields[]=gid"), "name|gid");
    assert_eq!(named("opt_fields%5B0%5D=name&opt_fields=gid"), "name|gid");
    for none in [
        "opt_fields=",
        "opt_fields",
        "opt_fields=,+,",
        "opt_fields[]=",
    ] {
        assert_eq!(fields(none), None, "{none}");
    }
}

/// S129.
#[test]
fn empty_parameters_of_a_request_are_absent() {
    let q = QueryParams::of_request("archived=&limit=&offset=&workspace=1&opt_pretty=&x").unwrap();
    assert_eq!(q.flag("archived"), Ok(None));
    assert_eq!((q.limit(), q.get("offset")), (Ok(None), Ok(None)));
    assert_eq!(q.get("workspace"), Ok(Some("1")));
    assert!(q.options().unwrap().pretty);
    let repeated = QueryParams::of_request("limit=&limit=5").unwrap();
    assert_eq!(repeated.limit(), Ok(Some(5)));
    assert_eq!(
        message(QueryParams::of_request("a=%zz")),
        "a: not valid percent-encoding"
    );
}

/// S129.
#[test]
fn the_items_of_a_list_in_brackets_are_one_parameter() {
    let q = query("tags.any[]=1&x=9&tags.any[]=2&projects.any[0]=3&projects.any[1]=4").with_lists();
    let pairs: Vec<_> = q.iter().collect();
    assert_eq!(
        pairs,
        [("tags.any", "1,2"), ("x", "9"), ("projects.any", "3,4")]
    );
    // Other brackets are unchanged, and a list does not hide a repeated name.
    let q = query("[]=1&a[b]=2&a[0][1]=3&c=1&c[]=2").with_lists();
    assert_eq!(q.get("a"), Ok(None));
    assert_eq!(message(q.get("c")), "c: given twice");
}

/// S02.
#[test]
fn the_next_page_keeps_the_other_parameters() {
    let q = query("workspace=1&offset=old&limit=7&text=a%26b+c&opt_fields=name,assignee.name");
    assert_eq!(
        q.next_page_query(Some(20), "AbC-_"),
        "workspace=1&text=a%26b%20c&opt_fields=name,assignee.name&limit=20&offset=AbC-_"
    );
}

#[test]
fn a_plus_is_itself_in_paths_to_expand_alone() {
    let query =
        QueryParams::parse("opt_expand=(this|subtasks+)&opt_expand[]=a%2B&text=a+b").unwrap();
    let read = query.options().unwrap().expand.unwrap();
    assert_eq!(read, ["(this|subtasks+)", "a+"]);
    assert_eq!(query.get("text"), Ok(Some("a b")));
}
