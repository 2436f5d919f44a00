//! Automatic ids: custom fields that number the tasks of their projects.
//!
//! A number is the rank of an edge from the task to the field. The commit that adds the task to a project of the field assigns
//! it: the next number, without gaps, even if many tasks are added at once. The edge stays, so a number is never assigned again.
//! The project itself lists the fields that number its tasks, so a project without such fields needs no read for it.
pub use crate::model::auto_id::{key, number_of, prefix};

use crate::access::Level;
use crate::domain_error::DomainError;
use crate::model::custom_field_values;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::rel;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ListPosition, NodeRef, ReadView, alias};

/// Longest prefix, in characters.
pub const PREFIX_MAX: usize = 10;

/// Returns the fields that number the tasks of a project.
pub fn numbering(project: &Node) -> impl Iterator<Item = Gid> {
    project
        .raw("numbered_by")
        .into_iter()
        .flat_map(custom_field_values::gids)
}

/// Returns the list of numbering fields of a copy of a project: those that its maker sees, whose settings are copied.
#[must_use]
pub fn copied(view: &ReadView, project: &Node) -> String {
    let visible = numbering(project).filter(|field| view.level(*field) > Level::None);
    custom_field_values::gid_list(visible)
}

/// Gives a task the numbers of a project to which it is added, unless it has them.
pub fn number(work: &mut ChangeBuilder<'_>, project: Option<&Node>, task: Gid) {
    for field in project.into_iter().flat_map(numbering) {
        work.link(task, rel::NUMBERED, field, ListPosition::NextRank, None);
    }
}

/// Returns the project's list of numbering fields with `field` added or removed.
#[must_use]
pub fn changed(project: &Node, field: Gid, there: bool) -> String {
    custom_field_values::with_gid(numbering(project), field, there)
}

/// Checks that a prefix has only letters and digits, and a letter first.
///
/// # Errors
/// Fails if the prefix has another form; the error states the rule.
pub fn checked(prefix: &str) -> Result<(), DomainError> {
    let letters = prefix.bytes().all(|b| b.is_ascii_alphanumeric());
    let first = prefix.starts_with(|c: char| c.is_ascii_alphabetic());
    if letters && first && prefix.len() <= PREFIX_MAX {
        return Ok(());
    }
    Err(DomainError::field(
        "id_prefix",
        format_args!(
            "Must be 1 to {PREFIX_MAX} letters and digits that begin with a letter, not: {}",
            crate::model::validate::clip(prefix)
        ),
    ))
}

/// Returns references to the custom field and the task of an id such as `ENG-7` in a workspace, if the text has the form of an
/// id.
#[must_use]
pub fn field_and_task(workspace: Gid, id: &str) -> Option<(NodeRef, NodeRef)> {
    let (prefix, number) = id.rsplit_once('-')?;
    let plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
    let number = number.parse().ok().filter(|_| plain)?;
    checked(prefix).ok()?;
    let field = NodeRef::Alias(alias::id_prefix(workspace, prefix));
    let by = crate::storage::LinkSelector::Rank(rel::NUMBERED, number);
    Some((field.clone(), field.of(by)))
}
