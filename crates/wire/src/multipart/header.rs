//! Headers of parts, and the parameter syntax they share with `Content-Type`.

use super::{MultipartError, Part};
use crate::percent;

/// A value with parameters: `form-data; name="x"`.
type Value = (String, Vec<(String, String)>);

/// Splits headers from content. A header block ends with an empty line; the lines come without CRLF.
pub(super) fn block(bytes: &[u8], cap: usize) -> Result<(Vec<&str>, &[u8]), MultipartError> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    loop {
        let used = bytes.len() - rest.len();
        let window = rest.get(..(cap - used + 2).min(rest.len())).unwrap_or(rest);
        let Some(end) = window.windows(2).position(|pair| pair == b"\r\n") else {
            let early = window.len() == rest.len();
            return Err(if early {
                MultipartError::Framing
            } else {
                MultipartError::HeaderTooLong
            });
        };
        let (line, tail) = rest.split_at_checked(end).ok_or(MultipartError::Framing)?;
        let tail = tail.strip_prefix(b"\r\n").ok_or(MultipartError::Framing)?;
        if line.is_empty() {
            return Ok((lines, tail));
        }
        if bytes.len() - tail.len() > cap {
            return Err(MultipartError::HeaderTooLong);
        }
        lines.push(std::str::from_utf8(line).map_err(|_| MultipartError::Header)?);
        rest = tail;
    }
}

/// Makes a part of its header lines and content.
pub(super) fn part<'a>(lines: &[&'a str], bytes: &'a [u8]) -> Result<Part<'a>, MultipartError> {
    let mut disposition = None;
    let mut content_type = None;
    for line in lines {
        let (name, text) = line.split_once(':').ok_or(MultipartError::Header)?;
        let text = text.trim_matches([' ', '\t']);
        if !is_token(name) || text.chars().any(|c| c.is_control() && c != '\t') {
            return Err(MultipartError::Header);
        }
        let repeated = match name.to_ascii_lowercase().as_str() {
            "content-disposition" => disposition.replace(text).is_some(),
            "content-type" => content_type.replace(text).is_some(),
            "content-transfer-encoding" => !identity(text),
            _ => false,
        };
        if repeated {
            return Err(MultipartError::Header);
        }
    }
    let (name, filename) = disposition.and_then(named).ok_or(MultipartError::Header)?;
    Ok(Part {
        name,
        filename,
        content_type,
        bytes,
    })
}

/// Returns true for the encodings that change nothing; others would need decoding, and RFC 7578
/// section 4.7 drops them.
fn identity(text: &str) -> bool {
    ["binary", "8bit", "7bit"]
        .iter()
        .any(|known| text.eq_ignore_ascii_case(known))
}

/// Returns the field's and the file's name from a disposition.
fn named(text: &str) -> Option<(String, Option<String>)> {
    let (kind, params) = value(text)?;
    let (mut name, mut file, mut extended) = (None, None, None);
    for (key, text) in params {
        let repeated = match key.as_str() {
            "name" => name.replace(text).is_some(),
            "filename" => file.replace(loosely_decoded(text)).is_some(),
            "filename*" => extended.replace(extended_value(&text)?).is_some(),
            _ => false,
        };
        if repeated {
            return None;
        }
    }
    let name = name.filter(|name| kind == "form-data" && clean(name))?;
    match extended.or(file) {
        Some(file) if clean(&file) => Some((name, Some(base(&file)))),
        Some(_) => None,
        None => Some((name, None)),
    }
}

/// Decodes a percent-coded name (RFC 7578 section 4.2). Text that isn't valid coding stays as it is:
/// a plain name may hold a per cent sign.
fn loosely_decoded(text: String) -> String {
    percent::decode(text.as_bytes(), false).unwrap_or(text)
}

/// Reads `UTF-8'language'coded` (RFC 8187 section 3.2).
fn extended_value(text: &str) -> Option<String> {
    let mut parts = text.splitn(3, '\'');
    let (charset, _language, coded) = (parts.next()?, parts.next()?, parts.next()?);
    if !charset.eq_ignore_ascii_case("utf-8") {
        return None;
    }
    percent::decode(coded.as_bytes(), false).ok()
}

fn clean(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

/// Returns the last component of a path with slashes or backslashes; a bare `.` or `..` becomes empty.
fn base(path: &str) -> String {
    let last = path.rsplit(['/', '\\']).next().unwrap_or_default();
    if matches!(last, "." | "..") {
        String::new()
    } else {
        last.to_owned()
    }
}

/// Reads a value with parameters. Its kind and the parameter names come in lower case, quoted text
/// without its quotes; a backslash escapes only a quote or a backslash, so that Windows paths survive.
pub(super) fn value(text: &str) -> Option<Value> {
    let (kind, mut rest) = text.split_at(text.find(';').unwrap_or(text.len()));
    let mut params = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            break;
        }
        rest = rest.strip_prefix(';')?.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            break;
        }
        let (name, tail) = rest.split_once('=')?;
        if !is_token(name) {
            return None;
        }
        let (text, tail) = match tail.strip_prefix('"') {
            Some(tail) => quoted(tail)?,
            None => {
                let (text, tail) = tail.split_at(tail.find([';', ' ', '\t']).unwrap_or(tail.len()));
                (Some(text).filter(|text| is_token(text))?.to_owned(), tail)
            }
        };
        params.push((name.to_ascii_lowercase(), text));
        rest = tail;
    }
    Some((kind.trim_matches([' ', '\t']).to_ascii_lowercase(), params))
}

/// Returns the text up to the closing quote, and the text after it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, text.get(at + 1..)?)),
            '\\' => match chars.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, next)) => out.push(next),
                None => out.push('\\'),
            },
            _ => out.push(c),
        }
    }
    None
}

/// Returns true for a token of RFC 9110 section 5.6.2, or one with the further characters of
/// `filename*` and boundaries.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~/:=?()".contains(&b))
}
