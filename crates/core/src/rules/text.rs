//! The two views of one text: plain and rich.
use crate::check::{Given, Inputs};
use crate::draft::Draft;
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::View;
use crate::mentions;
use crate::registry::{Field, Resource};
use crate::rich;

/// The gids that the rich text of a body refers to, to be loaded before [`write()`].
#[must_use]
pub fn referenced(inputs: &Inputs, html: Field<str>) -> Vec<Gid> {
    match inputs.get(html.def.name) {
        Some(Given::Html(text)) => rich::links(text).into_iter().filter_map(Gid::new).collect(),
        _ => Vec::new(),
    }
}

/// Writes a text given as plain or rich into both fields.
///
/// # Errors
/// When both are given, or the rich text is not what the contract allows.
pub fn write(
    draft: &mut Draft,
    inputs: &Inputs,
    plain: Field<str>,
    html: Field<str>,
    of: &Resource,
    view: &View,
    base_url: &str,
) -> Result<(), Fault> {
    match (inputs.get(plain.def.name), inputs.get(html.def.name)) {
        (Some(_), Some(_)) => Err(Fault::invalid(format!(
            "You may only provide one of {} or {}!",
            plain.def.name, html.def.name
        ))),
        (_, Some(Given::Html(text))) => {
            let target = |gid: u64| mentions::target(view, base_url, gid);
            let rich = rich::normalize(text, of.flavor, &target)
                .map_err(|e| Fault::field(html.def.name, e))?;
            // Who reads it gets the names of what they may see.
            let unnamed = rich::without_names(&rich.html);
            let rich = unnamed
                .map_err(|e| Fault::field(html.def.name, e))?
                .unwrap_or(rich);
            draft.set(plain, rich.text.as_str());
            draft.set(html, rich.html.as_str());
            Ok(())
        }
        (_, Some(_)) => {
            draft.set(plain, "");
            draft.set(html, "<body></body>");
            Ok(())
        }
        (Some(_), None) => {
            let text = draft
                .get(plain)
                .map(std::borrow::Cow::into_owned)
                .unwrap_or_default();
            draft.set(html, rich::from_text(&text).as_str());
            Ok(())
        }
        (None, None) => Ok(()),
    }
}
