use super::*;
use crate::identifier_learning::learn;
use serde_json::json;

fn differences(strictness: Strictness, recorded: &Value, came: &Value) -> Vec<String> {
    let mut mapping = IdentifierMapping::default();
    learn(&mut mapping, "", recorded, came);
    let reply = |body: &Value| RecordedReply::received(200, body.to_string().as_bytes());
    let written = WrittenTimes::default();
    let found = ReplyComparison::new(&mapping, &written, strictness)
        .differences(&reply(recorded), &reply(came));
    let line = |found: ReplyDifference| {
        let ReplyDifference {
            pointer,
            kind,
            recorded,
            came,
        } = found;
        format!("{kind:?} {pointer}: {recorded} / {came}")
    };
    found.into_iter().map(line).collect()
}

fn task() -> Value {
    json!({"data": {
        "gid": "12", "name": "Rake", "completed": false, "due_on": null, "num_likes": 2, "weight": 1.0,
        "created_at": "2026-03-01T09:30:00.000Z", "permalink_url": "https://app.asana.com/0/0/12",
        "html_notes": "<body>See <a href=\"https://app.asana.com/0/0/12\" data-asana-gid=\"12\">Rake</a></body>",
        "text": "https://work.test/0/0/12",
        "tags": [{"gid": "13", "name": "a"}, {"gid": "14", "name": "b"}],
    }})
}

/// The same task on another server.
fn other_task() -> Value {
    json!({"data": {
        "gid": "77", "name": "Rake", "completed": false, "due_on": null, "num_likes": 2, "weight": 1,
        "created_at": "2027-01-02T00:00:01.500Z", "permalink_url": "http://127.0.0.1:8080/0/0/77",
        "html_notes": "<body>See <a href=\"http://127.0.0.1/0/77\" data-asana-gid=\"77\">Rake</a></body>",
        "text": "https://work.test/0/0/77",
        "tags": [{"gid": "78", "name": "a"}, {"gid": "79", "name": "b"}],
    }})
}

#[test]
fn what_only_has_other_identifiers_times_and_links_agrees() {
    for strictness in [Strictness::Values, Strictness::Shape] {
        let none: [&str; 0] = [];
        assert_eq!(differences(strictness, &task(), &other_task()), none);
    }
}

#[test]
fn each_broken_twin_is_found() {
    let twins: [(&str, Value, &str, bool); 10] = [
        (
            "/data/name",
            json!("Hoe"),
            "Value /data/name: \"Rake\" / \"Hoe\"",
            false,
        ),
        (
            "/data/name",
            json!(1),
            "Type /data/name: \"Rake\" / 1",
            true,
        ),
        (
            "/data/due_on",
            json!("2026-03-01"),
            "Type /data/due_on: null / \"2026-03-01\"",
            true,
        ),
        (
            "/data/completed",
            json!(true),
            "Value /data/completed: false / true",
            false,
        ),
        (
            "/data/num_likes",
            json!(3),
            "Value /data/num_likes: 2 / 3",
            false,
        ),
        (
            "/data/created_at",
            json!("soon"),
            "Value /data/created_at: \"2026-03-01T09:30:00.000Z\" / \"soon\"",
            false,
        ),
        (
            "/data/tags/1",
            json!({"gid": "79"}),
            "MissingField /data/tags/1/name: \"b\" / nothing",
            false,
        ),
        (
            "/data/tags/0/a~1b",
            json!(null),
            "AdditionalField /data/tags/0/a~1b: nothing / null",
            true,
        ),
        (
            "/data/tags/1/gid",
            json!("77"),
            "Identifier /data/tags/1/gid: \"14\" / \"77\", which was \"12\"",
            false,
        ),
        (
            "/data/html_notes",
            json!("<body/>"),
            "Value /data/html_notes: ",
            false,
        ),
    ];
    for (pointer, value, found, in_shape) in twins {
        let mut twin = other_task();
        match twin.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => twin["data"]["tags"][0]["a/b"] = value,
        }
        let [line] = &differences(Strictness::Values, &task(), &twin)[..] else {
            panic!("{pointer}");
        };
        assert!(line.starts_with(found), "{line}");
        let of_shape = differences(Strictness::Shape, &task(), &twin);
        assert_eq!(!of_shape.is_empty(), in_shape, "{pointer}");
    }
}

#[test]
fn a_list_with_another_length_is_one_difference() {
    let mut twin = other_task();
    let tags = twin["data"]["tags"].as_array_mut().unwrap();
    tags.insert(0, json!({"gid": "80", "name": "c"}));
    let found = differences(Strictness::Values, &task(), &twin);
    assert_eq!(found, ["ListLength /data/tags: a list of 2 / a list of 3"]);
    assert!(differences(Strictness::Shape, &task(), &twin).is_empty());
}

#[test]
fn names_of_a_map_may_be_identifiers() {
    let recorded = json!({"data": [{"gid": "12"}], "map": {"12": 1, "x": 2}});
    let came = json!({"data": [{"gid": "77"}], "map": {"77": 1, "x": 2}});
    assert!(differences(Strictness::Values, &recorded, &came).is_empty());
}

#[test]
fn texts_and_missing_bodies_are_compared() {
    let mapping = IdentifierMapping::default();
    let written = WrittenTimes::default();
    let kinds = |recorded: Option<&str>, came: &str| {
        let recorded = RecordedReply {
            status: 200,
            body: recorded.map(str::to_owned),
        };
        let came = RecordedReply::received(200, came.as_bytes());
        let comparison = ReplyComparison::new(&mapping, &written, Strictness::Values);
        let found = comparison.differences(&recorded, &came);
        found.iter().map(|found| found.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(Some("a"), "a"), []);
    assert_eq!(kinds(None, "{}"), []);
    assert_eq!(kinds(Some("a"), "b"), [DifferenceKind::Body]);
    assert_eq!(kinds(Some("{}"), ""), [DifferenceKind::Body]);
}
