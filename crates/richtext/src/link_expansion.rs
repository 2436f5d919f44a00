//! References: links, images and embedded objects, expanded for readers who may see them.
use crate::allowed_tags::{OBJECT_TYPES, Tag, is_address};
use crate::characters::is_allowed;
use crate::parse::{ALONG, Attributes, MarkupToken, get, parse_gid};
use crate::rich_text::{LinkResolver, LinkTarget};
use crate::rich_text_error::RichError;

/// The text of a link to an object that the reader may not see.
const PRIVATE: &str = "Private Link";

/// Expands the references in a text from a client. A reference to an object that the client may not see must have its own
/// text. A private link is the link of the text `before` that its client got in this form.
pub(crate) fn written(
    pieces: Vec<MarkupToken>,
    links: &LinkResolver<'_>,
    before: Vec<MarkupToken>,
) -> Result<Vec<MarkupToken>, RichError> {
    expand(pieces, links, false, HiddenParts::of(before, links))
}

/// Parts of a stored text that its reader does not get.
#[derive(Default)]
struct HiddenParts {
    /// Links that the reader gets as private links.
    links: Vec<HiddenLink>,
    /// Attributes of other links that name hidden objects, each with the gid of its link.
    along: Vec<(u64, (&'static str, String))>,
}

/// Link that a reader gets as a private link: its tokens, without the token that closes it.
struct HiddenLink(Vec<MarkupToken>);

impl HiddenLink {
    fn href(&self) -> Option<&str> {
        match self.0.first() {
            Some(MarkupToken::Open(_, attributes)) => get(attributes, "href"),
            _ => None,
        }
    }
}

impl HiddenParts {
    fn of(pieces: Vec<MarkupToken>, links: &LinkResolver<'_>) -> Self {
        let mut hidden = Self::default();
        let mut is_inside = false;
        for piece in pieces {
            match &piece {
                MarkupToken::Open(Tag { name: "a", .. }, attributes) => {
                    let gid = get(attributes, "data-asana-gid").and_then(parse_gid);
                    is_inside = gid.is_some_and(|gid| links(gid).is_none());
                    if is_inside {
                        hidden.links.push(HiddenLink(Vec::new()));
                    } else if let Some(gid) = gid {
                        let is_hidden =
                            |value| parse_gid(value).is_some_and(|gid| links(gid).is_none());
                        let along = attributes.iter();
                        let along =
                            along.filter(|(name, value)| ALONG.contains(name) && is_hidden(value));
                        hidden
                            .along
                            .extend(along.cloned().map(|named| (gid, named)));
                    }
                }
                MarkupToken::Close(Tag { name: "a", .. }) => is_inside = false,
                _ => {}
            }
            if is_inside && let Some(link) = hidden.links.last_mut() {
                link.0.push(piece);
            }
        }
        hidden
    }

    /// Takes the first link with an address.
    fn take(&mut self, href: Option<&str>) -> Option<HiddenLink> {
        let at = self.links.iter().position(|link| link.href() == href)?;
        Some(self.links.remove(at))
    }

    /// Adds the hidden attributes of a link to those that the client sent, unless they name other objects.
    fn complete(&mut self, given: &mut Attributes) {
        let gid = get(given, "data-asana-gid").and_then(parse_gid);
        for name in ALONG {
            let is_same =
                |(of, (named, _)): &(u64, (&str, String))| Some(*of) == gid && *named == name;
            if get(given, name).is_none()
                && let Some(at) = self.along.iter().position(is_same)
            {
                given.push(self.along.remove(at).1);
            }
        }
    }
}

/// Returns true if a tag begins a private link in the form in which readers get it.
fn is_private_link(tag: &Tag, attributes: &Attributes) -> bool {
    tag.name == "a"
        && get(attributes, "data-asana-accessible") == Some("false")
        && get(attributes, "data-asana-gid").is_none()
}

/// Expands a stored text for a reader, who may see less than its author.
pub(crate) fn read(
    pieces: Vec<MarkupToken>,
    links: &LinkResolver<'_>,
) -> Result<Vec<MarkupToken>, RichError> {
    expand(pieces, links, true, HiddenParts::default())
}

/// Removes the names of linked objects: the text of links and embedded objects, unless the author chose it, and the
/// names of images.
pub(crate) fn unnamed(pieces: Vec<MarkupToken>) -> Vec<MarkupToken> {
    let named = |tag: &Tag, given: &Attributes| {
        tag.name != "a" || get(given, "data-asana-dynamic") != Some("false")
    };
    emptied(pieces, named)
}

/// Removes all text inside links to objects.
pub(crate) fn own_words(pieces: Vec<MarkupToken>) -> Vec<MarkupToken> {
    emptied(pieces, |_, _| true)
}

/// Replaces the attachments that images show; returns true if one was replaced. The address of an image is left out: readers get
/// it from the attachment.
pub(crate) fn replace_images(
    pieces: &mut [MarkupToken],
    replacement: &dyn Fn(u64) -> Option<u64>,
) -> bool {
    let mut any = false;
    for piece in pieces {
        let MarkupToken::Open(Tag { name: "img", .. }, attributes) = piece else {
            continue;
        };
        let shown = get(attributes, "data-asana-gid").and_then(parse_gid);
        if let Some(gid) = shown.and_then(replacement) {
            attributes.retain(|(name, _)| !matches!(*name, "data-asana-gid" | "src"));
            attributes.insert(0, ("data-asana-gid", gid.to_string()));
            any = true;
        }
    }
    any
}

fn emptied(
    pieces: Vec<MarkupToken>,
    which: impl Fn(&Tag, &Attributes) -> bool,
) -> Vec<MarkupToken> {
    let mut out = Vec::with_capacity(pieces.len());
    // Content is dropped until this tag is closed.
    let mut within: Option<&'static Tag> = None;
    for piece in pieces {
        match (piece, within) {
            (MarkupToken::Close(tag), Some(of)) if tag == of => {
                within = None;
                out.push(MarkupToken::Close(tag));
            }
            (_, Some(_)) => {}
            (MarkupToken::Open(tag, mut attributes), None) => {
                let linked = get(&attributes, "data-asana-gid").is_some();
                if linked && which(tag, &attributes) {
                    attributes.retain(|(name, _)| *name != "alt");
                    within = Some(tag).filter(|tag| !tag.void);
                }
                out.push(MarkupToken::Open(tag, attributes));
            }
            (piece, None) => out.push(piece),
        }
    }
    out
}

/// Expands references; the `hidden` parts of the text before are put back where the text has their places.
fn expand(
    pieces: Vec<MarkupToken>,
    links: &LinkResolver<'_>,
    stored: bool,
    mut hidden: HiddenParts,
) -> Result<Vec<MarkupToken>, RichError> {
    let mut out = Vec::with_capacity(pieces.len());
    // Content is dropped until this tag is closed: its generated text is already written.
    let mut replaced: Option<&'static Tag> = None;
    // Text for the open link if it turns out to be empty; links do not nest.
    let mut shown = String::new();
    for piece in pieces {
        match (piece, replaced) {
            (MarkupToken::Close(tag), Some(of)) if tag == of => {
                replaced = None;
                out.push(MarkupToken::Close(tag));
            }
            (_, Some(_)) => {}
            (MarkupToken::Open(tag, mut attributes), None) => {
                if is_private_link(tag, &attributes) {
                    let href = get(&attributes, "href").map(str::trim);
                    if let Some(link) = hidden.take(href) {
                        out.extend(link.0);
                        replaced = Some(tag);
                        continue;
                    }
                }
                if tag.name == "a" {
                    hidden.complete(&mut attributes);
                }
                let content = match tag.name {
                    "a" => link(tag, &attributes, links, stored, &mut out)?,
                    "img" => image(tag, &attributes, links, stored, &mut out)?,
                    "object" => object(tag, &attributes, links, stored, &mut out)?,
                    "td" => cell(tag, attributes, &mut out)?,
                    _ => {
                        out.push(MarkupToken::Open(tag, attributes));
                        TagContent::Own
                    }
                };
                match content {
                    TagContent::Own => {}
                    TagContent::OwnOr(text) => shown = text,
                    TagContent::Replaced => replaced = Some(tag),
                }
            }
            (MarkupToken::Close(tag), None) => {
                if tag.name == "a" && matches!(out.last(), Some(MarkupToken::Open(..))) {
                    out.push(MarkupToken::Text(std::mem::take(&mut shown)));
                }
                out.push(MarkupToken::Close(tag));
            }
            (piece, None) => out.push(piece),
        }
    }
    Ok(out)
}

/// Content of a tag that was just written.
enum TagContent {
    /// The content from the client.
    Own,
    /// The content from the client, or this text if that is empty.
    OwnOr(String),
    /// A text that is already written.
    Replaced,
}

fn link(
    tag: &'static Tag,
    given: &Attributes,
    links: &LinkResolver<'_>,
    stored: bool,
    out: &mut Vec<MarkupToken>,
) -> Result<TagContent, RichError> {
    let href = match get(given, "href").map(str::trim) {
        Some(href) if is_address(href) => Some(href),
        Some(href) if get(given, "data-asana-gid").is_none() => {
            let right = "an absolute http, https or mailto address";
            return Err(RichError::Value(
                "href",
                href.chars().take(100).collect(),
                right,
            ));
        }
        _ => None,
    };
    let Some(gid) = gid(given, "data-asana-gid")? else {
        let href = href.ok_or(RichError::NoTarget("a"))?;
        let mut attributes = vec![("href", href.to_owned())];
        if get(given, "data-asana-accessible") == Some("false") {
            attributes.push(("data-asana-accessible", "false".to_owned()));
        }
        out.push(MarkupToken::Open(tag, attributes));
        return Ok(TagContent::OwnOr(href.to_owned()));
    };
    let Some(target) = links(gid) else {
        let mut attributes = Vec::new();
        match href {
            Some(href) => attributes.push(("href", href.to_owned())),
            None if stored => {}
            None => return Err(RichError::Unknown("a", gid)),
        }
        attributes.push(("data-asana-accessible", "false".to_owned()));
        out.push(MarkupToken::Open(tag, attributes));
        out.push(MarkupToken::Text(PRIVATE.to_owned()));
        return Ok(TagContent::Replaced);
    };
    let fixed = get(given, "data-asana-dynamic") == Some("false");
    let mut attributes = Vec::with_capacity(7);
    if is_address(&target.href) {
        attributes.push(("href", line(&target.href)));
    }
    attributes.push(("data-asana-accessible", "true".to_owned()));
    attributes.push(("data-asana-dynamic", (!fixed).to_string()));
    attributes.push(("data-asana-type", line(&target.kind)));
    attributes.push(("data-asana-gid", target.gid.to_string()));
    for name in ALONG {
        if let Some(gid) = self::gid(given, name)?.filter(|gid| !stored || links(*gid).is_some()) {
            attributes.push((name, gid.to_string()));
        }
    }
    out.push(MarkupToken::Open(tag, attributes));
    let name = name_of(&target);
    if fixed {
        return Ok(TagContent::OwnOr(name));
    }
    out.push(MarkupToken::Text(name));
    Ok(TagContent::Replaced)
}

fn image(
    tag: &'static Tag,
    given: &Attributes,
    links: &LinkResolver<'_>,
    stored: bool,
    out: &mut Vec<MarkupToken>,
) -> Result<TagContent, RichError> {
    let gid = gid(given, "data-asana-gid")?.ok_or(RichError::NoTarget("img"))?;
    let mut attributes = vec![("data-asana-gid", gid.to_string())];
    attributes.push(("data-asana-type", "attachment".to_owned()));
    match links(gid) {
        Some(target) if target.kind != "attachment" => return Err(RichError::NotAnAttachment(gid)),
        Some(target) => {
            attributes.push(("alt", line(&target.name)));
            if is_address(&target.href) {
                attributes.push(("src", line(&target.href)));
            }
        }
        None if stored || get(given, "data-asana-deleted") == Some("true") => {
            attributes.push(("data-asana-deleted", "true".to_owned()));
        }
        None => return Err(RichError::Unknown("img", gid)),
    }
    out.push(MarkupToken::Open(tag, attributes));
    Ok(TagContent::Own)
}

fn object(
    tag: &'static Tag,
    given: &Attributes,
    links: &LinkResolver<'_>,
    stored: bool,
    out: &mut Vec<MarkupToken>,
) -> Result<TagContent, RichError> {
    let kind = get(given, "type").unwrap_or_default();
    if !OBJECT_TYPES.contains(&kind) {
        let right = "application/vnd.asana.external_media, .project_milestones or .project_goals";
        return Err(RichError::Value(
            "type",
            kind.chars().take(100).collect(),
            right,
        ));
    }
    let gid = gid(given, "data-asana-gid")?.ok_or(RichError::NoTarget("object"))?;
    let mut attributes = vec![("type", kind.to_owned())];
    let content = match links(gid) {
        Some(target) => {
            attributes.push(("data-asana-type", line(&target.kind)));
            name_of(&target)
        }
        None if stored || get(given, "data-asana-accessible") == Some("false") => {
            attributes.push(("data-asana-accessible", "false".to_owned()));
            PRIVATE.to_owned()
        }
        None => return Err(RichError::Unknown("object", gid)),
    };
    attributes.push(("data-asana-gid", gid.to_string()));
    out.push(MarkupToken::Open(tag, attributes));
    out.push(MarkupToken::Text(content));
    Ok(TagContent::Replaced)
}

fn cell(
    tag: &'static Tag,
    attributes: Attributes,
    out: &mut Vec<MarkupToken>,
) -> Result<TagContent, RichError> {
    for (name, value) in &attributes {
        if !value
            .parse::<u8>()
            .is_ok_and(|n| n > 0 && n.to_string() == *value)
        {
            let value = value.chars().take(100).collect();
            return Err(RichError::Value(name, value, "a number from 1 to 255"));
        }
    }
    out.push(MarkupToken::Open(tag, attributes));
    Ok(TagContent::Own)
}

/// Reads an attribute that holds a gid.
fn gid(given: &Attributes, name: &'static str) -> Result<Option<u64>, RichError> {
    let Some(value) = get(given, name) else {
        return Ok(None);
    };
    let wrong = || RichError::Value(name, value.chars().take(100).collect(), "a recognized ID");
    parse_gid(value).map(Some).ok_or_else(wrong)
}

/// Returns the name of an object as the text of a link.
fn name_of(target: &LinkTarget) -> String {
    let name = line(&target.name);
    if target.kind == "user" {
        format!("@{name}")
    } else {
        name
    }
}

/// Returns a stored name on one line, without the characters that XML cannot contain.
fn line(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() || !is_allowed(c) {
                ' '
            } else {
                c
            }
        })
        .collect()
}
