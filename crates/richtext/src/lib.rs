//! Strict rich text: XML in, sanitised HTML and plain text out.
#![doc = include_str!("../README.md")]
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::LazyLock;

mod allowed_tags;
mod characters;
mod link_expansion;
mod page_markup;
mod parse;
#[cfg(test)]
mod property_tests;
mod rich_text;
mod rich_text_error;
mod serialize;
#[cfg(test)]
mod tests;

pub use rich_text::{
    LINKS_MAX, LinkResolver, LinkTarget, MAX_BYTES, MAX_DEPTH, RichText, RichTextProfile,
};
pub use rich_text_error::RichError;

use characters::{is_allowed, newlines, without_page_marks};

/// Checks a rich text from a client and brings it into the stored form.
///
/// # Errors
/// Returns an error if the text breaks a rule; the error names the rule and a form that would be right.
pub fn normalize(
    html: &str,
    flavor: RichTextProfile,
    links: &LinkResolver<'_>,
) -> Result<RichText, RichError> {
    normalize_edit(html, flavor, links, "")
}

/// Checks a rich text that replaces another one, as [`normalize`] does. A client that writes back what it read removes none
/// of the links that it got as private links. `before` is the other text in its stored form; it may be empty.
///
/// # Errors
/// Returns an error if the text breaks a rule; the error names the rule and a form that would be right.
pub fn normalize_edit(
    html: &str,
    flavor: RichTextProfile,
    links: &LinkResolver<'_>,
    before: &str,
) -> Result<RichText, RichError> {
    if html.len() > MAX_BYTES {
        return Err(RichError::TooLong);
    }
    let html = without_page_marks(html);
    let before = if before.contains("<a ") {
        parse::parse(before, RichTextProfile::Brief).unwrap_or_default()
    } else {
        Vec::new()
    };
    let pieces = link_expansion::written(parse::parse(&html, flavor)?, links, before)?;
    let rich = serialize::rich(&pieces);
    if rich.html.len() > MAX_BYTES {
        return Err(RichError::TooLong);
    }
    // Our HTML must mean the same to a browser as to us: any difference is a security hole.
    if allowed_tags::sanitise(&serialize::as_html(&pieces, true))
        != serialize::as_html(&pieces, false)
    {
        return Err(RichError::ChangedBySanitizer);
    }
    Ok(rich)
}

/// Returns a stored rich text as the current user sees it: with the current names and addresses of linked objects, and with a
/// private link for objects that the user may not see. `None` if the text has no links, so all readers get the stored form.
///
/// # Errors
/// Returns an error if the text is not in the stored form.
pub fn reader_view(html: &str, links: &LinkResolver<'_>) -> Result<Option<RichText>, RichError> {
    if !has_links(html) {
        return Ok(None);
    }
    let pieces = link_expansion::read(parse::parse(html, RichTextProfile::Brief)?, links)?;
    Ok(Some(serialize::rich(&pieces)))
}

/// Returns a rich text without the names that its links show, as it is stored and searched; in the plain text, links leave
/// no trace. `None` if the text has no links.
///
/// # Errors
/// Returns an error if the text is not a rich text.
pub fn without_names(html: &str) -> Result<Option<RichText>, RichError> {
    if !has_links(html) {
        return Ok(None);
    }
    let pieces = link_expansion::unnamed(parse::parse(html, RichTextProfile::Brief)?);
    let mut rich = serialize::rich(&pieces);
    rich.text = serialize::rich(&link_expansion::own_words(pieces)).text;
    Ok(Some(rich))
}

/// Returns a stored rich text with other attachments as images: `replacement` maps the current gids to the new ones. `None` if no
/// image is replaced.
///
/// # Errors
/// Returns an error if the text is not in the stored form.
pub fn with_images(
    html: &str,
    replacement: &dyn Fn(u64) -> Option<u64>,
) -> Result<Option<String>, RichError> {
    if !has_links(html) {
        return Ok(None);
    }
    let mut pieces = parse::parse(html, RichTextProfile::Brief)?;
    let replaced = link_expansion::replace_images(&mut pieces, replacement);
    Ok(replaced.then(|| serialize::rich(&pieces).html))
}

/// Returns a rich text as HTML that a web page can contain: elements have no attributes except the addresses of links, which may
/// only be `http`, `https` and `mailto`; headings are two levels lower; images become links.
///
/// # Errors
/// Returns an error if the text is not in the stored form.
pub fn page_html(html: &str) -> Result<String, RichError> {
    Ok(page_markup::write(&parse::parse(
        html,
        RichTextProfile::Brief,
    )?))
}

/// Returns true if a text, or JSON that contains one, may link to objects. A result of false is certain.
#[must_use]
pub fn has_links(text: &str) -> bool {
    static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("data-asana-gid"));
    MARK.find(text.as_bytes()).is_some()
}

/// Returns the gids that a rich text refers to, each once, in order of appearance and [`LINKS_MAX`] at most; none if it
/// is not a valid rich text.
#[must_use]
pub fn links(html: &str) -> Vec<u64> {
    if html.len() > MAX_BYTES || !has_links(html) {
        return Vec::new();
    }
    let pieces = parse::parse(html, RichTextProfile::Brief).unwrap_or_default();
    let mut gids = Vec::new();
    for gid in pieces.iter().flat_map(parse::MarkupToken::gids) {
        if gids.len() < LINKS_MAX && !gids.contains(&gid) {
            gids.push(gid);
        }
    }
    gids
}

/// Returns the rich text of a plain text.
#[must_use]
pub fn from_text(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 13);
    html.push_str("<body>");
    let lines = newlines(text);
    if lines.chars().all(is_allowed) {
        serialize::escape(&lines, &mut html);
    } else {
        let legal = |c| {
            if is_allowed(c) {
                c
            } else {
                char::REPLACEMENT_CHARACTER
            }
        };
        serialize::escape(&lines.chars().map(legal).collect::<String>(), &mut html);
    }
    html.push_str("</body>");
    html
}

/// Returns a plain text field in its stored form: line ends become `\n`; vertical tabs and form feeds, which come from PDF files
/// and spreadsheets, are removed; other control characters are refused.
///
/// # Errors
/// Returns an error if there is a character that XML cannot contain, or DEL.
pub fn clean_text(text: &str) -> Result<Cow<'_, str>, RichError> {
    let text = without_page_marks(text);
    match text.chars().find(|&c| !is_allowed(c) && c != '\r') {
        Some(c) => Err(RichError::Character(c)),
        None => Ok(match text {
            Cow::Borrowed(text) => newlines(text),
            Cow::Owned(text) => Cow::Owned(newlines(&text).into_owned()),
        }),
    }
}
