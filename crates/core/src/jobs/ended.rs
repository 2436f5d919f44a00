//! Jobs at their end: what they left in the graph is removed soon, and they themselves after a while.
//!
//! Such a job has an edge to the queue, whose rank is the time at which it is looked at next. So has each
//! section of a deleted template, until the tasks in it are removed.
use super::export::cached;
use super::{DEADLINE_MS, Plot, Record, STEP, queue, queue_node};
use crate::gid::Gid;
use crate::graph::{Changes, Edge, Guard, Link, Place, Ref, View, Want};
use crate::registry::{Type, rel};
use crate::resources::job;
use crate::time::Time;
use crate::work::Work;

/// How long a job can be polled after its deadline, in milliseconds.
pub const KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// Adds what deleting a template must see: all its sections.
#[must_use]
pub fn abandoning(want: Want, template: impl Into<Ref>) -> Want {
    const ALL: usize = usize::MAX >> 1;
    want.into(template, rel::SECTION_OF, ALL).node(queue())
}

/// Deletes a template; its sections are looked at soon, for the tasks in them.
pub fn abandon(work: &mut Work<'_>, view: &View, template: Gid) {
    let sections = view.sources(template, rel::SECTION_OF);
    let queue = queue_node(work, view);
    let now = Place::Rank(work.now.millis());
    for edge in sections {
        work.link(edge.src, rel::ENDED, queue, now, None);
    }
    // A job that still fills the template must not add one unseen.
    let all = sections.len() as u64;
    let seen = Guard::AtMost(template, rel::SECTION_OF, all);
    work.changes.guards.push(seen);
    work.trash(template, Type::ProjectTemplate);
}

/// Adds the jobs that are looked at next.
#[must_use]
pub fn due(want: Want) -> Want {
    want.into(queue(), rel::ENDED, 1)
}

/// Adds what a job left, or what is in a section.
#[must_use]
pub fn left(want: Want, job: Gid) -> Want {
    want.node(job)
        .into(job, rel::COPIED, STEP)
        .into(job, rel::TO_NUMBER, STEP)
        .into(job, rel::SECTION, STEP)
}

/// The next step of forgetting a job, from its edge to the queue and what it left: at most so much of that
/// as fits a step, then waiting for its time, then the job. A section has no time to wait for.
#[must_use]
pub fn forget(view: &View, edge: &Edge, now: Time) -> Changes {
    let job = edge.src;
    let mut changes = Changes {
        at: now,
        ..Changes::default()
    };
    for rel in [rel::COPIED, rel::TO_NUMBER] {
        let edges = view.sources(job, rel).iter();
        changes.unlinks.extend(edges.map(|e| (e.src, rel, job)));
    }
    if !changes.is_empty() {
        return changes;
    }
    let within = view.sources(job, rel::SECTION);
    if !within.is_empty() {
        changes.trash.extend(within.iter().map(|e| e.src));
        return changes;
    }
    let node = view.node(job);
    let record = node
        .and_then(|n| n.raw("job"))
        .map(serde_json::from_str::<Record>);
    let deadline = record.as_ref().map(|record| match record {
        Ok(record) => record.deadline,
        // Whatever it says, the job was started when its gid was minted.
        Err(_) => job.minted_ms().cast_signed() + DEADLINE_MS,
    });
    let end = deadline.map(|deadline| deadline.saturating_add(KEPT_MS));
    if let Some(end) = end.filter(|end| now.millis() < *end) {
        changes.links.push(Link {
            src: job,
            rel: rel::ENDED,
            dst: edge.dst,
            place: Place::Rank(end),
            aux: None,
        });
        return changes;
    }
    changes.unlinks.push((job, rel::ENDED, edge.dst));
    let Some(node) = node else { return changes };
    changes.trash.push(job);
    let plot = record.and_then(Result::ok).map(|r| r.plot);
    match (plot, node.get(job::CREATED_BY)) {
        (Some(Plot::Export(export)), Some(who)) if export.to != job => {
            changes.trash.push(export.to);
            let name = cached(who, export.root);
            changes.unnamed.push((name, export.to));
        }
        (Some(Plot::Bulk(bulk)), _) => changes.trash.push(bulk.to),
        _ => {}
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Viewer;
    use crate::draft::Draft;
    use std::sync::Arc;

    #[test]
    fn a_job_whose_record_is_unreadable_is_kept_as_long_as_any() {
        const START: u64 = 1_768_469_400_000;
        let gid = Gid::first_of(START);
        let queue = Gid::new(3).unwrap();
        let mut draft = Draft::new(Type::Job, gid, None);
        draft.set(job::RECORD, "{\"plot\":\"of another version\"}".to_owned());
        let mut view = View::new(Arc::new(Viewer::alone(gid)), 1);
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
        let before = forget(&view, &edge, Time::from_millis(end - 1));
        assert!(before.trash.is_empty());
        assert_eq!(before.links[0].place, Place::Rank(end));
        assert_eq!(forget(&view, &edge, Time::from_millis(end)).trash, [gid]);
    }
}
