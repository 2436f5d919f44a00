//! Writes error bodies: the API's errors envelope and the error object of the OAuth endpoints.

use crate::envelope::string;
use crate::messages;

/// Entry of the `errors` array (the spec's section "Error object").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorObject {
    /// Description of the error, for developers.
    pub message: String,
    /// Phrase that identifies the occurrence in the log; only for 500 and other server faults.
    pub phrase: Option<String>,
}

impl ErrorObject {
    /// Makes an error with only a message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            phrase: None,
        }
    }

    /// Makes a server fault with the phrase that identifies it in the log.
    #[must_use]
    pub fn with_phrase(message: impl Into<String>, phrase: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            phrase: Some(phrase.into()),
        }
    }
}

/// Returns `{"errors":[{"message":...,"help":...}]}`, with `phrase` after `message` if there is
/// one. `help` says where errors are explained; without it the objects have no `help`. The contract requires at least one
/// error; an empty slice is written as a plain server error.
#[must_use]
pub fn errors<'a>(list: &[ErrorObject], help: impl Into<Option<&'a str>>) -> Vec<u8> {
    let help = help.into();
    let mut out = Vec::with_capacity(64 + list.len() * 320);
    out.extend_from_slice(br#"{"errors":["#);
    if list.is_empty() {
        object(&mut out, messages::SERVER_ERROR, None, help);
    }
    for (index, error) in list.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        object(&mut out, &error.message, error.phrase.as_deref(), help);
    }
    out.extend_from_slice(b"]}");
    out
}

/// Returns the errors envelope with a single message.
#[must_use]
pub fn error<'a>(message: &str, help: impl Into<Option<&'a str>>) -> Vec<u8> {
    let mut out = Vec::with_capacity(320 + message.len());
    out.extend_from_slice(br#"{"errors":["#);
    object(&mut out, message, None, help.into());
    out.extend_from_slice(b"]}");
    out
}

/// Returns the errors envelope with a single message and a new sync token: the answer to a missing, unknown or outdated
/// sync token.
#[must_use]
pub fn error_with_sync<'a>(message: &str, sync: &str, help: impl Into<Option<&'a str>>) -> Vec<u8> {
    let mut out = error(message, help);
    out.pop();
    out.extend_from_slice(br#","sync":"#);
    string(&mut out, sync);
    out.push(b'}');
    out
}

fn object(out: &mut Vec<u8>, message: &str, phrase: Option<&str>, help: Option<&str>) {
    out.extend_from_slice(br#"{"message":"#);
    string(out, message);
    if let Some(phrase) = phrase {
        out.extend_from_slice(br#","phrase":"#);
        string(out, phrase);
    }
    if let Some(help) = help {
        out.extend_from_slice(br#","help":"#);
        string(out, help);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "Read https://work.example/-/errors";

    /// S04.
    #[test]
    fn every_error_carries_message_and_help_and_phrase_only_where_given() {
        let list = [
            ErrorObject::new("workspace: Missing input"),
            ErrorObject::with_phrase("Server Error", "6 sad squid"),
        ];
        let value: serde_json::Value = serde_json::from_slice(&errors(&list, HELP)).unwrap();
        assert_eq!(
            value["errors"][0],
            serde_json::json!({"message": "workspace: Missing input", "help": HELP})
        );
        assert_eq!(
            value["errors"][1],
            serde_json::json!({"message": "Server Error", "phrase": "6 sad squid", "help": HELP})
        );
        assert_eq!(error("x", HELP), errors(&[ErrorObject::new("x")], HELP));
    }

    #[test]
    fn without_a_help_text_an_error_has_none() {
        assert_eq!(error("x", None), br#"{"errors":[{"message":"x"}]}"#);
    }

    #[test]
    fn a_sync_token_stands_beside_the_errors() {
        let value: serde_json::Value =
            serde_json::from_slice(&error_with_sync("too old", "t\"1", HELP)).unwrap();
        assert_eq!(value["sync"], "t\"1");
        assert_eq!(value["errors"][0]["message"], "too old");
    }

    /// S03.
    #[test]
    fn there_is_always_at_least_one_error() {
        assert_eq!(
            errors(&[], HELP),
            errors(&[ErrorObject::new("Server Error")], HELP)
        );
    }
}
