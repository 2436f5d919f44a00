//! Texts that name other objects: descriptions, comments, and the sentences of system stories.
//!
//! What is stored has gids and no names. The names are filled in when a text is read, of what its reader
//! may see; texts that earlier versions stored with names are read in the same way.
mod recipe;
mod sentence;

use crate::gid::Gid;
use crate::graph::View;
use crate::node::{Node, decode, write_string};
use crate::plan::Plan;
use crate::project::Scene;
use crate::registry::{Field, Mentions, Shape, Source};
use crate::resources::{resource, story};
use crate::rich::{self, LinkTarget, Rich};
use std::borrow::Cow;
use std::cell::Cell;

/// The objects that the texts of a record name.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// What system stories are about: users are seen by whoever sees the story.
    pub(crate) about: Vec<Gid>,
    /// What authors have linked to.
    pub(crate) linked: Vec<Gid>,
    /// What reading the texts has taken, in steps of the work.
    pub(crate) steps: usize,
}

/// A text that was written for its reader.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    /// How many objects it names.
    pub(crate) named: u32,
    /// What that has taken, in steps of the work.
    pub(crate) steps: usize,
}

/// How many objects the texts of a recipe link to at most; more are out of sight for everybody.
const RECIPE_LINKS_MAX: usize = 1_000;

/// The bytes of rich text that are read in about the time of one step.
const STEP: usize = 128;

/// The objects named by the texts of a record that was read whole.
pub(crate) fn named(node: &Node, plan: &Plan) -> Named {
    let mut named = Named::default();
    // Most texts link to nothing.
    let any = rich::has_links(&node.body);
    let mut keys: Vec<&str> = Vec::new();
    for step in &plan.steps {
        let key = match step.def.mentions {
            Mentions::Nothing => continue,
            Mentions::Story(_) if !story::is_comment(node) => {
                named.about = sentence::about(node);
                continue;
            }
            Mentions::Recipe(key) => {
                let recipe = node.raw(key).filter(|raw| rich::has_links(raw));
                for html in recipe.into_iter().flat_map(recipe::texts) {
                    named.steps += html.len() / STEP;
                    named
                        .linked
                        .extend(rich::links(&html).into_iter().filter_map(Gid::new));
                }
                named.linked.truncate(RECIPE_LINKS_MAX);
                continue;
            }
            Mentions::Links(key) | Mentions::Story(key) => key,
        };
        if any && !keys.contains(&key) {
            keys.push(key);
            let html = linked(node, key);
            named.steps += html.as_ref().map_or(0, |html| html.len() / STEP);
            let gids = html.iter().flat_map(|html| rich::links(html));
            named.linked.extend(gids.filter_map(Gid::new));
        }
    }
    named
}

/// The rich text that is stored under a key, if it may link to objects.
fn linked<'n>(node: &'n Node, key: &str) -> Option<Cow<'n, str>> {
    // One look at the whole body is less than finding the text in it.
    let any = rich::has_links(&node.body);
    let raw = any.then(|| node.raw(key)).flatten();
    raw.filter(|raw| rich::has_links(raw)).map(decode)
}

/// Writes a text for the viewer, as a JSON string. None, with nothing written, if all readers get what is
/// stored.
pub(crate) fn write(
    (mentions, shape): (Mentions, Shape),
    node: &Node,
    scene: &Scene<'_>,
    out: &mut Vec<u8>,
) -> Option<Written> {
    let key = match mentions {
        Mentions::Nothing => return None,
        Mentions::Story(_) if !story::is_comment(node) => {
            write_string(out, &sentence::of(node, scene.view));
            return Some(Written::default());
        }
        Mentions::Recipe(key) => {
            let recipe = node.raw(key).filter(|raw| rich::has_links(raw))?;
            let mut written = Written::default();
            let shown = recipe::with_texts(recipe, &mut |html| read(html, scene, &mut written));
            out.extend_from_slice(shown.as_bytes());
            return Some(written);
        }
        Mentions::Links(key) | Mentions::Story(key) => key,
    };
    let html = linked(node, key)?;
    let mut written = Written::default();
    let rich = read(&html, scene, &mut written)?;
    let is_html = matches!(shape, Shape::Html);
    write_string(out, if is_html { &rich.html } else { &rich.text });
    Some(written)
}

/// A rich text for the viewer; none if all readers get what is stored.
fn read(html: &str, scene: &Scene<'_>, written: &mut Written) -> Option<Rich> {
    let count = Cell::new(0);
    let target = |gid| {
        count.set(count.get() + 1);
        target(scene.view, scene.base_url, gid)
    };
    let rich = match rich::reader_view(html, &target) {
        Ok(view) => view?,
        // A text that cannot be read might name anything.
        Err(_) => Rich {
            html: "<body></body>".to_owned(),
            text: String::new(),
        },
    };
    written.named += count.get();
    written.steps += html.len() / STEP;
    Some(rich)
}

/// What a link to an object shows the viewer; none if they may not see it.
pub(crate) fn target(view: &View, base_url: &str, gid: u64) -> Option<LinkTarget> {
    let node = view.visible(Gid::new(gid)?)?;
    let of = resource(node.ty);
    Some(LinkTarget {
        gid: node.gid.get(),
        kind: of.name.to_owned(),
        name: node.title(),
        href: format!("{base_url}/{}/{}", of.path, node.gid),
    })
}

/// A plain text of a node without names of other objects, from the rich text it is a view of.
pub(crate) fn unnamed(node: &Node, plain: Field<str>, html: Field<str>) -> Cow<'_, str> {
    let stored = || node.get(plain).unwrap_or_default();
    let Source::Stored(key) = html.def.source else {
        return stored();
    };
    match linked(node, key).map(|html| rich::without_names(&html)) {
        Some(Ok(Some(rich))) => Cow::Owned(rich.text),
        Some(Err(_)) => Cow::Borrowed(""),
        Some(Ok(None)) | None => stored(),
    }
}
