//! The bare nested page: rows converted to JSON by hand-written code, the minimum work of a server.

use anyhow::Result;
use rusqlite::Statement;

use crate::baseline_schema::{ASSIGNEE, FOLLOWER, PROJECT, PROJECT_GID};

/// Number of tasks on a page.
const LIMIT: usize = 100;

/// Writes the first page, with name, completed, due_on, assignee, followers and sections of its tasks.
pub(crate) fn write_page(
    page: &mut Statement<'_>,
    relatives: &mut Statement<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.extend_from_slice(b"{\"data\":[");
    let mut tasks = page.query([PROJECT_GID, -1])?;
    let mut count = 0;
    let mut last = 0;
    let mut more = false;
    while let Some(row) = tasks.next()? {
        if count == LIMIT {
            more = true;
            break;
        }
        let gid: i64 = row.get(0)?;
        let mut body = row.get_ref(2)?.as_blob()?;
        open_object(out, count == 0, gid);
        out.extend_from_slice(b",\"name\":");
        text(out, row.get_ref(1)?.as_str()?);
        out.extend_from_slice(b",\"completed\":");
        out.extend_from_slice(field(&mut body));
        out.extend_from_slice(b",\"due_on\":\"");
        out.extend_from_slice(field(&mut body));
        out.push(b'"');
        write_relatives(relatives, gid, out)?;
        out.push(b'}');
        count += 1;
        last = gid;
    }
    out.extend_from_slice(b"],\"next_page\":");
    if more {
        let query = format!("/projects/{PROJECT_GID}/tasks?limit={LIMIT}&offset={last}");
        let next = format!(
            "{{\"offset\":\"{last}\",\"path\":\"{query}\",\"uri\":\"http://127.0.0.1/api/1.0{query}\"}}"
        );
        out.extend_from_slice(next.as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
    out.push(b'}');
    Ok(())
}

fn write_relatives(statement: &mut Statement<'_>, task: i64, out: &mut Vec<u8>) -> Result<()> {
    let mut rows = statement.query([task])?;
    let mut open = 0;
    while let Some(row) = rows.next()? {
        let (rel, gid): (i64, i64) = (row.get(0)?, row.get(1)?);
        let first = rel != open;
        if first && open > ASSIGNEE {
            out.push(b']');
        }
        open = rel;
        match rel {
            ASSIGNEE => out.extend_from_slice(b",\"assignee\":"),
            FOLLOWER if first => out.extend_from_slice(b",\"followers\":["),
            PROJECT if first => out.extend_from_slice(b",\"memberships\":["),
            _ => {}
        }
        if rel == PROJECT {
            out.extend_from_slice(if first {
                b"{\"section\":"
            } else {
                b",{\"section\":"
            });
        }
        open_object(out, first || rel == PROJECT, gid);
        out.extend_from_slice(b",\"name\":");
        text(out, row.get_ref(2)?.as_str()?);
        if rel == ASSIGNEE {
            out.extend_from_slice(b",\"email\":");
            let mut body = row.get_ref(3)?.as_blob()?;
            text(out, std::str::from_utf8(field(&mut body))?);
        }
        out.extend_from_slice(if rel == PROJECT { b"}}" } else { b"}" });
    }
    if open > ASSIGNEE {
        out.push(b']');
    }
    Ok(())
}

fn open_object(out: &mut Vec<u8>, first: bool, gid: i64) {
    out.extend_from_slice(if first {
        b"{\"gid\":\""
    } else {
        b",{\"gid\":\""
    });
    let mut digits = [b'0'; 20];
    let mut rest = gid.unsigned_abs();
    let mut length = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        length += 1;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(20 - length..).unwrap_or_default());
    out.push(b'"');
}

/// Writes a text as a JSON string.
fn text(out: &mut Vec<u8>, value: &str) {
    out.push(b'"');
    if value
        .bytes()
        .any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    {
        for byte in value.bytes() {
            match byte {
                b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => out.push(byte),
            }
        }
    } else {
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'"');
}

/// Encodes a body: consecutive fields, each preceded by its length in two bytes.
pub(crate) fn fields(values: &[&[u8]]) -> Vec<u8> {
    let mut body = Vec::new();
    for value in values {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        body.extend_from_slice(&length.to_le_bytes());
        body.extend_from_slice(value.get(..length.into()).unwrap_or_default());
    }
    body
}

/// Removes the next field from a body.
fn field<'a>(body: &mut &'a [u8]) -> &'a [u8] {
    let Some((length, rest)) = body.split_first_chunk::<2>() else {
        return &[];
    };
    let (value, rest) = rest
        .split_at_checked(u16::from_le_bytes(*length).into())
        .unwrap_or_default();
    *body = rest;
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_in_order() {
        let body = fields(&[b"one", b"", b"three"]);
        let mut rest = body.as_slice();
        assert_eq!(field(&mut rest), b"one");
        assert_eq!(field(&mut rest), b"");
        assert_eq!(field(&mut rest), b"three");
        assert_eq!(field(&mut rest), b"");
    }

    #[test]
    fn text_is_escaped() {
        let mut out = Vec::new();
        text(&mut out, "a\"b\\c\n");
        assert_eq!(out, br#""a\"b\\c\u000a""#);
        out.clear();
        open_object(&mut out, true, 1_234_567);
        assert_eq!(out, br#"{"gid":"1234567""#);
    }
}
