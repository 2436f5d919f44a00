//! Tasks of a deleted project. Tasks that nothing else lists are trashed: they are in no other project, have no assignee and
//! are not subtasks. All other tasks leave the project's sections.
use super::apply::{Recorded, trash_subtree};
use super::loader;
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::registry::{Type, rel};
use crate::model::resources::task;
use crate::storage::snapshot::{Depth, Transaction};
use crate::storage::{ChangeAction, ChangeRecord};

/// Maximum number of tasks that are deleted in the same commit as their project. Cleanup steps delete the rest
/// ([`crate::jobs::cleanup`]), so the size of a commit does not depend on the project.
const AT_ONCE: usize = 500;

/// Abandons the first tasks of a project that is about to be trashed.
pub(super) fn abandon_first(
    txn: &mut dyn Transaction,
    project: Gid,
    seq: Seq,
    recorded: &mut Recorded<'_, '_>,
) -> Result<(), GraphStoreError> {
    let mut sections = Vec::new();
    let sections_of_project = &mut |edge: Edge| sections.push(edge.src);
    loader::all_in(txn, project, rel::SECTION_OF, sections_of_project)?;
    let mut room = AT_ONCE;
    for section in sections {
        if room == 0 {
            return Ok(());
        }
        let mut tasks = Vec::new();
        let (first, depth) = ((i64::MIN, i64::MIN), Depth::Edge);
        txn.scan_in(section, rel::SECTION, first, room, depth, &mut |edge, _| {
            tasks.push(edge.src)
        })?;
        room -= tasks.len();
        for task in tasks {
            abandon(txn, (task, section), Some(project), seq, recorded)?;
        }
    }
    Ok(())
}

/// Trashes a task in a section of a deleted project, or takes it out of the section if something else lists it. `project` is the
/// project, unless it is already trashed.
pub(super) fn abandon(
    txn: &mut dyn Transaction,
    (task, section): (Gid, Gid),
    project: Option<Gid>,
    seq: Seq,
    recorded: &mut Recorded<'_, '_>,
) -> Result<(), GraphStoreError> {
    let Some(node) = txn.node(task, Depth::Full)? else {
        return Ok(());
    };
    let mut stays = node.ty != Type::Task || node.get(task::ASSIGNEE).is_some();
    let mut projects = Vec::new();
    let (lo, hi) = (rel::SECTION, rel::PARENT);
    txn.edges_out(task, lo, hi, Depth::Head, &mut |edge, _| match edge.rel {
        rel::PARENT => stays = true,
        rel::SECTION if edge.dst != section => projects.extend(edge.aux),
        _ => {}
    })?;
    for other in projects.into_iter().filter(|other| Some(*other) != project) {
        stays |= txn.node(other, Depth::Head)?.is_some();
    }
    if stays {
        txn.drop_edge(task, rel::SECTION, section)?;
        return Ok(());
    }
    let (gid, ty, action) = (task, Type::Task, ChangeAction::Deleted);
    recorded.add(txn, ChangeRecord { gid, ty, action })?;
    trash_subtree(txn, (gid, Some(ty)), seq, recorded, 0)
}
