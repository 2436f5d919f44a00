//! A reader of the tags in a document, plain enough to be trusted.

/// Start tag.
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
}

impl Tag {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|a| a.0 == name)
            .map(|a| a.1.as_str())
    }
}

/// Returns the start tags of a document, in order. Style sheets are passed over.
pub(crate) fn tags(html: &str) -> Vec<Tag> {
    let mut all = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let end = rest
            .find(|c: char| c.is_whitespace() || c == '>' || c == '/')
            .unwrap_or(rest.len());
        let mut tag = Tag {
            name: rest[..end].to_ascii_lowercase(),
            attributes: Vec::new(),
        };
        rest = &rest[end..];
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if rest.is_empty() || rest.starts_with('>') {
                break;
            }
            let end = rest
                .find(|c: char| c.is_whitespace() || "=>/".contains(c))
                .unwrap_or(rest.len());
            let name = rest[..end].to_ascii_lowercase();
            rest = rest[end..].trim_start();
            let mut value = String::new();
            if let Some(after) = rest.strip_prefix('=') {
                let after = after.trim_start();
                let quote = after.chars().next().filter(|c| "\"'".contains(*c));
                let (from, to) = match quote {
                    Some(quote) => (1, after[1..].find(quote).map_or(after.len(), |at| at + 1)),
                    None => (
                        0,
                        after
                            .find(|c: char| c.is_whitespace() || c == '>')
                            .unwrap_or(after.len()),
                    ),
                };
                value = after[from..to].to_owned();
                rest = &after[(to + from).min(after.len())..];
            }
            tag.attributes.push((name, value));
            if end == 0 && !rest.is_empty() {
                rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..];
            }
        }
        if tag.name == "style" {
            rest = rest.find("</style").map_or("", |at| &rest[at..]);
        }
        all.push(tag);
    }
    all
}
