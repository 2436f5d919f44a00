//! The writer of HTML for pages, which have a heading above the text and a policy that loads no resources.
use crate::parse::{Attributes, MarkupToken, get};
use crate::serialize::{escape, escape_attribute};

/// Returns the HTML of a text.
pub(crate) fn write(pieces: &[MarkupToken]) -> String {
    let mut out = String::with_capacity(256);
    for piece in pieces {
        match piece {
            MarkupToken::Text(text) => escape(text, &mut out),
            MarkupToken::Open(tag, attributes) => open(tag.name, attributes, &mut out),
            MarkupToken::Close(tag) => match element(tag.name) {
                Some(name) if !tag.void => out.extend(["</", name, ">"]),
                _ => {}
            },
        }
    }
    out
}

/// Returns the HTML element of a tag; none if only the tag's content is written.
fn element(tag: &'static str) -> Option<&'static str> {
    match tag {
        "h1" => Some("h3"),
        "h2" => Some("h4"),
        "object" | "img" => None,
        name => Some(name),
    }
}

fn open(tag: &'static str, attributes: &Attributes, out: &mut String) {
    if tag == "img" {
        let words = get(attributes, "alt").filter(|alt| !alt.is_empty());
        link(get(attributes, "src"), out);
        escape(words.unwrap_or("Image"), out);
        out.push_str("</a>");
        return;
    }
    match element(tag) {
        Some("a") => link(get(attributes, "href"), out),
        Some(name) => {
            out.extend(["<", name]);
            for span in ["colspan", "rowspan"] {
                let cells = get(attributes, span).and_then(|n| n.parse::<u16>().ok());
                if let Some(cells) = cells {
                    out.push_str(&format!(" {span}=\"{cells}\""));
                }
            }
            out.push('>');
        }
        None => {}
    }
}

/// Opens a link; it has no address if the scheme is not allowed.
fn link(address: Option<&str>, out: &mut String) {
    let is_safe = |address: &&str| {
        let scheme = address.split_once(':').map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| {
            ["http", "https", "mailto"]
                .iter()
                .any(|known| scheme.eq_ignore_ascii_case(known))
        })
    };
    out.push_str("<a");
    if let Some(address) = address.filter(is_safe) {
        out.push_str(" rel=\"nofollow noopener noreferrer\" href=\"");
        escape_attribute(address, out);
        out.push('"');
    }
    out.push('>');
}

#[cfg(test)]
mod tests {
    use crate::page_html;

    #[test]
    fn a_page_gets_known_elements_and_no_attribute_but_safe_addresses() {
        for (stored, shown) in [
            (
                "<body>a &lt;b&gt; <strong>c</strong></body>",
                "a &lt;b&gt; <strong>c</strong>",
            ),
            (
                "<body><h1>One</h1><h2>Two</h2><hr/></body>",
                "<h3>One</h3><h4>Two</h4><hr>",
            ),
            (
                "<body><a href=\"https://x.example/?a=1&amp;b=2\" data-asana-gid=\"7\">x</a></body>",
                "<a rel=\"nofollow noopener noreferrer\" href=\"https://x.example/?a=1&amp;b=2\">x</a>",
            ),
            (
                "<body><img data-asana-gid=\"7\" alt=\"a&lt;b\" src=\"https://x.example/i\"/></body>",
                "<a rel=\"nofollow noopener noreferrer\" href=\"https://x.example/i\">a&lt;b</a>",
            ),
        ] {
            assert_eq!(page_html(stored).as_deref(), Ok(shown), "{stored}");
        }
        for hostile in [
            "<body><script>alert(1)</script></body>",
            "<body><img src=\"x\" onerror=\"alert(1)\"></body>",
            "<body><a href=\"javascript:alert(1)\">x</a></body>",
        ] {
            let shown = page_html(hostile).unwrap_or_default().to_lowercase();
            for sign in ["<script", "onerror", "javascript:"] {
                assert!(!shown.contains(sign), "{hostile}: {shown}");
            }
        }
    }
}
