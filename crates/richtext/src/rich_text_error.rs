//! Errors of rich texts: the reason for the refusal, and a form that would be valid.
use std::fmt;

use crate::allowed_tags;
use crate::allowed_tags::Tag;
use crate::rich_text::{MAX_BYTES, MAX_DEPTH, RichTextProfile};

/// Reason why a rich or plain text was refused. The text is a complete message except for the name of the field, which the caller
/// puts before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RichError {
    /// More than [`MAX_BYTES`], as sent or with its references expanded.
    TooLong,
    /// Tags nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// A control character, or another character that XML cannot contain.
    Character(char),
    /// Not well-formed XML: the byte offset and what is wrong there.
    Xml(u64, String),
    /// Not exactly one `<body>` around everything.
    Root,
    /// Markup other than elements and text (comment, CDATA, DOCTYPE, …).
    Markup(&'static str),
    /// An entity that HTML does not name.
    Entity(String),
    /// A tag that is not known.
    Tag(String, RichTextProfile),
    /// A tag in a place where it has no meaning, and the rule.
    Misplaced(&'static str, &'static str),
    /// An attribute that the tag does not take: tag, attribute, and the attributes that it takes.
    Attribute(&'static str, String, &'static [&'static str]),
    /// An attribute with an unusable value: attribute, value, valid values.
    Value(&'static str, String, &'static str),
    /// A link with neither an object nor an address, an image or object without a gid.
    NoTarget(&'static str),
    /// A reference without its own text to an object that is unknown or that the user may not see.
    Unknown(&'static str, u64),
    /// An image that refers to something other than an attachment.
    NotAnAttachment(u64),
    /// The sanitiser would have changed the result.
    ChangedBySanitizer,
}

impl fmt::Display for RichError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(
                f,
                "Too long: rich text may take up to {MAX_BYTES} bytes, with its links written out"
            ),
            Self::TooDeep => write!(f, "Tags may be nested up to {MAX_DEPTH} deep"),
            Self::Character(c) => write!(
                f,
                "Contains the character U+{:04X}; control characters other than tab and newline are not allowed",
                u32::from(*c)
            ),
            Self::Xml(at, problem) => write!(f, "XML is invalid at byte {at}: {problem}"),
            Self::Root => {
                f.write_str("Must be wrapped in exactly one <body>, like <body>Text</body>")
            }
            Self::Markup(what) => write!(f, "Only tags and text are allowed, not {what}"),
            Self::Entity(name) => write!(
                f,
                "Entity &{name}; is not defined; use one that HTML names like &nbsp;, a numeric reference like &#160;, or the character itself"
            ),
            Self::Tag(name, flavor) => tag(f, name, *flavor),
            Self::Misplaced(tag, rule) => write!(f, "Tag <{tag}> is misplaced: {rule}"),
            Self::Attribute(tag, name, []) => {
                write!(
                    f,
                    "Attribute {name} is not supported on <{tag}>, which takes none"
                )
            }
            Self::Attribute(tag, name, right) => write!(
                f,
                "Attribute {name} is not supported on <{tag}>, which takes {}",
                right.join(", ")
            ),
            Self::Value(name, value, right) => {
                write!(f, "Attribute {name} must be {right}, not: {value}")
            }
            Self::NoTarget("a") => f.write_str("Tag <a> needs a data-asana-gid or a href"),
            Self::NoTarget(tag) => write!(f, "Tag <{tag}> needs a data-asana-gid"),
            Self::Unknown("a", gid) => write!(
                f,
                "Unknown object: {gid} in <a>; a link to an object you cannot see needs a href"
            ),
            Self::Unknown(tag, gid) => write!(f, "Unknown object: {gid} in <{tag}>"),
            Self::NotAnAttachment(gid) => {
                write!(
                    f,
                    "Tag <img> must refer to an attachment, which {gid} is not"
                )
            }
            Self::ChangedBySanitizer => {
                f.write_str("Contains markup that is not safe to show as HTML")
            }
        }
    }
}

impl std::error::Error for RichError {}

/// Writes the problem with a tag: its use in this profile, or that it is unknown.
fn tag(f: &mut fmt::Formatter<'_>, name: &str, flavor: RichTextProfile) -> fmt::Result {
    write!(f, "Tag <{name}> is not supported here; supported are body")?;
    for Tag { name, .. } in allowed_tags::of(flavor) {
        write!(f, ", {name}")?;
    }
    if matches!(name, "br" | "p" | "div") {
        f.write_str("; write line breaks as newline characters")?;
    }
    Ok(())
}
