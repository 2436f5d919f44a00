//! Answers of `workgraph admin` as text.
use serde_json::Value;

/// Formats an answer for readers: a list as a table with one line per row, anything else as one line per field.
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
        Value::Array(rows) if rows.is_empty() => out.push_str("none\n"),
        Value::Array(rows) => {
            let rows = rows.iter().filter_map(Value::as_object);
            let mut lines: Vec<Vec<String>> = rows
                .clone()
                .take(1)
                .map(|first| first.keys().cloned().collect())
                .collect();
            lines.extend(rows.map(|row| row.values().map(cell).collect()));
            let columns = lines.first().map_or(0, Vec::len);
            let width = |column: usize| {
                let cells = lines.iter().filter_map(|line| line.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            };
            let widths: Vec<usize> = (0..columns).map(width).collect();
            for line in &lines {
                let cells = line.iter().zip(&widths);
                let padded: Vec<String> = cells
                    .map(|(cell, width)| format!("{cell:width$}"))
                    .collect();
                out.push_str(padded.join("  ").trim_end());
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
    fn answers_for_people_are_lines_and_aligned_tables_and_an_empty_list_says_so() {
        assert_eq!(
            text(&json!({"gid": "1", "revoked": true, "at": null})),
            "gid: 1\nrevoked: true\nat: -\n"
        );
        assert_eq!(
            text(&json!([{"a": "x", "b": 2}, {"a": "long", "b": 3}])),
            "a     b\nx     2\nlong  3\n"
        );
        assert_eq!(text(&json!([])), "none\n");
    }
}
