//! Answers of `workgraph admin` as text.
use serde_json::Value;

/// Formats an answer for people: a line for each row of a list, else one for each field.
pub(crate) fn text(value: &Value) -> String {
    let cell = |v: &Value| {
        v.as_str().map_or_else(
            || {
                if v.is_null() {
                    "-".to_owned()
                } else {
                    v.to_string()
                }
            },
            str::to_owned,
        )
    };
    let mut out = String::new();
    match value {
        Value::Array(rows) => {
            if let Some(Value::Object(first)) = rows.first() {
                out.push_str(
                    &first
                        .keys()
                        .map(String::as_str)
                        .collect::<Vec<_>>()
                        .join("\t"),
                );
                out.push('\n');
            }
            for row in rows.iter().filter_map(Value::as_object) {
                out.push_str(&row.values().map(cell).collect::<Vec<_>>().join("\t"));
                out.push('\n');
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                out.push_str(&format!("{name}: {}\n", cell(value)));
            }
        }
        other => out.push_str(&format!("{}\n", cell(other))),
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_for_people_are_lines() {
        assert_eq!(
            text(&json!({"gid": "1", "revoked": true, "at": null})),
            "gid: 1\nrevoked: true\nat: -\n"
        );
        assert_eq!(
            text(&json!([{"a": "x", "b": 2}, {"a": "y", "b": 3}])),
            "a\tb\nx\t2\ny\t3\n"
        );
        assert_eq!(text(&json!([])), "");
    }
}
