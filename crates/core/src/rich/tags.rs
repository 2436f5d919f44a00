//! The tags rich text may use, and the sanitiser set up with the same list.
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ammonia::{Builder, Url, UrlRelative};

use super::Flavor;

/// A tag and what it may carry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) name: &'static str,
    /// The fewest rights a text needs to use it.
    tier: Tier,
    /// Has no content (`<hr/>`).
    pub(super) void: bool,
    /// Stands on lines of its own.
    pub(super) block: bool,
    /// The attributes it may have.
    pub(super) attributes: &'static [&'static str],
    /// Other attributes are dropped, not refused: what readers get for these tags is
    /// generated, and they may send it back.
    pub(super) drops_others: bool,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    All,
    TaskAndBrief,
    Brief,
}

const fn inline(name: &'static str) -> Tag {
    Tag {
        name,
        tier: Tier::All,
        void: false,
        block: false,
        attributes: &[],
        drops_others: false,
    }
}

const fn block(name: &'static str, tier: Tier) -> Tag {
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
    block("ol", Tier::All),
    block("ul", Tier::All),
    block("li", Tier::All),
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
    block("blockquote", Tier::All),
    block("pre", Tier::All),
    block("h1", Tier::TaskAndBrief),
    block("h2", Tier::TaskAndBrief),
    Tag {
        void: true,
        ..block("hr", Tier::TaskAndBrief)
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
        ..block("img", Tier::Brief)
    },
    block("table", Tier::Brief),
    block("tr", Tier::Brief),
    Tag {
        attributes: &["colspan", "rowspan"],
        ..block("td", Tier::Brief)
    },
    Tag {
        attributes: &[
            "type",
            "data-asana-accessible",
            "data-asana-type",
            "data-asana-gid",
        ],
        drops_others: true,
        ..block("object", Tier::Brief)
    },
];

/// The types an `<object>` may have.
pub(super) static OBJECT_TYPES: &[&str] = &[
    "application/vnd.asana.external_media",
    "application/vnd.asana.project_goals",
    "application/vnd.asana.project_milestones",
];

const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// The tags of a kind of text.
pub(super) fn of(flavor: Flavor) -> impl Iterator<Item = &'static Tag> {
    let tier = match flavor {
        Flavor::Comment | Flavor::Description => Tier::All,
        Flavor::Task => Tier::TaskAndBrief,
        Flavor::Brief => Tier::Brief,
    };
    TAGS.iter().filter(move |tag| tag.tier <= tier)
}

/// A tag by its name.
pub(super) fn find(name: &str, flavor: Flavor) -> Option<&'static Tag> {
    of(flavor).find(|tag| tag.name == name)
}

/// Why a tag may not stand inside these open ones (outermost first); none if it may.
pub(super) fn misplaced(tag: &Tag, open: &[&'static Tag]) -> Option<&'static str> {
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

/// Whether an address may be linked to.
pub(super) fn is_address(href: &str) -> bool {
    !href.chars().any(char::is_control)
        && Url::parse(href).is_ok_and(|url| SCHEMES.contains(&url.scheme()))
}

/// What the sanitiser leaves of a piece of HTML.
pub(super) fn sanitise(html: &str) -> String {
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
