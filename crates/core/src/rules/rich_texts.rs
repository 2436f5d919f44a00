//! Texts that a record has in two forms: plain and rich.
use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::registry::{Resource, TypedField};
use crate::model::validate::{CheckedInputs, InputValue};
use crate::projection::mentions;
use crate::storage::ReadView;
use workgraph_richtext as rich_text;

/// Returns the gids that the rich text of a body refers to, which must be loaded before [`write()`].
#[must_use]
pub fn referenced(inputs: &CheckedInputs, html: TypedField<str>) -> Vec<Gid> {
    match inputs.get(html.def.name) {
        Some(InputValue::Html(text)) => rich_text::links(text)
            .into_iter()
            .filter_map(Gid::new)
            .collect(),
        _ => Vec::new(),
    }
}

/// Makes the images of a rich text show other attachments: `replacement` maps the current gids to the new ones. Returns true
/// if an image was replaced.
///
/// # Errors
/// Fails if the text is not in its stored form.
pub fn replace_images(
    draft: &mut Draft,
    html: TypedField<str>,
    replacement: &dyn Fn(u64) -> Option<u64>,
) -> Result<bool, DomainError> {
    let text = draft.get(html).unwrap_or_default();
    let replaced = rich_text::with_images(&text, replacement)
        .map_err(|e| DomainError::field(html.def.name, e))?;
    let Some(replaced) = replaced else {
        return Ok(false);
    };
    draft.set(html, replaced.as_str());
    Ok(true)
}

/// Writes a text given as plain or rich into both fields. A client that writes back what it read removes none of the links
/// that it could not see.
///
/// # Errors
/// Fails if both are given, or if the contract does not allow the rich text.
pub fn write(
    draft: &mut Draft,
    inputs: &CheckedInputs,
    plain: TypedField<str>,
    html: TypedField<str>,
    of: &Resource,
    view: &ReadView,
    base_url: &str,
) -> Result<(), DomainError> {
    let target = |gid: u64| mentions::target(view, base_url, gid);
    let before = draft.previous();
    let before = before.as_ref().and_then(|before| before.get(html));
    let before = before.as_deref().unwrap_or_default();
    match (inputs.get(plain.def.name), inputs.get(html.def.name)) {
        (Some(_), Some(_)) => Err(DomainError::invalid(format!(
            "You may only provide one of {} or {}!",
            plain.def.name, html.def.name
        ))),
        (_, Some(InputValue::Html(text))) => {
            let rich = rich_text::normalize_edit(text, of.flavor, &target, before)
                .map_err(|e| DomainError::field(html.def.name, e))?;
            // Each reader gets the names of the objects that they may see.
            let unnamed = rich_text::without_names(&rich.html);
            let rich = unnamed
                .map_err(|e| DomainError::field(html.def.name, e))?
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
            let read = rich_text::reader_view(before, &target).ok().flatten();
            if read.is_some_and(|read| read.text == text)
                && let Some(before) = draft.previous()
            {
                // The client writes back the text that it read, in which links have names.
                draft.set(plain, before.get(plain).as_deref().unwrap_or_default());
                draft.set(html, before.get(html).as_deref().unwrap_or_default());
                return Ok(());
            }
            draft.set(html, rich_text::from_text(&text).as_str());
            Ok(())
        }
        (None, None) => Ok(()),
    }
}
