//! Rules that hold for every page, with any texts in it.
#![expect(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect must end there"
)]

mod gallery;
mod markup;
mod reference;

use gallery::{all, gallery};
use markup::{Tag, tags};
use workgraph_portal::pages::HtmlPage;

/// Texts that people have tried on pages: each must come out as text.
const HOSTILE: [&str; 16] = [
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "\" autofocus onfocus=\"alert(1)",
    "<svg/onload=alert(1)>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "javascript:alert(1)",
    "</textarea><script>alert(1)</script>",
    "<!--<script>",
    "]]><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "\u{202e}<form action=//evil.example>",
];

const BUDGET: usize = 60 << 10;

/// B22. Names and every other text of people are escaped: a page written with hostile texts has
/// the tags and attributes of the page written with harmless ones, and the texts come out whole.
#[test]
fn texts_stay_texts() {
    let shape = |page: &HtmlPage| {
        let parsed = tags(&page.html);
        let shape = |tag: &Tag| {
            (
                tag.name.clone(),
                tag.attributes
                    .iter()
                    .map(|a| a.0.clone())
                    .collect::<Vec<_>>(),
            )
        };
        parsed.iter().map(shape).collect::<Vec<_>>()
    };
    let plain = all("Planner");
    for text in HOSTILE {
        for ((name, safe), (_, page)) in plain.iter().zip(all(text)) {
            assert_eq!(shape(safe), shape(&page), "{name} with {text}");
            let escaped = maud::html! { (text) }.into_string();
            assert_eq!(
                safe.html.contains("Planner"),
                page.html.contains(&escaped),
                "{name} does not show {text}"
            );
        }
    }
}

/// The property above finds a page that does not escape.
#[test]
fn a_page_that_does_not_escape_is_found() {
    let flawed = |name: &str| format!("<h1 title=\"{name}\">{name}</h1>");
    let shape = |html: &str| {
        tags(html)
            .iter()
            .map(|t| (t.name.clone(), t.attributes.len()))
            .collect::<Vec<_>>()
    };
    for text in HOSTILE
        .iter()
        .filter(|t| t.contains("<s") || t.contains('"'))
    {
        assert_ne!(shape(&flawed("Planner")), shape(&flawed(text)), "{text}");
    }
}

#[test]
fn a_page_is_small() {
    for (name, page) in gallery() {
        assert!(
            page.html.len() < BUDGET,
            "{name} has {} bytes",
            page.html.len()
        );
    }
}

/// B21. No script, no frame, nothing inline but the one style sheet that the policy names.
#[test]
fn a_page_runs_and_loads_nothing() {
    for (name, page) in gallery() {
        for tag in tags(&page.html) {
            assert!(
                ![
                    "script", "iframe", "object", "embed", "img", "link", "base", "frame"
                ]
                .contains(&tag.name.as_str()),
                "{name} has <{}>",
                tag.name
            );
            for (attribute, value) in &tag.attributes {
                assert!(
                    !attribute.starts_with("on") && attribute != "style",
                    "{name}: {attribute}"
                );
                if attribute == "href" {
                    assert!(
                        value == "/"
                            || ["/-/", "/0/", "#"].iter().any(|own| value.starts_with(own)),
                        "{name} leads to {value}"
                    );
                }
            }
        }
        let headers = page.headers();
        let header = |wanted: &str| headers.iter().find(|h| h.0 == wanted).unwrap().1.clone();
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "style-src 'sha256-",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.contains(part), "{name}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"));
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
    }
}

#[test]
fn each_field_has_a_label_and_each_page_its_landmarks() {
    for (name, page) in gallery() {
        let tags = tags(&page.html);
        let with = |tag: &str| tags.iter().filter(|t| t.name == tag).collect::<Vec<_>>();
        let ids: Vec<&str> = tags.iter().filter_map(|t| t.get("id")).collect();
        let mut once = ids.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ids.len(), "{name} has an id twice");
        for field in ["input", "select", "textarea"].iter().flat_map(|t| with(t)) {
            if field.get("type") == Some("hidden") {
                continue;
            }
            let id = field
                .get("id")
                .unwrap_or_else(|| panic!("{name}: {field:?} has no id"));
            assert!(
                with("label").iter().any(|l| l.get("for") == Some(id)),
                "{name}: {id} has no label"
            );
        }
        for (attribute, tag) in ["for", "aria-describedby", "aria-labelledby"]
            .iter()
            .flat_map(|a| tags.iter().map(move |t| (*a, t)))
        {
            for id in tag.get(attribute).unwrap_or_default().split_whitespace() {
                assert!(ids.contains(&id), "{name}: {attribute} names {id}");
            }
        }
        for link in with("a")
            .iter()
            .filter_map(|a| a.get("href")?.strip_prefix('#'))
        {
            assert!(ids.contains(&link), "{name} links to #{link}");
        }
        assert_eq!(
            (with("h1").len(), with("main").len(), with("title").len()),
            (1, 1, 1),
            "{name}"
        );
        assert_eq!(
            with("html").first().and_then(|t| t.get("lang")),
            Some("en"),
            "{name}"
        );
        for form in with("form") {
            let searches = form.get("role") == Some("search");
            let method = if searches { "get" } else { "post" };
            assert_eq!(form.get("method"), Some(method), "{name}");
        }
    }
}

/// B24. The code is in the page, and not in its title, where a browser's history would keep it.
#[test]
fn the_code_is_not_in_the_title() {
    let (_, page) = gallery()
        .into_iter()
        .find(|(name, _)| *name == "code")
        .unwrap();
    let title = page
        .html
        .split("<title>")
        .nth(1)
        .unwrap()
        .split("</title>")
        .next()
        .unwrap();
    assert!(
        page.html.matches("wgc_").count() == 1 && !title.contains("wgc_"),
        "{title}"
    );
    assert!(!page.html.contains("<form"));
}

/// Writes each page to a file: `GALLERY=folder cargo test -p workgraph-portal gallery`.
#[test]
fn the_gallery_can_be_looked_at() {
    let Ok(folder) = std::env::var("GALLERY") else {
        return;
    };
    std::fs::create_dir_all(&folder).unwrap();
    for (name, page) in gallery() {
        std::fs::write(format!("{folder}/{name}.html"), page.html).unwrap();
    }
}
