//! JSON of replies and claims: compact, with every character escaped that a page could interpret as markup.
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, Formatter};

/// Formatter that escapes line separators of scripts, and every character that ends a tag or a
/// string.
struct PageSafeFormatter;

/// Returns true for a character that JSON allows in a string, but that is escaped here.
const fn is_escaped(c: char) -> bool {
    matches!(c, '\u{7f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// First byte of the separators U+2028 and U+2029, and of many other characters.
const SEPARATOR: u8 = 0xe2;

/// Returns true if a text may have a character that is escaped. All bytes are looked at, without a branch for each, so that
/// the compiler can look at many at once.
fn may_be_escaped(text: &str) -> bool {
    let is_special = |byte| matches!(byte, 0x7f | b'<' | b'>' | b'&' | SEPARATOR);
    text.bytes()
        .fold(false, |found, byte| found | is_special(byte))
}

impl Formatter for PageSafeFormatter {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        mut rest: &str,
    ) -> io::Result<()> {
        if !may_be_escaped(rest) {
            return writer.write_all(rest.as_bytes());
        }
        while let Some((plain, (c, after))) = rest
            .find(is_escaped)
            .and_then(|at| rest.split_at_checked(at))
            .and_then(|(plain, tail)| {
                let mut chars = tail.chars();
                Some((plain, (chars.next()?, chars.as_str())))
            })
        {
            writer.write_all(plain.as_bytes())?;
            write!(writer, "\\u{:04x}", u32::from(c))?;
            rest = after;
        }
        writer.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        let code = match escape {
            CharEscape::Quote => return writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => return writer.write_all(b"\\\\"),
            CharEscape::Solidus => b'/',
            CharEscape::Backspace => 0x08,
            CharEscape::FormFeed => 0x0c,
            CharEscape::LineFeed => b'\n',
            CharEscape::CarriageReturn => b'\r',
            CharEscape::Tab => b'\t',
            CharEscape::AsciiControl(code) => code,
        };
        write!(writer, "\\u{code:04x}")
    }
}

/// Returns a value as JSON, with its members in declaration order.
#[expect(
    clippy::expect_used,
    reason = "structs of texts, numbers and lists are JSON, and memory takes all that is written"
)]
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut json = Vec::with_capacity(256);
    value
        .serialize(&mut Serializer::with_formatter(
            &mut json,
            PageSafeFormatter,
        ))
        .expect("a reply is JSON");
    String::from_utf8(json).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(
            to_json(&"a\"b\\c\n\0\u{8}\u{c}\r\t\u{1f}/é🦀"),
            r#""a\"b\\c\u000a\u0000\u0008\u000c\u000d\u0009\u001f/é🦀""#
        );
        assert_eq!(
            to_json(&"</script>&\u{7f}\u{2028}é\u{2029}"),
            r#""\u003c/script\u003e\u0026\u007f\u2028é\u2029""#
        );
        assert_eq!(to_json(&"<"), r#""\u003c""#);
    }

    #[test]
    fn members_keep_their_order() {
        #[derive(Serialize)]
        struct Reply {
            b: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            no: Option<&'static str>,
            a: u64,
            t: bool,
            l: [&'static str; 2],
        }
        let reply = Reply {
            b: "x",
            no: None,
            a: 7,
            t: true,
            l: ["p", "q"],
        };
        assert_eq!(to_json(&reply), r#"{"b":"x","a":7,"t":true,"l":["p","q"]}"#);
    }
}
