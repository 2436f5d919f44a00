//! Section of a project into which a task comes if the request names none.
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::rel;
use workgraph_core::storage::ReadView;

/// Returns the section of a project that a new task gets when none is named: the first one.
pub(super) fn default_section_of_new_task(
    view: &ReadView,
    project: Gid,
) -> Result<Gid, DomainError> {
    let first = view.sources(project, rel::SECTION_OF).first();
    let first = first.map(|edge| edge.src);
    first.ok_or_else(|| DomainError::field("projects", "The project has no section"))
}

/// Returns the section of a project that a task gets when it is added there, without a section and without a position or
/// at the end: the last one.
pub(super) fn default_section_of_added_task(view: &ReadView, project: Gid) -> Option<Gid> {
    let last = view.sources(project, rel::SECTION_OF).last();
    last.map(|edge| edge.src)
}
