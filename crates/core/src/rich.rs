//! Rich text: the XML-valid HTML of `html_notes`, `html_text` and `html_description`.
//!
//! What a client sends is read by a strict XML reader that knows a short list of tags
//! ([`normalize`]). References to other objects are written out, and the result must pass
//! an independent HTML sanitiser unchanged. What is read is always a fixed point: it can be sent
//! back. Names of linked objects are not stored ([`without_names`]); each reader gets those of what
//! they may see ([`reader_view`]).
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::LazyLock;

mod error;
mod expand;
mod parse;
#[cfg(test)]
mod properties;
mod tags;
#[cfg(test)]
mod tests;
mod write;

pub use error::RichError;

/// The most bytes a rich text takes, as sent and as stored.
pub const MAX_BYTES: usize = 64 * 1024;
/// How many objects a rich text links to at most; more are out of sight for everybody.
pub const LINKS_MAX: usize = 100;
/// How deep tags nest at most, `<body>` included.
pub const MAX_DEPTH: usize = 32;

/// Where a rich text stands; decides which tags it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// The description of a task.
    Task,
    /// A comment (story) or a status update.
    Comment,
    /// A project brief.
    Brief,
    /// The description of a project, goal or team.
    Description,
}

/// The object a reference leads to, as the current user may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTarget {
    /// Its gid: that of the reference, unless something has taken the place of what that named.
    pub gid: u64,
    /// Its type: `user`, `task`, `project`, `attachment`, …
    pub kind: String,
    /// Its name, without the `@` that users get.
    pub name: String,
    /// Its absolute http(s) address.
    pub href: String,
}

/// Looks up a gid; none if there is no such object or the current user may not see it.
pub type Links<'a> = dyn Fn(u64) -> Option<LinkTarget> + 'a;

/// A rich text in its stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rich {
    /// XML-valid HTML with the single root `<body>`.
    pub html: String,
    /// The plain text view: no tags, entities decoded, blocks and list items on lines of
    /// their own.
    pub text: String,
}

/// Checks a rich text a client sent and brings it into the stored form.
///
/// # Errors
/// When it breaks a rule; the error says which, and what would be right.
pub fn normalize(html: &str, flavor: Flavor, links: &Links<'_>) -> Result<Rich, RichError> {
    if html.len() > MAX_BYTES {
        return Err(RichError::TooLong);
    }
    let pieces = expand::written(parse::parse(html, flavor)?, links)?;
    let rich = write::rich(&pieces);
    if rich.html.len() > MAX_BYTES {
        return Err(RichError::TooLong);
    }
    // Our HTML must mean the same to a browser as to us: a difference is a hole.
    if tags::sanitise(&write::as_html(&pieces, true)) != write::as_html(&pieces, false) {
        return Err(RichError::Sanitiser);
    }
    Ok(rich)
}

/// A stored rich text as the current user sees it: names and addresses of linked objects
/// as they are now, objects out of sight as a private link. `None` if nothing is linked,
/// so the stored form is what everybody sees.
///
/// # Errors
/// When the text is not in the stored form.
pub fn reader_view(html: &str, links: &Links<'_>) -> Result<Option<Rich>, RichError> {
    if !has_links(html) {
        return Ok(None);
    }
    let pieces = expand::read(parse::parse(html, Flavor::Brief)?, links)?;
    Ok(Some(write::rich(&pieces)))
}

/// A rich text without the names that its links show, as it is stored and searched: where a link
/// stands, the plain text has nothing. `None` if nothing is linked.
///
/// # Errors
/// When the text is not a rich text.
pub fn without_names(html: &str) -> Result<Option<Rich>, RichError> {
    if !has_links(html) {
        return Ok(None);
    }
    let pieces = expand::unnamed(parse::parse(html, Flavor::Brief)?);
    let mut rich = write::rich(&pieces);
    rich.text = write::rich(&expand::own_words(pieces)).text;
    Ok(Some(rich))
}

/// Whether a text, or JSON that holds one, may link to objects. False is certain.
#[must_use]
pub fn has_links(text: &str) -> bool {
    static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("data-asana-gid"));
    MARK.find(text.as_bytes()).is_some()
}

/// The gids a rich text refers to, each once, in order of appearance and [`LINKS_MAX`] at most; none if
/// it is not a valid rich text.
#[must_use]
pub fn links(html: &str) -> Vec<u64> {
    if html.len() > MAX_BYTES || !has_links(html) {
        return Vec::new();
    }
    let pieces = parse::parse(html, Flavor::Brief).unwrap_or_default();
    let mut gids = Vec::new();
    for gid in pieces.iter().flat_map(parse::Piece::gids) {
        if gids.len() < LINKS_MAX && !gids.contains(&gid) {
            gids.push(gid);
        }
    }
    gids
}

/// The rich text of a plain text.
#[must_use]
pub fn from_text(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 13);
    html.push_str("<body>");
    let lines = newlines(text);
    if lines.chars().all(is_allowed) {
        write::escape(&lines, &mut html);
    } else {
        let legal = |c| {
            if is_allowed(c) {
                c
            } else {
                char::REPLACEMENT_CHARACTER
            }
        };
        write::escape(&lines.chars().map(legal).collect::<String>(), &mut html);
    }
    html.push_str("</body>");
    html
}

/// A plain text field as it is stored: line ends as `\n`; control characters refused.
///
/// # Errors
/// When there is a character that XML cannot carry, or DEL.
pub fn clean_text(text: &str) -> Result<Cow<'_, str>, RichError> {
    match text.chars().find(|&c| !is_allowed(c) && c != '\r') {
        Some(c) => Err(RichError::Character(c)),
        None => Ok(newlines(text)),
    }
}

/// Whether plain and rich text may have this character: what XML can carry, without DEL.
fn is_allowed(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}')
}

/// CR LF and CR as LF.
fn newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}
