//! Cleanup of ended jobs: their leftovers in the graph are removed soon, and the jobs themselves later.
//!
//! An ended job has an edge to the queue, whose rank is the time of the next cleanup step. Each section of a deleted
//! template or project also has an edge to the queue, until its tasks are removed.
use super::tree_export::cached;
use super::{DEADLINE_MS, JobKind, JobRecord, STEP_OBJECTS, queue, queue_node};
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::registry::{Type, rel};
use crate::model::resources::job;
use crate::model::time::Time;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{Changes, EdgeWrite, Guard, ListPosition, NodeRef, ReadQuery, ReadView};

/// Time for which a job can be polled after its deadline, in milliseconds.
pub const KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// Adds the reads for deleting a template or project: all its sections.
#[must_use]
pub fn deletion_needs(want: ReadQuery, container: impl Into<NodeRef>) -> ReadQuery {
    const ALL: usize = usize::MAX >> 1;
    want.incoming_edges(container, rel::SECTION_OF, ALL)
        .node(queue())
}

/// Deletes a template and puts its sections into the queue, so that the tasks in them are removed soon.
pub fn delete_template(work: &mut ChangeBuilder<'_>, view: &ReadView, template: Gid) {
    delete_with_sections(work, view, (template, Type::ProjectTemplate), None);
}

/// Deletes a project for a user. The commit trashes the first of the tasks that nothing else lists; the sections go into the
/// queue, so that the rest follows soon.
pub fn delete_project(work: &mut ChangeBuilder<'_>, view: &ReadView, project: Gid, user: Gid) {
    delete_with_sections(work, view, (project, Type::Project), Some(user));
}

fn delete_with_sections(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    (container, ty): (Gid, Type),
    user: Option<Gid>,
) {
    let sections = view.sources(container, rel::SECTION_OF);
    let queue = queue_node(work, view);
    let now = ListPosition::Rank(work.now.millis());
    for edge in sections {
        work.link(edge.src, rel::ENDED, queue, now, user);
    }
    // Fails the commit if a user, or a job that is still filling a template, has added a section since.
    let all = sections.len() as u64;
    let seen = Guard::AtMost(container, rel::SECTION_OF, all);
    work.changes.guards.push(seen);
    work.trash(container, ty);
}

/// Adds the job or section whose cleanup step is due first.
#[must_use]
pub fn cleanup_due(want: ReadQuery) -> ReadQuery {
    want.incoming_edges(queue(), rel::ENDED, 1)
}

/// Adds the leftovers of a job, or the tasks in a section.
#[must_use]
pub fn leftovers(want: ReadQuery, job: Gid) -> ReadQuery {
    want.node(job)
        .incoming_edges(job, rel::COPIED, STEP_OBJECTS)
        .incoming_edges(job, rel::TO_NUMBER, STEP_OBJECTS)
        .incoming_edges(job, rel::SECTION, STEP_OBJECTS)
}

/// Returns the changes of the next cleanup step of a job, from its edge to the queue and its leftovers. Each step removes a
/// limited number of leftovers. When none are left, a section is removed at once, and a job when its time has come.
#[must_use]
pub fn cleanup_step(view: &ReadView, edge: &Edge, now: Time) -> Changes {
    let job = edge.src;
    let mut changes = Changes {
        time: now,
        ..Changes::default()
    };
    for rel in [rel::COPIED, rel::TO_NUMBER] {
        let edges = view.sources(job, rel).iter();
        changes
            .edge_removals
            .extend(edges.map(|e| (e.src, rel, job)));
    }
    if !changes.is_empty() {
        return changes;
    }
    let within = view.sources(job, rel::SECTION);
    if !within.is_empty() {
        let tasks = within.iter().map(|e| e.src);
        match edge.aux {
            // The tasks are deleted like their project, in the name of the user who deleted it.
            Some(user) => {
                changes.actor = Some(user);
                changes.abandoned.extend(tasks.map(|task| (task, job)));
            }
            None => changes.trashed.extend(tasks),
        }
        return changes;
    }
    let node = view.node(job);
    let record = node
        .and_then(|n| n.raw("job"))
        .map(serde_json::from_str::<JobRecord>);
    let deadline = record.as_ref().map(|record| match record {
        Ok(record) => record.deadline,
        // The deadline of a job without a readable record is computed from the time of its gid.
        Err(_) => job.created_ms().cast_signed() + DEADLINE_MS,
    });
    let end = deadline.map(|deadline| deadline.saturating_add(KEPT_MS));
    if let Some(end) = end.filter(|end| now.millis() < *end) {
        changes.edge_writes.push(EdgeWrite {
            src: job,
            rel: rel::ENDED,
            dst: edge.dst,
            position: ListPosition::Rank(end),
            aux: None,
        });
        return changes;
    }
    changes.edge_removals.push((job, rel::ENDED, edge.dst));
    let Some(node) = node else { return changes };
    changes.trashed.push(job);
    let plot = record.and_then(Result::ok).map(|r| r.kind);
    match (plot, node.get(job::CREATED_BY)) {
        (Some(JobKind::Export(export)), Some(user)) if export.file_node != job => {
            changes.trashed.push(export.file_node);
            let name = cached(user, export.root);
            changes.remove_aliases.push((name, export.file_node));
        }
        (Some(JobKind::ExportResources(bulk)), _) => changes.trashed.push(bulk.file_node),
        _ => {}
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Viewer;
    use crate::model::draft::Draft;
    use std::sync::Arc;

    #[test]
    fn a_job_whose_record_is_unreadable_is_kept_as_long_as_any() {
        const START: u64 = 1_768_469_400_000;
        let gid = Gid::first_of(START);
        let queue = Gid::new(3).unwrap();
        let mut draft = Draft::new(Type::Job, gid, None);
        draft.set(job::RECORD, "{\"plot\":\"of another version\"}".to_owned());
        let mut view = ReadView::new(Arc::new(Viewer::without_memberships(gid)), 1);
        view.nodes.insert(gid, Arc::new(draft.finish()));
        let edge = Edge {
            src: gid,
            rel: rel::ENDED,
            dst: queue,
            rank: START.cast_signed(),
            seq: 1,
            aux: None,
        };
        let end = START.cast_signed() + DEADLINE_MS + KEPT_MS;
        let before = cleanup_step(&view, &edge, Time::from_millis(end - 1));
        assert!(before.trashed.is_empty());
        assert_eq!(before.edge_writes[0].position, ListPosition::Rank(end));
        assert_eq!(
            cleanup_step(&view, &edge, Time::from_millis(end)).trashed,
            [gid]
        );
    }
}
