//! The writers: XML for storage, HTML for the sanitiser, plain text.
use crate::allowed_tags::Tag;
use crate::parse::{MarkupToken, get};
use crate::rich_text::RichText;

/// Returns the XML and the plain text of a rich text.
pub(crate) fn rich(pieces: &[MarkupToken]) -> RichText {
    RichText {
        html: markup(pieces, MarkupSyntax::Xml, true),
        text: text(pieces),
    }
}

/// Returns the HTML as a browser would write it, with `<body>` around it if asked.
pub(crate) fn as_html(pieces: &[MarkupToken], body: bool) -> String {
    markup(pieces, MarkupSyntax::Html, body)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkupSyntax {
    Xml,
    Html,
}

fn markup(pieces: &[MarkupToken], form: MarkupSyntax, body: bool) -> String {
    let mut out = String::with_capacity(256);
    if body {
        out.push_str("<body>");
    }
    for piece in pieces {
        match piece {
            MarkupToken::Text(text) => escaped(text, form, &mut out),
            MarkupToken::Close(tag) => {
                out.push_str("</");
                out.push_str(tag.name);
                out.push('>');
            }
            MarkupToken::Open(tag, attributes) => {
                out.push('<');
                out.push_str(tag.name);
                for (name, value) in attributes {
                    out.push(' ');
                    out.push_str(name);
                    out.push_str("=\"");
                    escaped_attribute(value, form, &mut out);
                    out.push('"');
                }
                out.push_str(if tag.void && form == MarkupSyntax::Xml {
                    "/>"
                } else {
                    ">"
                });
            }
        }
    }
    if body {
        out.push_str("</body>");
    }
    out
}

/// Appends text in the form that it has between tags in XML.
pub(crate) fn escape(text: &str, out: &mut String) {
    escaped(text, MarkupSyntax::Xml, out);
}

/// Appends the value of an attribute, without its quotes.
pub(crate) fn escape_attribute(value: &str, out: &mut String) {
    escaped_attribute(value, MarkupSyntax::Xml, out);
}

fn escaped(text: &str, form: MarkupSyntax, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\u{a0}' if form == MarkupSyntax::Html => out.push_str("&nbsp;"),
            c => out.push(c),
        }
    }
}

fn escaped_attribute(value: &str, form: MarkupSyntax, out: &mut String) {
    for (i, part) in value.split('"').enumerate() {
        if i > 0 {
            out.push_str("&quot;");
        }
        escaped(part, form, out);
    }
}

/// Returns the plain text: inline tags vanish, blocks get their own lines, list items get a bullet or number, cells of a row
/// are separated by tabs.
fn text(pieces: &[MarkupToken]) -> String {
    let mut plain = PlainTextWriter {
        out: String::new(),
        pending: false,
    };
    let mut open: Vec<(&'static Tag, usize)> = Vec::new(); // a list counts its items
    for piece in pieces {
        let parent = open.last().map_or("body", |(tag, _)| tag.name);
        match piece {
            MarkupToken::Text(text) => {
                let layout = matches!(parent, "ol" | "ul" | "table" | "tr");
                if !(layout && text.trim().is_empty()) {
                    plain.text(text);
                }
            }
            MarkupToken::Close(tag) => {
                open.pop();
                plain.pending |= tag.block && tag.name != "td";
            }
            MarkupToken::Open(tag, attributes) => {
                match tag.name {
                    "li" => {
                        let nth = open.last_mut().map_or(1, |(_, items)| {
                            *items += 1;
                            *items
                        });
                        let lists = open
                            .iter()
                            .filter(|(tag, _)| matches!(tag.name, "ol" | "ul"));
                        plain.item(lists.count(), (parent == "ol").then_some(nth));
                    }
                    "td" => plain.cell(open.last_mut().map(|(_, cells)| {
                        *cells += 1;
                        *cells
                    })),
                    "hr" => plain.alone("---"),
                    "img" => plain.alone(get(attributes, "alt").unwrap_or_default()),
                    _ => plain.pending |= tag.block,
                }
                if !tag.void {
                    open.push((tag, 0));
                }
            }
        }
    }
    plain.out
}

struct PlainTextWriter {
    out: String,
    /// True if the next text belongs on a new line.
    pending: bool,
}

impl PlainTextWriter {
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !text.starts_with('\n') {
            self.line();
        }
        self.pending = false;
        self.out.push_str(text);
    }

    fn line(&mut self) {
        if self.pending && !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.pending = false;
    }

    fn alone(&mut self, text: &str) {
        self.pending = true;
        self.text(text);
        self.pending = true;
    }

    fn item(&mut self, depth: usize, nth: Option<usize>) {
        self.pending = true;
        self.line();
        self.out.push_str(&"  ".repeat(depth.saturating_sub(1)));
        match nth {
            Some(nth) => {
                self.out.push_str(&nth.to_string());
                self.out.push_str(". ");
            }
            None => self.out.push_str("- "),
        }
    }

    fn cell(&mut self, nth: Option<usize>) {
        if nth == Some(1) {
            self.line();
        } else {
            self.pending = false;
            self.out.push('\t');
        }
    }
}
