//! Compares a recording with a server that forgets a field: `cargo run -p workgraph-recordings --example replay`
use workgraph_recordings::{
    Comparison, RecordedExchange, RecordedReply, RecordedRequest, Recording, RecordingError,
};

/// Answers like the other server: its task has another gid, and no notes.
fn answer(request: &RecordedRequest) -> (u16, &'static str) {
    match (request.method.as_str(), request.target.as_str()) {
        ("POST", "/tasks") => (201, r#"{"data":{"gid":"77","name":"Rake","notes":""}}"#),
        ("GET", "/tasks/77") => (200, r#"{"data":{"gid":"77","name":"Rake"}}"#),
        _ => (404, r#"{"errors":[{"message":"Not found"}]}"#),
    }
}

fn main() -> Result<(), RecordingError> {
    let task = r#"{"data":{"gid":"12","name":"Rake","notes":""}}"#;
    let mut recording = Recording::new();
    for (method, target, status) in [("POST", "/tasks", 201), ("GET", "/tasks/12", 200)] {
        recording.push(RecordedExchange {
            started_at: "2026-03-01T09:30:00Z".to_owned(),
            base: "https://app.asana.com/api/1.0".to_owned(),
            request: RecordedRequest {
                method: method.to_owned(),
                target: target.to_owned(),
                content_type: None,
                body: None,
            },
            reply: RecordedReply::received(status, task.as_bytes()),
        });
    }
    let mut comparison = Comparison::new(Recording::from_har(&recording.to_har())?);
    while let Some(request) = comparison.next_request() {
        let (status, body) = answer(&request);
        comparison.compare(&RecordedReply::received(status, body.as_bytes()));
    }
    let report = comparison.finish();
    print!("{}", report.text());
    assert_eq!(report.total, 1, "only the notes are missing");
    Ok(())
}
