//! The rich texts of a node in their stored form: with the gids of other objects, but without names.
use crate::model::node::{Node, decode_json_string};
use crate::model::registry::{FieldSource, TypedField};
use std::borrow::Cow;
use workgraph_richtext as rich_text;

/// Returns the rich text that is stored under a key, if it may link to objects.
pub(crate) fn linked<'n>(node: &'n Node, key: &str) -> Option<Cow<'n, str>> {
    // One search of the whole body is cheaper than finding the text in it.
    let any = rich_text::has_links(&node.body);
    let raw = any.then(|| node.raw(key)).flatten();
    raw.filter(|raw| rich_text::has_links(raw))
        .map(decode_json_string)
}

/// Returns a plain text of a node without names of other objects, from the rich text that it shows.
pub(crate) fn without_mentions(
    node: &Node,
    plain: TypedField<str>,
    html: TypedField<str>,
) -> Cow<'_, str> {
    let stored = || node.get(plain).unwrap_or_default();
    let FieldSource::Stored(key) = html.def.source else {
        return stored();
    };
    match linked(node, key).map(|html| rich_text::without_names(&html)) {
        Some(Ok(Some(rich))) => Cow::Owned(rich.text),
        Some(Err(_)) => Cow::Borrowed(""),
        Some(Ok(None)) | None => stored(),
    }
}
