//! The strict reader: turns the text of a client into a flat list of known tags and texts.
use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::errors::Error;
use quick_xml::escape::{EscapeError, resolve_html5_entity, unescape_with};
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::allowed_tags;
use crate::allowed_tags::Tag;
use crate::characters::{is_allowed, newlines};
use crate::rich_text::{MAX_DEPTH, RichTextProfile};
use crate::rich_text_error::RichError;

/// Attributes by name, in the order of the tag's own list.
pub(crate) type Attributes = Vec<(&'static str, String)>;

/// A part of a text between `<body>` and `</body>`. Opened tags are closed in order; void
/// ones are only opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MarkupToken {
    Open(&'static Tag, Attributes),
    Text(String),
    Close(&'static Tag),
}

impl MarkupToken {
    /// Returns the objects that this tag refers to.
    pub(crate) fn gids(&self) -> impl Iterator<Item = u64> {
        let attributes = match self {
            Self::Open(_, attributes) => attributes.as_slice(),
            _ => &[],
        };
        let refers = |name: &str| name == "data-asana-gid" || ALONG.contains(&name);
        let named = attributes.iter().filter(move |(name, _)| refers(name));
        named.filter_map(|(_, value)| parse_gid(value))
    }
}

/// The attributes of a link that name objects besides its target.
pub(crate) const ALONG: [&str; 2] = ["data-asana-project", "data-asana-tag"];

pub(crate) fn get<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    attributes
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, value)| value.as_str())
}

/// Reads a gid: a decimal number below 2^53 without sign or leading zero.
pub(crate) fn parse_gid(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|gid| plain && *gid < 1 << 53)
}

/// Reads a whole text.
pub(crate) fn parse(html: &str, flavor: RichTextProfile) -> Result<Vec<MarkupToken>, RichError> {
    if let Some(c) = html.chars().find(|&c| !is_allowed(c) && c != '\r') {
        return Err(RichError::Character(c));
    }
    let html = lower_case_tags(html);
    let mut reader = Reader::from_str(&html);
    reader.config_mut().expand_empty_elements = true;
    let mut parser = Parser {
        flavor,
        pieces: Vec::new(),
        open: Vec::new(),
        body: BodyState::Before,
    };
    loop {
        match reader.read_event() {
            Ok(Event::Eof) if parser.body == BodyState::After => return Ok(parser.pieces),
            Ok(Event::Eof) => return Err(parser.unfinished(reader.buffer_position())),
            Ok(event) => parser.event(&event, reader.buffer_position())?,
            Err(e) => return Err(RichError::Xml(reader.error_position(), problem(&e))),
        }
    }
}

/// Returns a text with the names of its tags in lower case.
fn lower_case_tags(html: &str) -> Cow<'_, str> {
    if !html.bytes().any(|b| b.is_ascii_uppercase()) {
        return Cow::Borrowed(html);
    }
    let mut lower = String::with_capacity(html.len());
    let mut parts = html.split('<');
    lower.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let is_name = |c: char| c == '/' || c.is_ascii_alphanumeric();
        let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        lower.push('<');
        lower.push_str(&name.to_ascii_lowercase());
        lower.push_str(rest);
    }
    Cow::Owned(lower)
}

#[derive(PartialEq, Eq)]
enum BodyState {
    Before,
    Within,
    After,
}

struct Parser {
    flavor: RichTextProfile,
    pieces: Vec<MarkupToken>,
    open: Vec<&'static Tag>,
    body: BodyState,
}

impl Parser {
    fn event(&mut self, event: &Event<'_>, at: u64) -> Result<(), RichError> {
        match event {
            Event::Start(start) => self.start(start, at),
            Event::End(_) => {
                self.end();
                Ok(())
            }
            Event::Text(text) if text.contains("]]>") => {
                Err(RichError::Xml(at, "write ]]> as ]]&gt;".to_owned()))
            }
            Event::Text(text) => self.text(&newlines(text)),
            Event::GeneralRef(reference) => self.text(&characters(reference)?),
            Event::CData(_) => Err(RichError::Markup("CDATA sections")),
            Event::Comment(_) => Err(RichError::Markup("comments")),
            Event::Decl(_) => Err(RichError::Markup("an XML declaration")),
            Event::PI(_) => Err(RichError::Markup("processing instructions")),
            Event::DocType(_) => Err(RichError::Markup("a DOCTYPE")),
            Event::Empty(_) | Event::Eof => Ok(()), // expanded; handled by the caller
        }
    }

    fn start(&mut self, start: &BytesStart<'_>, at: u64) -> Result<(), RichError> {
        let name = start.name().into_inner();
        if name.is_empty() {
            return Err(RichError::Xml(
                at,
                "a tag without a name (write < as &lt;)".to_owned(),
            ));
        }
        if self.body == BodyState::Before && name == "body" {
            self.body = BodyState::Within;
            return attributes("body", &[], false, start, at).map(drop);
        }
        if self.body != BodyState::Within || name == "body" {
            return Err(RichError::Root);
        }
        let Some(tag) = allowed_tags::find(name, self.flavor) else {
            return Err(RichError::Tag(shorten(name), self.flavor));
        };
        if self.open.len() + 2 > MAX_DEPTH {
            return Err(RichError::TooDeep);
        }
        self.no_content_of_void()?;
        if let Some(rule) = allowed_tags::misplaced(tag, &self.open) {
            return Err(RichError::Misplaced(tag.name, rule));
        }
        let attributes = attributes(tag.name, tag.attributes, tag.drops_others, start, at)?;
        self.open.push(tag);
        self.pieces.push(MarkupToken::Open(tag, attributes));
        Ok(())
    }

    /// Closes the tag that was opened last; the XML reader has checked that the names match.
    fn end(&mut self) {
        match self.open.pop() {
            None => self.body = BodyState::After,
            Some(tag) if tag.void => {}
            Some(tag) => self.pieces.push(MarkupToken::Close(tag)),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), RichError> {
        let blank = text.bytes().all(|b| b.is_ascii_whitespace());
        if self.body != BodyState::Within {
            let mark = self.body == BodyState::Before
                && text.trim_matches(['\u{feff}', ' ', '\n', '\t']).is_empty();
            return if blank || mark {
                Ok(())
            } else {
                Err(RichError::Root)
            };
        }
        self.no_content_of_void()?;
        match self.open.last() {
            Some(tag) if !blank && matches!(tag.name, "table" | "tr") => {
                return Err(RichError::Misplaced(tag.name, "text belongs into <td>"));
            }
            _ => {}
        }
        match self.pieces.last_mut() {
            Some(MarkupToken::Text(before)) => before.push_str(text),
            Some(MarkupToken::Open(tag, _)) if tag.name == "pre" => {
                // HTML drops a newline here; the sanitiser must find the same text.
                let text = text.trim_start_matches('\n');
                if !text.is_empty() {
                    self.pieces.push(MarkupToken::Text(text.to_owned()));
                }
            }
            _ => self.pieces.push(MarkupToken::Text(text.to_owned())),
        }
        Ok(())
    }

    fn no_content_of_void(&self) -> Result<(), RichError> {
        match self.open.last() {
            Some(tag) if tag.void => Err(RichError::Misplaced(
                tag.name,
                "it must be empty, like <hr/>",
            )),
            _ => Ok(()),
        }
    }

    fn unfinished(&self, at: u64) -> RichError {
        match (&self.body, self.open.last()) {
            (BodyState::Within, tag) => {
                let name = tag.map_or("body", |tag| tag.name);
                RichError::Xml(at, format!("<{name}> is not closed by </{name}>"))
            }
            _ => RichError::Root,
        }
    }
}

/// Returns the known attributes of a tag; the others are dropped or refused.
fn attributes(
    tag: &'static str,
    known: &'static [&'static str],
    drops_others: bool,
    start: &BytesStart<'_>,
    at: u64,
) -> Result<Attributes, RichError> {
    let mut found = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|e| RichError::Xml(at, e.to_string()))?;
        let name = attribute.key.into_inner();
        if attribute.value.contains('<') {
            return Err(RichError::Xml(
                at,
                format!("write < in attribute {} as &lt;", shorten(name)),
            ));
        }
        let value = unescape_with(&attribute.value, resolve_html5_entity).map_err(|e| match e {
            EscapeError::UnrecognizedEntity(_, name) => RichError::Entity(shorten(&name)),
            other => RichError::Xml(at, other.to_string()),
        })?;
        if let Some(c) = value.chars().find(|&c| !is_allowed(c) && c != '\r') {
            return Err(RichError::Character(c));
        }
        match known.iter().position(|k| k.eq_ignore_ascii_case(name)) {
            Some(place) if found.iter().any(|(there, _)| *there == place) => {
                let reason = format!("attribute {} is given twice", shorten(name));
                return Err(RichError::Xml(at, reason));
            }
            Some(place) => found.push((place, value.replace(['\t', '\n', '\r'], " "))),
            None if drops_others => {}
            None => return Err(RichError::Attribute(tag, shorten(name), known)),
        }
    }
    found.sort_unstable_by_key(|(place, _)| *place);
    Ok(found
        .into_iter()
        .filter_map(|(place, value)| Some((*known.get(place)?, value)))
        .collect())
}

/// Returns the characters of an entity: a numeric one, or one that HTML names.
fn characters(reference: &BytesRef<'_>) -> Result<Cow<'static, str>, RichError> {
    let found: Cow<'static, str> = match resolve_html5_entity(reference) {
        Some(named) => Cow::Borrowed(named),
        None => match reference.resolve_char_ref() {
            Ok(Some('\r')) => Cow::Borrowed("\n"),
            Ok(Some(c)) => Cow::Owned(c.to_string()),
            _ => return Err(RichError::Entity(shorten(reference))),
        },
    };
    match found.chars().find(|&c| !is_allowed(c)) {
        Some(c) => Err(RichError::Character(c)),
        None => Ok(found),
    }
}

/// Returns the message of the XML reader, with a hint where it is hard to understand.
fn problem(error: &Error) -> String {
    let said = shorten(&error.to_string());
    if said.contains("entity or character reference") {
        format!("{said} (write & as &amp;)")
    } else {
        said
    }
}

/// Returns user input for a message, shortened.
fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 100;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
