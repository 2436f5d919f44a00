use super::*;
use serde_json::json;

fn entry(url: &str) -> Value {
    json!({
        "startedDateTime": "2026-03-01T09:30:00Z",
        "request": {
            "method": "post",
            "url": url,
            "headers": [
                {"name": "Authorization", "value": "Bearer SECRET"},
                {"name": "content-type", "value": "application/json"},
            ],
            "postData": {"mimeType": "application/json", "text": "{}"},
        },
        "response": {"status": 201, "content": {"size": 7, "text": "eyJhIjoxfQ==", "encoding": "base64"}},
    })
}

fn har(entries: Vec<Value>) -> String {
    json!({"log": {"version": "1.2", "entries": entries}}).to_string()
}

#[test]
fn entries_below_the_base_are_read_and_others_counted() {
    let mut cut_off = entry("https://app.asana.com/api/1.0/tasks");
    cut_off["response"]["status"] = json!(0);
    let text = har(vec![
        entry("https://app.asana.com/api/1.0/tasks?opt_pretty=true"),
        entry("https://app.asana.com/-/oauth_token"),
        cut_off,
    ]);
    let recording = Recording::from_har(&format!("\u{feff}{text}")).unwrap();
    assert_eq!(recording.skipped(), 2);
    let [exchange] = recording.exchanges() else {
        panic!("{recording:?}");
    };
    assert_eq!(exchange.base, "https://app.asana.com/api/1.0");
    assert_eq!(exchange.request.method, "POST");
    assert_eq!(exchange.request.target, "/tasks?opt_pretty=true");
    let content_type = exchange.request.content_type.as_deref();
    assert_eq!(content_type, Some("application/json"));
    assert_eq!(exchange.reply.body.as_deref(), Some("{\"a\":1}"));
    assert!(!recording.to_har().contains("SECRET"));
}

#[test]
fn another_base_path_can_be_named() {
    let text = har(vec![entry("https://work.test/v2/tasks")]);
    for base in ["/v2", "/v2/"] {
        let recording = Recording::from_har_below(&text, base).unwrap();
        assert_eq!(recording.exchanges()[0].request.target, "/tasks");
    }
    let error = Recording::from_har_below(&text, "v2").unwrap_err();
    assert!(error.to_string().starts_with("base path: `v2`"), "{error}");
}

#[test]
fn fields_of_a_form_become_its_text() {
    let mut form = entry("http://a/api/1.0/tasks");
    form["request"]["headers"] = json!([]);
    form["request"]["postData"] = json!({
        "mimeType": "application/x-www-form-urlencoded",
        "params": [{"name": "name", "value": "a & b"}, {"name": "notes"}],
    });
    let recording = Recording::from_har(&har(vec![form])).unwrap();
    let body = recording.exchanges()[0].request.body.as_deref();
    assert_eq!(body, Some("name=a%20%26%20b&notes="));
}

#[test]
fn a_body_that_was_not_recorded_is_not_an_empty_one() {
    for (content, body) in [(json!({"size": 0}), Some("")), (json!({"size": 9}), None)] {
        let mut entry = entry("http://a/api/1.0/tasks");
        entry["response"]["content"] = content;
        let recording = Recording::from_har(&har(vec![entry])).unwrap();
        assert_eq!(recording.exchanges()[0].reply.body.as_deref(), body);
    }
}

#[test]
fn an_error_names_its_place() {
    let broken = |pointer: &str, value: Value| {
        let good = entry("http://a/api/1.0/tasks");
        let mut last = good.clone();
        *last.pointer_mut(pointer).unwrap() = value;
        let text = har(vec![good.clone(), good.clone(), good, last]);
        Recording::from_har(&text).unwrap_err().to_string()
    };
    let cases = [
        ("/request/method", json!(null), "request.method: is missing"),
        (
            "/request/method",
            json!(3),
            "request.method: is a number; it must be a text",
        ),
        (
            "/request/method",
            json!("G T"),
            "request.method: `G T` is no method; it must be one such as GET",
        ),
        (
            "/request/url",
            json!([]),
            "request.url: is a list; it must be a text",
        ),
        (
            "/request/headers",
            json!({}),
            "request.headers: is an object; it must be a list",
        ),
        (
            "/request/headers/1/name",
            json!(null),
            "request.headers[1].name: is missing",
        ),
        (
            "/response",
            json!("x"),
            "response: is a text; it must be an object",
        ),
        (
            "/response/content/encoding",
            json!("gzip"),
            "response.content.encoding: `gzip` is not known; it must be base64 or absent",
        ),
        (
            "/startedDateTime",
            json!(true),
            "startedDateTime: is true or false; it must be a text",
        ),
    ];
    for (pointer, value, problem) in cases {
        assert_eq!(broken(pointer, value), format!("log.entries[3].{problem}"));
    }
    let error = broken("/response/content/text", json!("?"));
    assert!(
        error.starts_with("log.entries[3].response.content.text: is no base64: "),
        "{error}"
    );
    let error = broken("/response/status", json!(1_000));
    assert!(
        error.starts_with("log.entries[3].response.status: is a number; it must be a status"),
        "{error}"
    );
    let multipart = json!({"mimeType": "multipart/form-data", "params": [{"name": "file"}]});
    let error = broken("/request/postData", multipart.clone());
    assert!(
        error.contains("log.entries[3].request.postData.params: "),
        "{error}"
    );
}

#[test]
fn what_is_no_har_is_refused() {
    for (text, error) in [
        (
            "{",
            "the HAR is no JSON: EOF while parsing an object at line 1 column 1",
        ),
        ("{}", "log: is missing"),
        ("{\"log\": {}}", "log.entries: is missing"),
    ] {
        assert_eq!(Recording::from_har(text).unwrap_err().to_string(), error);
    }
}
