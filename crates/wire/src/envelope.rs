//! Writes the response envelope as bytes, around encoded JSON.

/// State of the next page (the spec's section "next_page object").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextPage<'a> {
    /// The request wasn't paginated: there is no `next_page` key.
    Absent,
    /// This was the last page: `"next_page":null`.
    Null,
    /// Another page follows.
    Page {
        /// The opaque token of the next page.
        offset: &'a str,
        /// The next request relative to the API's base, including the query.
        path: &'a str,
        /// The same request as a full URL; omitted if `None`.
        uri: Option<&'a str>,
    },
}

/// Returns `{"data":V}`. `value` is one encoded JSON value, which is copied without checks.
#[must_use]
pub fn data_envelope(value: &[u8]) -> Vec<u8> {
    page_envelope(value, NextPage::Absent)
}

/// Returns `{"data":{}}`, the reply to deletions and to actions without a result.
#[must_use]
pub fn empty_envelope() -> Vec<u8> {
    data_envelope(b"{}")
}

/// Returns `{"data":ITEMS,"next_page":...}`. `items` is an encoded JSON array, which is copied without checks.
#[must_use]
pub fn page_envelope(items: &[u8], next: NextPage<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(items.len() + room(next));
    out.extend_from_slice(OPEN);
    out.extend_from_slice(items);
    close(out, next)
}

/// Start of every data envelope, for writers that append the value directly.
pub const OPEN: &[u8] = br#"{"data":"#;

/// Ends an envelope that starts with [`OPEN`] and its value.
#[must_use]
pub fn close(mut out: Vec<u8>, next: NextPage<'_>) -> Vec<u8> {
    match next {
        NextPage::Absent => {}
        NextPage::Null => out.extend_from_slice(br#","next_page":null"#),
        NextPage::Page { offset, path, uri } => {
            out.extend_from_slice(br#","next_page":{"offset":"#);
            string(&mut out, offset);
            out.extend_from_slice(br#","path":"#);
            string(&mut out, path);
            if let Some(uri) = uri {
                out.extend_from_slice(br#","uri":"#);
                string(&mut out, uri);
            }
            out.push(b'}');
        }
    }
    out.push(b'}');
    out
}

/// Ends an envelope of events that starts with [`OPEN`] and the events: writes the token for the next call, and
/// whether more events can be read immediately.
#[must_use]
pub fn close_events(mut out: Vec<u8>, sync: &str, has_more: bool) -> Vec<u8> {
    out.extend_from_slice(br#","sync":"#);
    string(&mut out, sync);
    out.extend_from_slice(if has_more {
        br#","has_more":true}"#
    } else {
        br#","has_more":false}"#
    });
    out
}

/// Returns the estimated number of bytes that the envelope adds.
fn room(next: NextPage<'_>) -> usize {
    match next {
        NextPage::Absent => 16,
        NextPage::Null => 32,
        NextPage::Page { offset, path, uri } => {
            64 + offset.len() + path.len() + uri.map_or(0, str::len)
        }
    }
}

/// Appends `s` as a JSON string. Quotes, backslashes and control characters are escaped (RFC 8259
/// section 7); slashes and non-ASCII characters are not.
pub fn string(out: &mut Vec<u8>, s: &str) {
    out.push(b'"');
    let mut rest = s.as_bytes();
    while let Some(at) = rest.iter().position(|b| needs_escape(*b)) {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain);
        if let Some((byte, tail)) = tail.split_first() {
            escape(out, *byte);
            rest = tail;
        }
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(hex(byte >> 4));
            out.push(hex(byte & 15));
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

fn hex(nibble: u8) -> u8 {
    if nibble < 10 {
        b'0' + nibble
    } else {
        b'a' + nibble - 10
    }
}

/// Indents valid JSON by two spaces per level, for `opt_pretty`. Strings and numbers are copied unchanged,
/// empty objects and arrays stay on one line, and existing white space between tokens is dropped. For invalid
/// JSON the output is unspecified, but there is no panic.
#[must_use]
pub fn indent(json: &[u8]) -> Vec<u8> {
    indent_within(json, usize::MAX).unwrap_or_default()
}

/// Indents like [`indent`], but returns `None` if the result is longer than `most` bytes: deep JSON with short values
/// can become many times as long.
#[must_use]
pub fn indent_within(json: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(json.len().saturating_mul(2).min(most));
    let mut depth = 0_usize;
    let mut opened = false;
    let mut in_string = false;
    let mut escaped = false;
    for &byte in json {
        if out.len() >= most {
            return None;
        }
        if in_string {
            out.push(byte);
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            continue;
        }
        let closes = matches!(byte, b'}' | b']');
        if closes {
            depth = depth.saturating_sub(1);
        }
        if opened != closes {
            // Either the first token inside a bracket, or the end of a bracket with content.
            line(&mut out, depth);
        }
        opened = false;
        out.push(byte);
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                opened = true;
            }
            b',' => line(&mut out, depth),
            b':' => out.push(b' '),
            _ => {}
        }
    }
    (out.len() <= most).then_some(out)
}

fn line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', depth * 2));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    /// S01. S02.
    #[test]
    fn envelopes_have_the_shape_of_the_contract() {
        assert_eq!(
            text(data_envelope(br#"{"gid":"1"}"#)),
            r#"{"data":{"gid":"1"}}"#
        );
        assert_eq!(text(empty_envelope()), r#"{"data":{}}"#);
        assert_eq!(
            text(page_envelope(b"[]", NextPage::Absent)),
            r#"{"data":[]}"#
        );
        assert_eq!(
            text(page_envelope(b"[]", NextPage::Null)),
            r#"{"data":[],"next_page":null}"#
        );
        let next = NextPage::Page {
            offset: "o",
            path: "/tasks?offset=o",
            uri: Some("http://h/api/1.0/tasks?offset=o"),
        };
        assert_eq!(
            text(page_envelope(b"[1]", next)),
            r#"{"data":[1],"next_page":{"offset":"o","path":"/tasks?offset=o","uri":"http://h/api/1.0/tasks?offset=o"}}"#
        );
    }

    #[test]
    fn events_carry_their_token_beside_them() {
        let events = [OPEN, b"[]"].concat();
        assert_eq!(
            text(close_events(events, "t:1", true)),
            r#"{"data":[],"sync":"t:1","has_more":true}"#
        );
    }

    #[test]
    fn strings_escape_what_they_must_and_nothing_else() {
        let mut out = Vec::new();
        string(
            &mut out,
            "a/b \"q\" \\ \n\t\r\u{8}\u{c}\u{1}\u{1f}\u{7f} é 🦑",
        );
        assert_eq!(
            text(out),
            "\"a/b \\\"q\\\" \\\\ \\n\\t\\r\\b\\f\\u0001\\u001f\u{7f} é 🦑\""
        );
    }

    #[test]
    fn pretty_indents_by_two_and_leaves_strings_alone() {
        let json = br#"{"a":[],"b":{},"c":[1,{"d":"x,{\"}: \\"}],"e":-1.5e3}"#;
        let expected = "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": \"x,{\\\"}: \\\\\"\n    }\n  ],\n  \"e\": -1.5e3\n}";
        assert_eq!(text(indent(json)), expected);
        assert_eq!(
            indent(&indent(json)),
            indent(json),
            "a second time changes nothing"
        );
        assert_eq!(text(indent(b"[ ]")), "[]");
    }

    #[test]
    fn pretty_ends_where_its_bound_is() {
        let json = [&[b'['; 500][..], &[b']'; 500]].concat();
        let whole = indent(&json);
        assert!(whole.len() > 100 * json.len());
        assert_eq!(indent_within(&json, whole.len()), Some(whole.clone()));
        for most in [0, 1, json.len(), whole.len() - 1] {
            assert_eq!(indent_within(&json, most), None);
        }
        assert_eq!(indent_within(b"", 0), Some(Vec::new()));
    }

    #[test]
    fn pretty_survives_what_is_not_json() {
        for bad in [&b"]]]}}}"[..], b"{\"", b"\"\\", b"", b"[,,:", b"\xff{"] {
            let _ = indent(bad);
        }
    }
}
