//! Times and days that the client wrote: they must come back as they were written.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api_address::decoded;
use crate::field_kind::form_of_time;
use crate::recording::RecordedRequest;

/// Times and days in the bodies of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrittenTimes {
    texts: BTreeSet<String>,
}

impl WrittenTimes {
    /// Adds the times and days in the body of a request.
    pub(crate) fn add(&mut self, request: &RecordedRequest) {
        let body = request.body.as_deref().unwrap_or("");
        if request.is_form() {
            for (_, value) in body.split('&').filter_map(|pair| pair.split_once('=')) {
                self.add_text(&decoded(value));
            }
        } else if let Ok(value) = serde_json::from_str(body) {
            self.add_value(&value);
        }
    }

    fn add_value(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => fields.values().for_each(|value| self.add_value(value)),
            Value::Array(members) => members.iter().for_each(|member| self.add_value(member)),
            Value::String(text) => self.add_text(text),
            _ => {}
        }
    }

    fn add_text(&mut self, text: &str) {
        if form_of_time(text).is_some() {
            self.texts.insert(without_zero_fraction(text));
        }
    }

    /// Returns true if the client wrote this time or day.
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.texts.contains(&without_zero_fraction(text))
    }
}

/// Returns a time without a fraction of zero, which servers add.
fn without_zero_fraction(text: &str) -> String {
    text.replacen(".000", "", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_json_and_forms_are_found() {
        let mut times = WrittenTimes::default();
        for (kind, body) in [
            (
                "application/json",
                r#"{"data":[{"due_at":"2026-03-01T09:30:00Z","name":"x"}]}"#,
            ),
            (
                "application/x-www-form-urlencoded",
                "due_on=2026-03-02&start_at=2026-03-01T00%3A00%3A00Z",
            ),
        ] {
            times.add(&RecordedRequest {
                method: "POST".to_owned(),
                target: "/tasks".to_owned(),
                content_type: Some(kind.to_owned()),
                body: Some(body.to_owned()),
            });
        }
        for (text, written) in [
            ("2026-03-01T09:30:00.000Z", true),
            ("2026-03-01T00:00:00Z", true),
            ("2026-03-02", true),
            ("2026-03-03", false),
            ("x", false),
        ] {
            assert_eq!(times.contains(text), written, "{text}");
        }
    }
}
