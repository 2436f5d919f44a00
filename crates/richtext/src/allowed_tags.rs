//! The tags that rich text may use, and the sanitiser with the same list.
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, Url, UrlRelative};

use crate::rich_text::RichTextProfile;

/// A tag, with its rules of use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) name: &'static str,
    /// Profiles that may use it.
    tier: TagAvailability,
    /// True if it has no content (`<hr/>`).
    pub(crate) void: bool,
    /// True for a block, which has its own lines.
    pub(crate) block: bool,
    /// The attributes it may have.
    pub(crate) attributes: &'static [&'static str],
    /// True if other attributes are dropped, not refused: readers get generated attributes for these tags, and may send them
    /// back.
    pub(crate) drops_others: bool,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TagAvailability {
    All,
    TaskAndBrief,
    Brief,
}

const fn inline(name: &'static str) -> Tag {
    Tag {
        name,
        tier: TagAvailability::All,
        void: false,
        block: false,
        attributes: &[],
        drops_others: false,
    }
}

const fn block(name: &'static str, tier: TagAvailability) -> Tag {
    Tag {
        tier,
        block: true,
        ..inline(name)
    }
}

/// Every tag but `<body>`.
static TAGS: &[Tag] = &[
    inline("strong"),
    inline("em"),
    inline("u"),
    inline("s"),
    inline("code"),
    block("ol", TagAvailability::All),
    block("ul", TagAvailability::All),
    block("li", TagAvailability::All),
    Tag {
        attributes: &[
            "href",
            "data-asana-accessible",
            "data-asana-dynamic",
            "data-asana-type",
            "data-asana-gid",
            "data-asana-project",
            "data-asana-tag",
        ],
        drops_others: true,
        ..inline("a")
    },
    block("blockquote", TagAvailability::All),
    block("pre", TagAvailability::All),
    block("h1", TagAvailability::TaskAndBrief),
    block("h2", TagAvailability::TaskAndBrief),
    Tag {
        void: true,
        ..block("hr", TagAvailability::All)
    },
    Tag {
        void: true,
        attributes: &[
            "data-asana-gid",
            "data-asana-type",
            "data-asana-deleted",
            "alt",
            "src",
        ],
        drops_others: true,
        ..block("img", TagAvailability::TaskAndBrief)
    },
    block("table", TagAvailability::Brief),
    block("tr", TagAvailability::Brief),
    Tag {
        attributes: &["colspan", "rowspan"],
        ..block("td", TagAvailability::Brief)
    },
    Tag {
        attributes: &[
            "type",
            "data-asana-accessible",
            "data-asana-type",
            "data-asana-gid",
        ],
        drops_others: true,
        ..block("object", TagAvailability::Brief)
    },
];

/// The types an `<object>` may have.
pub(crate) static OBJECT_TYPES: &[&str] = &[
    "application/vnd.asana.external_media",
    "application/vnd.asana.project_goals",
    "application/vnd.asana.project_milestones",
];

const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

pub(crate) fn of(flavor: RichTextProfile) -> impl Iterator<Item = &'static Tag> {
    let tier = match flavor {
        RichTextProfile::Comment | RichTextProfile::Description => TagAvailability::All,
        RichTextProfile::Task => TagAvailability::TaskAndBrief,
        RichTextProfile::Brief => TagAvailability::Brief,
    };
    TAGS.iter().filter(move |tag| tag.tier <= tier)
}

/// Tags that are read as other ones.
const SYNONYMS: &[(&str, &str)] = &[("b", "strong"), ("i", "em")];

/// Returns a tag by its name or by a synonym.
pub(crate) fn find(name: &str, flavor: RichTextProfile) -> Option<&'static Tag> {
    let synonym = SYNONYMS.iter().find(|(synonym, _)| *synonym == name);
    let name = synonym.map_or(name, |(_, name)| *name);
    of(flavor).find(|tag| tag.name == name)
}

/// Returns the reason why a tag may not be inside these open ones (outermost first), or `None` if it may.
pub(crate) fn misplaced(tag: &Tag, open: &[&'static Tag]) -> Option<&'static str> {
    let parent = open.last().map_or("body", |tag| tag.name);
    let within = |names: &[&str]| open.iter().any(|tag| names.contains(&tag.name));
    match (tag.name, parent) {
        ("tr", "table") | ("td", "tr") | ("li", "ol" | "ul") => None,
        ("tr", _) => Some("it belongs directly into <table>"),
        ("td", _) => Some("it belongs directly into <tr>"),
        ("li", _) => Some("it belongs directly into <ol> or <ul>"),
        (_, "table") => Some("only <tr> belongs directly into <table>"),
        (_, "tr") => Some("only <td> belongs directly into <tr>"),
        ("a", _) if within(&["a"]) => Some("links cannot be nested"),
        ("object", _) if within(&["object"]) => Some("objects cannot be nested"),
        ("h1" | "h2", _) if within(&["h1", "h2"]) => Some("headings cannot be nested"),
        _ => None,
    }
}

/// Returns true if a link may lead to an address.
pub(crate) fn is_address(href: &str) -> bool {
    !href.chars().any(char::is_control)
        && Url::parse(href).is_ok_and(|url| SCHEMES.contains(&url.scheme()))
}

/// Returns a piece of HTML after sanitising.
pub(crate) fn sanitise(html: &str) -> String {
    static SANITISER: LazyLock<Builder<'static>> = LazyLock::new(|| {
        let attributes: HashMap<_, HashSet<_>> = TAGS
            .iter()
            .map(|tag| (tag.name, tag.attributes.iter().copied().collect()))
            .collect();
        let mut builder = Builder::empty();
        builder
            .tags(TAGS.iter().map(|tag| tag.name).collect())
            .tag_attributes(attributes)
            .generic_attributes(HashSet::new())
            .url_schemes(HashSet::from(SCHEMES))
            .url_relative(UrlRelative::Deny)
            .link_rel(None);
        builder
    });
    SANITISER.clean(html).to_string()
}
