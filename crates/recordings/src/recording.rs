//! Recorded exchanges: requests with the replies that they got.

use crate::api_address::{without_token, without_user};
use crate::field_kind::HOOK_SECRET;
use serde_json::Value;

/// Path of the API in addresses, unless the caller names another one.
pub const API_BASE_PATH: &str = "/api/1.0";

/// Content type of forms without files.
pub(crate) const FORM_TYPE: &str = "application/x-www-form-urlencoded";

/// Recorded request, relative to the base of the API. It has no credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Method, such as `GET`.
    pub method: String,
    /// Path below the base, and the query: `/tasks/12?opt_fields=name`. It is empty, or begins with `/` or `?`.
    pub target: String,
    /// Value of the header `Content-Type`, if the request had one.
    pub content_type: Option<String>,
    /// Body as text, if the request had one. Bytes of a file that are not text are not kept exactly.
    pub body: Option<String>,
}

impl RecordedRequest {
    /// Returns the path without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target
            .split_once('?')
            .map_or(self.target.as_str(), |(path, _)| path)
    }

    /// Returns true if the body is a form without files.
    pub(crate) fn is_form(&self) -> bool {
        let kind = self.content_type.as_deref().unwrap_or("");
        kind.starts_with(FORM_TYPE)
    }
}

/// Reply to a request: a recorded one, or the one that came from the other server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedReply {
    /// Status, such as 200.
    pub status: u16,
    /// Body as text, empty if there was none; `None` if it was not recorded, and then bodies are not compared.
    pub body: Option<String>,
}

impl RecordedReply {
    /// Makes a reply from the received bytes. Bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn received(status: u16, body: &[u8]) -> Self {
        Self {
            status,
            body: Some(String::from_utf8_lossy(body).into_owned()),
        }
    }
}

/// Recorded exchange: one request with its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedExchange {
    /// Time at which the request was sent, as RFC 3339 text. It is not interpreted.
    pub started_at: String,
    /// Address of the API, up to and including its base path: `http://127.0.0.1:8080/w/7/api/1.0`.
    pub base: String,
    /// Request that a client sent.
    pub request: RecordedRequest,
    /// Reply that the server gave.
    pub reply: RecordedReply,
}

/// Recording of a client's exchanges with an API, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    exchanges: Vec<RecordedExchange>,
    skipped: usize,
}

impl Recording {
    /// Makes an empty recording.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an exchange at the end. Tokens (`access_token` in a query or form) and the user in the base are left out, and secrets of
    /// webhooks are masked.
    pub fn push(&mut self, mut exchange: RecordedExchange) {
        exchange.base = without_user(&exchange.base);
        let request = &mut exchange.request;
        request.target = without_token(&request.target);
        if request.is_form()
            && let Some(body) = &mut request.body
        {
            let kept = without_token(&format!("?{body}"));
            *body = kept.trim_start_matches('?').to_owned();
        }
        if let Some(body) = &mut exchange.reply.body {
            mask_hook_secrets(body);
        }
        self.exchanges.push(exchange);
    }

    /// Returns the exchanges in their order.
    #[must_use]
    pub fn exchanges(&self) -> &[RecordedExchange] {
        &self.exchanges
    }

    /// Returns the number of entries of the file that were not used: entries outside the API, preflights (`OPTIONS`), and
    /// requests without a reply.
    #[must_use]
    pub const fn skipped(&self) -> usize {
        self.skipped
    }

    /// Counts an entry that is not used.
    pub(crate) const fn skip(&mut self) {
        self.skipped += 1;
    }
}

/// Masks the secrets of new webhooks in a body, which is unchanged otherwise.
fn mask_hook_secrets(body: &mut String) {
    if !body.contains(HOOK_SECRET) {
        return;
    }
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let mut secrets = Vec::new();
    collect_hook_secrets(&parsed, &mut secrets);
    for secret in secrets.into_iter().filter(|secret| !secret.is_empty()) {
        *body = body.replace(secret, "***");
    }
}

fn collect_hook_secrets<'v>(value: &'v Value, secrets: &mut Vec<&'v str>) {
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_hook_secrets(item, secrets)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(secret) if name == HOOK_SECRET => secrets.push(secret),
                    _ => collect_hook_secrets(value, secrets),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_get_into_a_recording() {
        let mut recording = Recording::new();
        recording.push(RecordedExchange {
            started_at: String::new(),
            base: "https://ada:secret@work.test/api/1.0".to_owned(),
            request: RecordedRequest {
                method: "GET".to_owned(),
                target: "/users/me?access_token=secret&opt_pretty=true".to_owned(),
                content_type: Some(FORM_TYPE.to_owned()),
                body: Some("access_token=secret&name=a".to_owned()),
            },
            reply: RecordedReply::received(200, b"{}"),
        });
        let exchange = &recording.exchanges()[0];
        assert_eq!(exchange.request.target, "/users/me?opt_pretty=true");
        assert_eq!(exchange.request.path(), "/users/me");
        assert_eq!(exchange.request.body.as_deref(), Some("name=a"));
        assert_eq!(exchange.base, "https://work.test/api/1.0");
    }

    #[test]
    fn the_secret_of_a_webhook_is_masked_and_the_rest_of_the_reply_is_as_it_was() {
        let body = r#"{"data": {"gid":"1"},"X-Hook-Secret":"abc123"}"#;
        let batch = format!(r#"{{"data":[{{"status_code":201,"body":{body}}}]}}"#);
        for body in [body, &batch] {
            let mut recording = Recording::new();
            recording.push(RecordedExchange {
                started_at: String::new(),
                base: "https://work.test/api/1.0".to_owned(),
                request: RecordedRequest {
                    method: "POST".to_owned(),
                    target: "/webhooks".to_owned(),
                    content_type: None,
                    body: None,
                },
                reply: RecordedReply::received(201, body.as_bytes()),
            });
            let kept = recording.exchanges()[0].reply.body.clone();
            assert_eq!(kept.unwrap(), body.replace("abc123", "***"));
        }
    }
}
