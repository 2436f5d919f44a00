//! Writer of HAR 1.2.

use serde_json::{Value, json};

use crate::api_address::decoded;
use crate::recording::{RecordedExchange, RecordedReply, RecordedRequest, Recording};

impl Recording {
    /// Returns the recording as HAR 1.2. The only header in it is the content type; sizes and times that were not recorded
    /// are -1 and 0.
    #[must_use]
    pub fn to_har(&self) -> String {
        let entries: Vec<Value> = self.exchanges().iter().map(entry).collect();
        let version = env!("CARGO_PKG_VERSION");
        let har = json!({
            "log": {
                "version": "1.2",
                "creator": {"name": "workgraph-recordings", "version": version},
                "entries": entries,
            }
        });
        format!("{har:#}\n")
    }
}

fn entry(exchange: &RecordedExchange) -> Value {
    let RecordedExchange {
        started_at,
        base,
        request,
        reply,
    } = exchange;
    json!({
        "startedDateTime": started_at,
        "time": 0,
        "request": request_value(base, request),
        "response": response_value(reply),
        "cache": {},
        "timings": {"send": 0, "wait": 0, "receive": 0},
    })
}

fn request_value(base: &str, request: &RecordedRequest) -> Value {
    let content_type = request.content_type.as_ref();
    let headers: Vec<Value> = content_type
        .map(|value| json!({"name": "Content-Type", "value": value}))
        .into_iter()
        .collect();
    let mut value = json!({
        "method": request.method,
        "url": format!("{base}{}", request.target),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": headers,
        "queryString": query_list(&request.target),
        "headersSize": -1,
        "bodySize": request.body.as_ref().map_or(0, String::len),
    });
    if let (Some(body), Some(object)) = (&request.body, value.as_object_mut()) {
        let posted = json!({"mimeType": content_type.map_or("", String::as_str), "text": body});
        object.insert("postData".to_owned(), posted);
    }
    value
}

fn query_list(target: &str) -> Vec<Value> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let plain = |text: &str| decoded(&text.replace('+', " "));
        json!({"name": plain(name), "value": plain(value)})
    };
    pairs.map(pair).collect()
}

fn response_value(reply: &RecordedReply) -> Value {
    let is_json = |body: &String| serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
    let kind = if reply.body.as_ref().is_some_and(is_json) {
        "application/json; charset=UTF-8"
    } else {
        "x-unknown"
    };
    let content = match &reply.body {
        Some(body) => json!({"size": body.len(), "mimeType": kind, "text": body}),
        None => json!({"size": -1, "mimeType": kind}),
    };
    json!({
        "status": reply.status,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": [],
        "content": content,
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(target: &str, body: Option<&str>, reply: Option<&str>) -> RecordedExchange {
        RecordedExchange {
            started_at: "2026-03-01T09:30:00.000Z".to_owned(),
            base: "http://127.0.0.1:8080/w/7/api/1.0".to_owned(),
            request: RecordedRequest {
                method: "POST".to_owned(),
                target: target.to_owned(),
                content_type: body.map(|_| "application/json".to_owned()),
                body: body.map(str::to_owned),
            },
            reply: RecordedReply {
                status: 201,
                body: reply.map(str::to_owned),
            },
        }
    }

    #[test]
    fn a_har_that_was_written_is_read_back_equal() {
        let mut recording = Recording::new();
        for exchange in [
            exchange("/tasks", Some("{\"data\":{\"name\":\"é\"}}"), Some("{}")),
            exchange("/tasks?a=%2C&b+c=1", None, Some("")),
            exchange("", Some(""), Some("no JSON")),
            exchange("?x", None, None),
        ] {
            recording.push(exchange);
        }
        let text = recording.to_har();
        assert_eq!(Recording::from_har(&text), Ok(recording));
    }

    #[test]
    fn what_viewers_want_is_there() {
        let mut recording = Recording::new();
        recording.push(exchange(
            "/tasks?opt_fields=name%2Cgid",
            Some("{}"),
            Some("{}"),
        ));
        let har: Value = serde_json::from_str(&recording.to_har()).unwrap();
        let at = |pointer: &str| har.pointer(pointer).unwrap();
        assert_eq!(at("/log/version"), "1.2");
        assert_eq!(at("/log/entries/0/request/queryString/0/value"), "name,gid");
        assert_eq!(at("/log/entries/0/request/postData/text"), "{}");
        assert_eq!(at("/log/entries/0/response/content/size"), 2);
    }

    #[test]
    fn no_token_is_written() {
        let mut recording = Recording::new();
        recording.push(exchange("/users/me?access_token=SECRET", None, None));
        assert!(!recording.to_har().contains("SECRET"));
    }
}
