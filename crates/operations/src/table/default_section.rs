//! The section into which a project puts a task if the request names none.
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::rel;
use workgraph_core::storage::ReadView;

/// Returns the section of a project for a new task without one: the first section.
pub(super) fn default_section_of_new_task(
    view: &ReadView,
    project: Gid,
) -> Result<Gid, DomainError> {
    let first = view.sources(project, rel::SECTION_OF).first();
    let first = first.map(|edge| edge.src);
    first.ok_or_else(|| DomainError::field("projects", "The project has no section"))
}

/// Returns the section for a task that is added to a project without a section, and without a position or at the end: the last
/// section.
pub(super) fn default_section_of_added_task(view: &ReadView, project: Gid) -> Option<Gid> {
    let last = view.sources(project, rel::SECTION_OF).last();
    last.map(|edge| edge.src)
}

#[cfg(test)]
mod tests;
