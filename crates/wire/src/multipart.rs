//! A small, strict reader of `multipart/form-data` bodies (RFC 7578) over a byte slice.
//!
//! Strict means: nothing before the first boundary or after the last, CRLF line ends, no folded
//! headers, no repeated disposition. Nothing is copied but names; contents are slices of the body.

use std::fmt;

use crate::query_params::{QueryError, QueryProblem};

mod header;

/// Limits of a body. The reader of the network limits its total size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most parts of the body.
    pub parts: usize,
    /// Most bytes of all headers of one part together.
    pub header: usize,
}

impl Default for Limits {
    /// Returns 32 parts with headers of 4 KiB each.
    fn default() -> Self {
        Self {
            parts: 32,
            header: 4096,
        }
    }
}

/// Reason for which a body was refused. `Display` is the message for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MultipartError {
    /// The content type isn't `multipart/form-data` with one valid boundary: status 415.
    ContentType,
    /// The body doesn't follow the boundary, or ends early: status 400, as all below.
    Framing,
    /// A part's headers can't be read, or name no field.
    Header,
    /// More parts than allowed.
    TooManyParts,
    /// A part's headers are longer than allowed.
    HeaderTooLong,
}

impl MultipartError {
    /// Returns the status code of the answer.
    #[must_use]
    pub fn status(&self) -> u16 {
        if *self == Self::ContentType { 415 } else { 400 }
    }
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContentType => "The content type must be multipart/form-data with a boundary",
            Self::Framing => "Could not parse request data, invalid multipart framing",
            Self::Header => "Could not parse request data, invalid multipart header",
            Self::TooManyParts => "Could not parse request data, too many parts",
            Self::HeaderTooLong => "Could not parse request data, multipart header too long",
        })
    }
}

impl std::error::Error for MultipartError {}

/// Part of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part<'a> {
    /// The field's name.
    pub name: String,
    /// The file's name for a file. Directories are cut off and a percent-coded name is decoded; it is
    /// still the sender's text and no safe path by itself.
    pub filename: Option<String>,
    /// The content type as sent.
    pub content_type: Option<&'a str>,
    /// The content.
    pub bytes: &'a [u8],
}

/// Parts of a body, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Multipart<'a> {
    /// All parts; names may repeat.
    pub parts: Vec<Part<'a>>,
}

impl<'a> Multipart<'a> {
    /// Returns the one part of this name, or `None`.
    ///
    /// # Errors
    /// Fails if there are two.
    pub fn get(&self, name: &str) -> Result<Option<&Part<'a>>, QueryError> {
        let mut found = self.parts.iter().filter(|part| part.name == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(QueryError::new(name, QueryProblem::Repeated));
        }
        Ok(first)
    }
}

/// Returns the boundary from the value of a `Content-Type` header.
///
/// # Errors
/// [`MultipartError::ContentType`] if the type is another, or the boundary is missing, repeated or not
/// of the form in RFC 2046 section 5.1.1.
pub fn boundary(content_type: &str) -> Result<String, MultipartError> {
    let (kind, params) = header::value(content_type).ok_or(MultipartError::ContentType)?;
    let mut found = params.into_iter().filter(|(name, _)| name == "boundary");
    match (found.next(), found.next()) {
        (Some((_, text)), None) if kind == "multipart/form-data" && is_boundary(&text) => Ok(text),
        _ => Err(MultipartError::ContentType),
    }
}

fn is_boundary(text: &str) -> bool {
    (1..=70).contains(&text.len())
        && !text.ends_with(' ')
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&b))
}

/// Reads a whole body. `boundary` is the result of the function [`boundary`].
///
/// # Errors
/// See [`MultipartError`].
pub fn parse<'a>(
    body: &'a [u8],
    boundary: &str,
    limits: Limits,
) -> Result<Multipart<'a>, MultipartError> {
    let delimiter = format!("\r\n--{boundary}");
    let delimiter = delimiter.as_bytes();
    // The first boundary stands without the line break that belongs to the others.
    let first = delimiter.strip_prefix(b"\r\n").unwrap_or(delimiter);
    let body = body.strip_prefix(b"\r\n").unwrap_or(body);
    let mut rest = body.strip_prefix(first).ok_or(MultipartError::Framing)?;
    let mut parts = Vec::new();
    loop {
        if let Some(end) = rest.strip_prefix(b"--") {
            let clean = matches!(end, b"" | b"\r\n");
            return if clean {
                Ok(Multipart { parts })
            } else {
                Err(MultipartError::Framing)
            };
        }
        if parts.len() >= limits.parts {
            return Err(MultipartError::TooManyParts);
        }
        let after = rest.strip_prefix(b"\r\n").ok_or(MultipartError::Framing)?;
        let (headers, content) = header::block(after, limits.header)?;
        let (bytes, tail) = cut(content, delimiter).ok_or(MultipartError::Framing)?;
        parts.push(header::part(&headers, bytes)?);
        rest = tail;
    }
}

/// Returns the bytes before and after the first `delimiter`. A delimiter begins with a carriage return
/// and has no other, so every byte is looked at once or twice.
fn cut<'a>(bytes: &'a [u8], delimiter: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|b| *b == b'\r')?;
        let (before, here) = bytes.split_at_checked(at)?;
        if let Some(after) = here.strip_prefix(delimiter) {
            return Some((before, after));
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests;
