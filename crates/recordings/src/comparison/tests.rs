use super::*;
use serde_json::{Value, json};

type Step<'a> = (&'a str, &'a str, Value, u16, Value);

fn recording(steps: &[Step]) -> Recording {
    let mut recording = Recording::new();
    for (method, target, body, status, reply) in steps {
        recording.push(RecordedExchange {
            started_at: "2026-03-01T09:30:00Z".to_owned(),
            base: "https://app.asana.com/api/1.0".to_owned(),
            request: RecordedRequest {
                method: (*method).to_owned(),
                target: (*target).to_owned(),
                content_type: Some("application/json".to_owned()),
                body: (!body.is_null()).then(|| body.to_string()),
            },
            reply: reply_of(*status, reply),
        });
    }
    recording
}

fn reply_of(status: u16, body: &Value) -> RecordedReply {
    RecordedReply::received(status, body.to_string().as_bytes())
}

/// Runs a comparison with these replies; returns the targets that were sent, and the report.
fn run(mut comparison: Comparison, replies: &[(u16, Value)]) -> (Vec<String>, Report) {
    let mut sent = Vec::new();
    let mut replies = replies.iter();
    while let Some(request) = comparison.next_request() {
        let body = request.body.unwrap_or_default();
        sent.push(format!("{} {} {body}", request.method, request.target));
        if let Some((status, reply)) = replies.next() {
            comparison.compare(&reply_of(*status, reply));
        }
    }
    (sent, comparison.finish())
}

fn life_of_a_task() -> Recording {
    let task = json!({"data": {"gid": "12", "name": "Rake", "workspace": {"gid": "5"}, "due_on": "2026-03-02"}});
    recording(&[
        (
            "POST",
            "/tasks",
            json!({"data": {"workspace": "5", "due_on": "2026-03-02"}}),
            201,
            task.clone(),
        ),
        ("GET", "/tasks/12?opt_pretty=true", Value::Null, 200, task),
        ("DELETE", "/tasks/12", Value::Null, 200, json!({"data": {}})),
        (
            "GET",
            "/tasks/12",
            Value::Null,
            404,
            json!({"errors": [{"message": "task: Unknown object: 12", "help": "a"}]}),
        ),
    ])
}

fn replies() -> Vec<(u16, Value)> {
    let task = json!({"data": {"gid": "77", "name": "Rake", "workspace": {"gid": "9"}, "due_on": "2026-03-02"}});
    vec![
        (201, task.clone()),
        (200, task),
        (200, json!({"data": {}})),
        (
            404,
            json!({"errors": [{"message": "task: Unknown object: 77", "help": "b"}]}),
        ),
    ]
}

#[test]
fn identifiers_carry_over_from_creation_to_deletion() {
    let names = BTreeMap::from([("5".to_owned(), "9".to_owned())]);
    let comparison = Comparison::new(life_of_a_task()).with_names(names);
    let (sent, report) = run(comparison, &replies());
    assert!(report.holds(), "{}", report.text());
    assert!(sent[0].contains(r#""workspace":"9""#), "{sent:?}");
    assert_eq!(sent[1], "GET /tasks/77?opt_pretty=true ");
    assert_eq!(sent[2], "DELETE /tasks/77 ");
    assert_eq!(
        report.text(),
        "4 of 4 requests compared, 0 entries skipped: no differences\n"
    );
}

#[test]
fn equal_recordings_hold() {
    let recording = life_of_a_task();
    let mut comparison = Comparison::new(recording.clone());
    for exchange in recording.exchanges() {
        assert_eq!(comparison.next_request().as_ref(), Some(&exchange.request));
        comparison.compare(&exchange.reply);
    }
    assert_eq!(comparison.next_request(), None);
    assert!(comparison.finish().holds());
}

#[test]
fn what_is_unknown_is_sent_as_it_is() {
    let (sent, report) = run(Comparison::new(life_of_a_task()), &replies());
    assert!(sent[0].contains(r#""workspace":"5""#), "{sent:?}");
    assert!(report.holds());
}

/// Returns the only difference that a change of one reply makes.
fn only_difference(index: usize, change: impl Fn(&mut (u16, Value))) -> Difference {
    let mut replies = replies();
    change(&mut replies[index]);
    let (_, report) = run(Comparison::new(life_of_a_task()), &replies);
    assert!(!report.holds());
    assert_eq!(report.total, 1, "{}", report.text());
    report.differences[0].clone()
}

#[test]
fn broken_twins_are_found() {
    let found = only_difference(1, |reply| reply.0 = 201);
    assert_eq!((found.kind, found.entry), (DifferenceKind::Status, 2));
    let text = found.to_string();
    assert!(
        text.starts_with("entry 2, GET /tasks/12, status: recorded 200, came 201 {"),
        "{text}"
    );
    let found = only_difference(2, |reply| reply.1 = json!({"data": []}));
    assert_eq!(
        found.to_string(),
        "entry 3, DELETE /tasks/12, /data: recorded {}, came []"
    );
    // The second reply has another task than the first.
    let found = only_difference(1, |reply| reply.1["data"]["gid"] = json!("78"));
    assert_eq!(found.kind, DifferenceKind::Identifier);
    assert_eq!(found.recorded, "\"12\", which here is \"77\"");
    // The message names another task.
    let found = only_difference(3, |reply| {
        reply.1["errors"][0]["message"] = json!("task: Unknown object: 78");
    });
    assert_eq!(found.pointer, "/errors/0/message");
    // The client wrote the day, so the server may not make another one.
    let found = only_difference(1, |reply| reply.1["data"]["due_on"] = json!("2026-03-03"));
    assert_eq!(found.kind, DifferenceKind::Value);
}

#[test]
fn pages_go_on_with_the_token_of_the_other_server() {
    let page = |gid: &str, offset: &str| json!({"data": [{"gid": gid}], "next_page": {"offset": offset, "path": format!("/tasks?offset={offset}")}});
    let end = |gid: &str| json!({"data": [{"gid": gid}], "next_page": null});
    let recording = recording(&[
        ("GET", "/tasks?limit=1", Value::Null, 200, page("1", "abc")),
        (
            "GET",
            "/tasks?limit=1&offset=abc",
            Value::Null,
            200,
            end("2"),
        ),
    ]);
    let replies = [(200, page("7", "x/y")), (200, end("8"))];
    let (sent, report) = run(Comparison::new(recording), &replies);
    assert_eq!(sent[1], "GET /tasks?limit=1&offset=x%2Fy ");
    assert!(report.holds());
}

#[test]
fn sync_tokens_are_learnt_from_errors() {
    let refused = |sync: &str| json!({"errors": [{"message": "Sync token invalid or too old."}], "sync": sync});
    let recording = recording(&[
        (
            "GET",
            "/events?resource=1",
            Value::Null,
            412,
            refused("old:1"),
        ),
        (
            "GET",
            "/events?resource=1&sync=old%3A1",
            Value::Null,
            200,
            json!({"data": [], "sync": "old:2"}),
        ),
    ]);
    let replies = [
        (412, refused("new")),
        (200, json!({"data": [], "sync": "new2"})),
    ];
    let (sent, report) = run(Comparison::new(recording), &replies);
    assert_eq!(sent[1], "GET /events?resource=1&sync=new ");
    assert!(report.holds());
}

#[test]
fn the_shape_may_have_other_values() {
    let recorded = json!({"data": [{"gid": "1", "name": "a"}, {"gid": "2", "name": "b"}]});
    let came = json!({"data": [{"gid": "7", "name": "z"}]});
    let recording = recording(&[("GET", "/tags", Value::Null, 200, recorded)]);
    let shape = Comparison::new(recording.clone()).with_strictness(Strictness::Shape);
    assert!(run(shape, &[(200, came.clone())]).1.holds());
    assert!(!run(Comparison::new(recording), &[(200, came)]).1.holds());
}

#[test]
fn a_request_without_a_reply_is_a_difference() {
    let (_, report) = run(Comparison::new(life_of_a_task()), &replies()[..3]);
    assert_eq!(report.total, 1);
    assert_eq!(
        report.differences[0].to_string(),
        "entry 4, GET /tasks/12, reply: recorded 404, came nothing"
    );
    let mut early = Comparison::new(life_of_a_task());
    early.compare(&reply_of(200, &Value::Null));
    let report = early.finish();
    assert!(!report.holds());
    assert_eq!(report.compared, 0);
}
