//! Names of uploaded files: as clients send them, and in headers of downloads.
use std::fmt::Write;
use workgraph_wire::percent;

/// Characters of the longest name.
const CHARS_MAX: usize = 255;

/// Returns the name of a file from what a client sent, or `None` if nothing is left of it. Folders, control characters
/// and marks that turn the direction of text are dropped; a name that is percent-encoded, as some clients send those
/// that are not ASCII, is decoded.
pub(super) fn cleaned(sent: &str) -> Option<String> {
    let decoded = percent::decode(sent.as_bytes(), false).unwrap_or_else(|_| sent.to_owned());
    let last = decoded.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = last.chars().filter(|c| !c.is_control() && !turns_text(*c));
    let name: String = kept.take(CHARS_MAX).collect();
    let name = name.trim();
    (!matches!(name, "" | "." | "..")).then(|| name.to_owned())
}

/// Returns true for characters that change the direction of the text around them.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns the value of `Content-Disposition` for a file of this name (RFC 6266): an ASCII form for old clients, and
/// the name itself.
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

/// Returns the media type of a file that a browser may show, or `None` for one that it only saves. No type is shown
/// that can contain scripts.
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
