//! The parts of a fault on a command line.
use anyhow::{Result, bail};
use serde_json::{Map, Value};

/// Keys that name an action; their values are words, numbers or JSON.
const ACTIONS: [&str; 6] = ["error", "respond", "delay_ms", "hold", "cut", "webhook"];
/// Keys of conditions on requests whose values are texts, even if they look like numbers.
const TEXT_CONDITIONS: [&str; 6] = ["operation", "method", "path", "app", "token", "target"];
/// Keys of conditions on requests whose values are numbers.
const NUMBER_CONDITIONS: [&str; 4] = ["nth", "every", "probability", "times"];

/// Returns the action and the condition of a fault, in the form of a request to the stand-in.
///
/// # Errors
/// Names the key that is unknown.
pub(super) fn parse_fault(parts: Vec<(String, String)>) -> Result<(Value, Value)> {
    let (mut action, mut condition) = (Map::new(), Map::new());
    for (key, value) in parts {
        let name = key.as_str();
        if TEXT_CONDITIONS.contains(&name) {
            condition.insert(key, value.into());
        } else if NUMBER_CONDITIONS.contains(&name) {
            condition.insert(key, json_or_text(value));
        } else if ACTIONS.contains(&name) {
            action.insert(key, json_or_text(value));
        } else {
            bail!(
                "{key}: a fault has {}, {} and {}",
                ACTIONS.join(", "),
                TEXT_CONDITIONS.join(", "),
                NUMBER_CONDITIONS.join(", ")
            );
        }
    }
    Ok((action.into(), condition.into()))
}

fn json_or_text(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(parts: &[(&str, &str)]) -> Result<(Value, Value)> {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        parse_fault(parts.iter().map(owned).collect())
    }

    #[test]
    fn parts_go_to_the_action_or_the_condition_with_values_of_their_kind() {
        let parts = [
            ("error", "internal"),
            ("app", "1201"),
            ("times", "2"),
            ("probability", "0.5"),
        ];
        let expected = (
            json!({"error": "internal"}),
            json!({"app": "1201", "times": 2, "probability": 0.5}),
        );
        assert_eq!(parsed(&parts).unwrap(), expected);
        let parts = [("respond", r#"{"status": 418}"#), ("hold", "true")];
        let expected = json!({"respond": {"status": 418}, "hold": true});
        assert_eq!(parsed(&parts).unwrap().0, expected);
        let error = parsed(&[("operatoin", "getTask")]).unwrap_err().to_string();
        assert!(error.starts_with("operatoin:"), "{error}");
    }
}
