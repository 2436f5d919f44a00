//! The writers: XML to store, HTML for the sanitiser, plain text.
use super::Rich;
use super::parse::{Piece, get};
use super::tags::Tag;

/// Both views of a text.
pub(super) fn rich(pieces: &[Piece]) -> Rich {
    Rich {
        html: markup(pieces, Form::Xml, true),
        text: text(pieces),
    }
}

/// As HTML the way a browser would write it, `<body>` around it if asked.
pub(super) fn as_html(pieces: &[Piece], body: bool) -> String {
    markup(pieces, Form::Html, body)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Xml,
    Html,
}

fn markup(pieces: &[Piece], form: Form, body: bool) -> String {
    let mut out = String::with_capacity(256);
    if body {
        out.push_str("<body>");
    }
    for piece in pieces {
        match piece {
            Piece::Text(text) => escaped(text, form, &mut out),
            Piece::Close(tag) => {
                out.push_str("</");
                out.push_str(tag.name);
                out.push('>');
            }
            Piece::Open(tag, attributes) => {
                out.push('<');
                out.push_str(tag.name);
                for (name, value) in attributes {
                    out.push(' ');
                    out.push_str(name);
                    out.push_str("=\"");
                    escaped_attribute(value, form, &mut out);
                    out.push('"');
                }
                out.push_str(if tag.void && form == Form::Xml {
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

/// Text as it stands between tags, in XML.
pub(super) fn escape(text: &str, out: &mut String) {
    escaped(text, Form::Xml, out);
}

fn escaped(text: &str, form: Form, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\u{a0}' if form == Form::Html => out.push_str("&nbsp;"),
            c => out.push(c),
        }
    }
}

fn escaped_attribute(value: &str, form: Form, out: &mut String) {
    for (i, part) in value.split('"').enumerate() {
        if i > 0 {
            out.push_str("&quot;");
        }
        escaped(part, form, out);
    }
}

/// The plain text: inline tags vanish, blocks stand on lines of their own, list items get
/// a bullet or number, cells of a row are parted by tabs.
fn text(pieces: &[Piece]) -> String {
    let mut plain = Plain {
        out: String::new(),
        pending: false,
    };
    let mut open: Vec<(&'static Tag, usize)> = Vec::new(); // a list counts its items
    for piece in pieces {
        let parent = open.last().map_or("body", |(tag, _)| tag.name);
        match piece {
            Piece::Text(text) => {
                let layout = matches!(parent, "ol" | "ul" | "table" | "tr");
                if !(layout && text.trim().is_empty()) {
                    plain.text(text);
                }
            }
            Piece::Close(tag) => {
                open.pop();
                plain.pending |= tag.block && tag.name != "td";
            }
            Piece::Open(tag, attributes) => {
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

struct Plain {
    out: String,
    /// What comes next belongs on a new line.
    pending: bool,
}

impl Plain {
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
