//! Writer of JSON objects: strings escaped, members in the order in which they were added.
use std::fmt::Write;

/// Returns a JSON string literal.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            // Line separators of scripts, and every character that ends a tag or a string.
            '\0'..='\u{1f}' | '\u{7f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// JSON object under construction.
#[derive(Debug, Default)]
pub(crate) struct JsonObject(String);

impl JsonObject {
    pub(crate) fn raw(mut self, name: &str, json: &str) -> Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&quote(name));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        self.raw(name, &quote(value))
    }

    pub(crate) fn maybe(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    pub(crate) fn number(self, name: &str, value: u64) -> Self {
        self.raw(name, &value.to_string())
    }

    pub(crate) fn flag(self, name: &str, value: bool) -> Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    pub(crate) fn texts(self, name: &str, values: &[&str]) -> Self {
        let quoted: Vec<String> = values.iter().map(|value| quote(value)).collect();
        self.raw(name, &format!("[{}]", quoted.join(",")))
    }

    pub(crate) fn end(mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{JsonObject, quote};

    #[test]
    fn strings_are_escaped() {
        assert_eq!(quote("a\"b\\c\n\0é🦀"), r#""a\"b\\c\u000a\u0000é🦀""#);
        assert_eq!(quote("</script>&"), r#""\u003c/script\u003e\u0026""#);
    }

    #[test]
    fn members_keep_their_order() {
        let json = JsonObject::default()
            .text("b", "x")
            .maybe("no", None)
            .number("a", 7)
            .flag("t", true)
            .texts("l", &["p", "q"]);
        assert_eq!(json.end(), r#"{"b":"x","a":7,"t":true,"l":["p","q"]}"#);
        assert_eq!(JsonObject::default().end(), "{}");
    }
}
