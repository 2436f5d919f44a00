//! Names of uploaded files, as sent by clients and in the headers of downloads.
use std::fmt::Write;
use workgraph_wire::percent;

/// Maximum length of a name in characters.
const CHARS_MAX: usize = 255;

/// Returns the name of a file from the text that a client sent, or `None` if nothing is left of it. Folders, control
/// characters and marks that change the text direction are dropped. Percent-encoded names, which some clients send if they
/// are not ASCII, are decoded.
pub(super) fn cleaned(sent: &str) -> Option<String> {
    let decoded = percent::decode_whole_escapes(sent);
    let last = decoded.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = last.chars().filter(|c| !c.is_control() && !turns_text(*c));
    let name: String = kept.take(CHARS_MAX).collect();
    let name = name.trim();
    (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
}

/// Returns the name of a file from the `Content-Disposition` value of a part, with its escapes. The form for
/// other alphabets (`filename*`, RFC 8187) takes precedence. Bytes that are not UTF-8 are read as Latin-1, as old clients send
/// it.
pub(super) fn in_disposition(header: &[u8]) -> Option<String> {
    let text = match str::from_utf8(header) {
        Ok(text) => text.to_owned(),
        Err(_) => header.iter().copied().map(char::from).collect(),
    };
    let mut plain = None;
    let mut rest = text.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((name, after)) = rest.split_once('=') {
        let (value, following) = parameter_value(after.trim_start());
        let name = name.trim();
        if name.eq_ignore_ascii_case("filename*")
            && let Some(extended) = extended_value(&value)
        {
            return Some(extended);
        }
        if name.eq_ignore_ascii_case("filename") {
            plain.get_or_insert(value);
        }
        rest = following;
    }
    plain
}

/// Returns a parameter's value from the text that starts with it, and the text after the next semicolon. In a quoted
/// value only escaped quotes count as escapes: clients send Windows folders as they are.
fn parameter_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_once(';').unwrap_or((text, ""));
        return (value.trim().to_owned(), rest);
    };
    let mut is_escaped = false;
    let end = quoted.find(|c| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let (value, rest) = quoted.split_at(end.unwrap_or(quoted.len()));
    let rest = rest.split_once(';').map_or("", |(_, rest)| rest);
    (value.replace("\\\"", "\""), rest)
}

/// Returns the text of an extended value such as `UTF-8''na%C3%AFve.txt`.
fn extended_value(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_language, name) = rest.split_once('\'')?;
    charset
        .eq_ignore_ascii_case("utf-8")
        .then(|| name.to_owned())
}

/// Returns true for characters that change the direction of the surrounding text.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns the value of `Content-Disposition` for a file of this name (RFC 6266): an ASCII form for old clients, and
/// the exact name.
pub(super) fn content_disposition(kind: &str, name: &str) -> String {
    let plain = |c: char| {
        let safe = c.is_ascii_graphic() || c == ' ';
        if safe && !matches!(c, '"' | '\\' | '%' | '/') {
            c
        } else {
            '_'
        }
    };
    let ascii: String = name.chars().map(plain).collect();
    let mut value = format!("{kind}; filename=\"{ascii}\"");
    if ascii != name {
        let exact = percent::encode_component(name);
        // Writing to a String cannot fail.
        let _ = write!(value, "; filename*=UTF-8''{exact}");
    }
    value
}

/// Returns the media type of a file that a browser may show, or `None` for a file that it may only save. Types that can
/// contain scripts are never shown.
pub(super) fn displayable_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "avif" => "image/avif",
        "bmp" => "image/bmp",
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "webp" => "image/webp",
        "csv" | "log" | "md" | "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_no_folders_and_no_invisible_characters() {
        for (sent, name) in [
            ("plan.txt", Some("plan.txt")),
            ("../../etc/passwd", Some("passwd")),
            ("..%2F..%2Fetc%2Fpasswd", Some("passwd")),
            ("C:\\Users\\ada\\plan.txt", Some("plan.txt")),
            ("%E2%82%AC.txt", Some("\u{20AC}.txt")),
            ("100%.txt", Some("100%.txt")),
            ("100% of %E2%82%AC.txt", Some("100% of \u{20AC}.txt")),
            ("5%-7% a.txt", Some("5%-7% a.txt")),
            ("the %22plan%22.txt", Some("the \"plan\".txt")),
            ("%FC.txt", Some("%FC.txt")),
            ("a\r\nX-Evil: 1.txt", Some("aX-Evil: 1.txt")),
            ("gpj.\u{202E}exe", Some("gpj.exe")),
            ("..", None),
            ("/", None),
            (" ", None),
            ("", None),
        ] {
            assert_eq!(cleaned(sent).as_deref(), name, "{sent:?}");
        }
        assert_eq!(cleaned(&"x".repeat(999)).unwrap().len(), CHARS_MAX);
    }

    #[test]
    fn names_are_read_from_every_form_of_the_header() {
        for (header, name) in [
            (&b"form-data; name=\"file\""[..], None),
            (b"form-data; name=\"filename=a\"", None),
            (b"form-data; name=file; filename=a.txt", Some("a.txt")),
            (
                b"form-data; name=\"file\"; filename=\"a; b.txt\"",
                Some("a; b.txt"),
            ),
            (
                b"form-data; filename=\"the \\\"plan\\\".txt\"",
                Some("the \"plan\".txt"),
            ),
            (
                b"form-data; filename=\"the %22plan%22 of 100%.txt\"",
                Some("the \"plan\" of 100%.txt"),
            ),
            (
                b"form-data; filename=\"caf\xe9.txt\"; name=\"file\"",
                Some("caf\u{e9}.txt"),
            ),
            (
                "form-data; filename=\"caf\u{e9}.txt\"".as_bytes(),
                Some("caf\u{e9}.txt"),
            ),
            (
                b"form-data; filename=\"_.txt\"; filename*=UTF-8''%E2%82%AC.txt",
                Some("\u{20AC}.txt"),
            ),
            (
                b"form-data; filename*=utf-8'en'%E2%82%AC%25.txt",
                Some("\u{20AC}%.txt"),
            ),
            (b"form-data; filename=\"C:\\a\\b.txt\"", Some("b.txt")),
        ] {
            let read = in_disposition(header).and_then(|sent| cleaned(&sent));
            assert_eq!(read.as_deref(), name, "{}", header.escape_ascii());
        }
    }

    #[test]
    fn headers_of_downloads_are_ascii_and_quote_nothing() {
        assert_eq!(
            content_disposition("attachment", "plan 1.txt"),
            "attachment; filename=\"plan 1.txt\""
        );
        let header = content_disposition("inline", "\u{20AC} \"x\".txt");
        assert_eq!(
            header,
            "inline; filename=\"_ _x_.txt\"; filename*=UTF-8''%E2%82%AC%20%22x%22.txt"
        );
    }

    #[test]
    fn nothing_is_shown_that_can_contain_scripts() {
        for name in [
            "a.svg",
            "a.html",
            "a.htm",
            "a.xml",
            "a.pdf",
            "a.js",
            "txt",
            "a.png.svg",
        ] {
            assert_eq!(displayable_type(name), None, "{name}");
        }
        assert_eq!(displayable_type("A.PNG"), Some("image/png"));
    }
}
