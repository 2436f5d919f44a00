//! Texts that name other objects: descriptions, comments, and the sentences of system stories.
//!
//! Stored texts have gids and no names. The names are filled in when a text is read, for the objects that its reader may see.
//! Texts that earlier versions stored with names are treated in the same way.
mod recipe;
mod story_sentence;

use crate::model::gid::Gid;
use crate::model::node::{Node, write_json_string};
use crate::model::permalink;
use crate::model::registry::{MentionRule, ValueType};
use crate::model::resources::{attachment, resource, story};
use crate::model::rich_text_values::linked;
use crate::model::template_roles;
use crate::plan::Plan;
use crate::projection::projection_context::ProjectionContext;
use crate::storage::ReadView;
use std::cell::Cell;
use workgraph_richtext as rich_text;
use workgraph_richtext::{LinkTarget, RichText};

/// Objects that the texts of a record name.
#[derive(Debug, Default)]
pub(crate) struct MentionedNodes {
    /// Objects that system stories are about: all readers of the story see the users among them.
    pub(crate) about: Vec<Gid>,
    /// Objects that authors have linked to.
    pub(crate) linked: Vec<Gid>,
    /// Cost of reading the texts, in steps of the interrupt.
    pub(crate) steps: usize,
}

/// Text written for one reader.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RenderedText {
    /// Number of objects that it names.
    pub(crate) named: u32,
    /// Cost of writing it, in steps of the interrupt.
    pub(crate) steps: usize,
}

/// Maximum number of objects that the texts of a recipe link to; further objects are shown as private links to all readers.
const RECIPE_LINKS_MAX: usize = 1_000;

/// Number of bytes of rich text that are read in about the time of one step.
const STEP: usize = 128;

/// Returns the objects named by the texts of a record that was read whole.
pub(crate) fn mentioned_nodes(node: &Node, plan: &Plan) -> MentionedNodes {
    let mut named = MentionedNodes::default();
    // Most texts link to nothing.
    let any = rich_text::has_links(&node.body);
    let mut keys: Vec<&str> = Vec::new();
    for step in &plan.steps {
        let key = match step.def.mentions {
            MentionRule::Nothing => continue,
            MentionRule::Story(_) if !story::is_comment(node) => {
                named.about = story_sentence::about(node);
                continue;
            }
            MentionRule::Recipe(key) => {
                let recipe = node.raw(key).filter(|raw| rich_text::has_links(raw));
                for html in recipe.into_iter().flat_map(recipe::texts) {
                    named.steps += html.len() / STEP;
                    named
                        .linked
                        .extend(rich_text::links(&html).into_iter().filter_map(Gid::new));
                }
                named.linked.truncate(RECIPE_LINKS_MAX);
                continue;
            }
            MentionRule::Roles => {
                let roles = template_roles::roles_of(node);
                named.linked.extend(roles.iter().map(|role| role.user));
                continue;
            }
            MentionRule::Links(key) | MentionRule::Story(key) => key,
        };
        if any && !keys.contains(&key) {
            keys.push(key);
            let html = linked(node, key);
            named.steps += html.as_ref().map_or(0, |html| html.len() / STEP);
            let gids = html.iter().flat_map(|html| rich_text::links(html));
            named.linked.extend(gids.filter_map(Gid::new));
        }
    }
    named
}

/// Writes a text for the viewer, as a JSON string. Returns `None`, without writing, if all readers get the stored text.
pub(crate) fn write(
    (mentions, shape): (MentionRule, ValueType),
    node: &Node,
    scene: &ProjectionContext<'_>,
    out: &mut Vec<u8>,
) -> Option<RenderedText> {
    let key = match mentions {
        MentionRule::Nothing => return None,
        MentionRule::Story(_) if !story::is_comment(node) => {
            write_json_string(out, &story_sentence::of(node, scene.view));
            return Some(RenderedText::default());
        }
        MentionRule::Recipe(key) => {
            let recipe = node.raw(key).filter(|raw| rich_text::has_links(raw))?;
            let mut written = RenderedText::default();
            let shown = recipe::with_texts(recipe, &mut |html| read(html, scene, &mut written));
            out.extend_from_slice(shown.as_bytes());
            return Some(written);
        }
        MentionRule::Roles => {
            let roles = template_roles::roles_of(node);
            let is_seen = |user| scene.view.visible(user).is_some();
            let shown = template_roles::public_list(&roles, &is_seen);
            out.extend_from_slice(shown.as_bytes());
            return Some(RenderedText {
                named: 0,
                steps: roles.len(),
            });
        }
        MentionRule::Links(key) | MentionRule::Story(key) => key,
    };
    let html = linked(node, key)?;
    let mut written = RenderedText::default();
    let rich = read(&html, scene, &mut written)?;
    let is_html = matches!(shape, ValueType::Html);
    write_json_string(out, if is_html { &rich.html } else { &rich.text });
    Some(written)
}

/// Returns a rich text for the viewer, or `None` if all readers get the stored text.
fn read(html: &str, scene: &ProjectionContext<'_>, written: &mut RenderedText) -> Option<RichText> {
    let count = Cell::new(0);
    let target = |gid| {
        count.set(count.get() + 1);
        target(scene.view, scene.fields.base_url, gid)
    };
    let rich = match rich_text::reader_view(html, &target) {
        Ok(view) => view?,
        // A text that cannot be read might name any object.
        Err(_) => RichText {
            html: "<body></body>".to_owned(),
            text: String::new(),
        },
    };
    written.named += count.get();
    written.steps += html.len() / STEP;
    Some(rich)
}

/// Returns the link to an object that the viewer may see, or `None` if the viewer may not see it.
pub(crate) fn target(view: &ReadView, base_url: &str, gid: u64) -> Option<LinkTarget> {
    let node = view.visible(Gid::new(gid)?)?;
    let of = resource(node.ty);
    // A signed address would expire in texts that clients and caches keep.
    let href = attachment::permanent_address(node, base_url)
        .or_else(|| {
            let path = permalink::page_path(node.ty, node.gid, None)?;
            Some(format!("{}{path}", permalink::pages_url(base_url)))
        })
        .unwrap_or_else(|| format!("{base_url}/{}/{}", of.path, node.gid));
    Some(LinkTarget {
        gid: node.gid.get(),
        kind: of.name.to_owned(),
        name: node.title(),
        href,
    })
}
