//! Recording of the requests to a world with their replies, as a file that other programs read.
use crate::http::own_address::BASE;
use crate::stand_in::request_log::LoggedRequest;
use crate::stand_in::timeline::time_text;
use anyhow::{Context, Result};
use serde_json::Value;
use workgraph_recordings::{RecordedExchange, RecordedReply, RecordedRequest, Recording};

/// Returns the requests to the API of a world, with their replies, as an HTTP archive (HAR 1.2). `root` is the address of
/// the world. The comment in the archive says how many requests are left out because they or their replies were too large,
/// or too long ago.
///
/// # Errors
/// Fails if the archive can't be made.
pub(crate) fn archive(requests: &[LoggedRequest], root: &str) -> Result<Value> {
    let mut recording = Recording::new();
    let mut left_out = 0;
    let of_api = requests
        .iter()
        .filter(|request| request.path.starts_with(BASE));
    for request in of_api {
        match exchange(request, root) {
            Some(exchange) => recording.push(exchange),
            None => left_out += 1,
        }
    }
    let mut archive: Value =
        serde_json::from_str(&recording.to_har()).context("the archive is no JSON")?;
    if let Some(log) = archive.get_mut("log").and_then(Value::as_object_mut) {
        log.insert(
            "comment".to_owned(),
            format!("{left_out} requests are left out").into(),
        );
    }
    Ok(archive)
}

/// Returns a request with its reply; `None` if their bodies were not kept, or the client got no whole reply.
fn exchange(request: &LoggedRequest, root: &str) -> Option<RecordedExchange> {
    let bodies = request.bodies.as_ref().filter(|_| !request.is_cut)?;
    let body = std::str::from_utf8(&bodies.request).ok()?;
    Some(RecordedExchange {
        started_at: time_text(request.at),
        base: format!("{root}{BASE}"),
        request: RecordedRequest {
            method: request.method.clone(),
            target: bodies.path.strip_prefix(BASE)?.to_owned(),
            content_type: bodies.content_type.clone(),
            body: (!body.is_empty()).then(|| body.to_owned()),
        },
        reply: RecordedReply::received(request.status, &bodies.reply),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stand_in::request_notes::RequestNote;
    use std::time::SystemTime;

    #[test]
    fn an_archive_has_what_was_kept_and_says_what_was_not() {
        let request = |path: &str, body: Option<&str>| {
            let path = path.to_owned();
            let mut request = LoggedRequest::new(SystemTime::UNIX_EPOCH, "POST".to_owned(), path);
            request.status = 201;
            let note = RequestNote {
                unknown: Vec::new(),
                body: body.map(|body| body.as_bytes().to_vec()),
            };
            request.keep(note, b"{}");
            request
        };
        let requests = [
            request("/api/1.0/tasks?opt_pretty", Some("{}")),
            request("/api/1.0/tasks", None),
            request("/-/oauth_token", Some("code=1")),
        ];
        let archive = archive(&requests, "http://127.0.0.1:8080/w/7").unwrap();
        assert_eq!(archive["log"]["comment"], "1 requests are left out");
        let entries = archive["log"]["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(
            entries[0]["request"]["url"],
            "http://127.0.0.1:8080/w/7/api/1.0/tasks?opt_pretty"
        );
    }
}
