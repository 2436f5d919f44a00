//! Jobs at their end: what they left in the graph is removed soon, and they themselves after a while.
//!
//! Such a job has an edge to the queue, whose rank is the time at which it is looked at next.
use super::export::cached;
use super::{Plot, Record, STEP, queue};
use crate::gid::Gid;
use crate::graph::{Changes, Edge, Link, Place, View, Want};
use crate::registry::rel;
use crate::resources::job;
use crate::time::Time;

/// How long a job can be polled after its deadline, in milliseconds.
pub const KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// Adds the jobs that are looked at next.
#[must_use]
pub fn due(want: Want) -> Want {
    want.into(queue(), rel::ENDED, 1)
}

/// Adds what a job left.
#[must_use]
pub fn left(want: Want, job: Gid) -> Want {
    want.node(job)
        .into(job, rel::COPIED, STEP)
        .into(job, rel::TO_NUMBER, STEP)
}

/// The next step of forgetting a job, from its edge to the queue and what it left: at most so much of that
/// as fits a step, then waiting for its time, then the job.
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
    let node = view.node(job);
    let record = node.and_then(|n| serde_json::from_str::<Record>(n.raw("job")?).ok());
    let end = record.as_ref().map(|r| r.deadline + KEPT_MS);
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
    if let (Some(Plot::Export(export)), Some(who)) =
        (record.map(|r| r.plot), node.get(job::CREATED_BY))
        && export.to != job
    {
        changes.trash.push(export.to);
        let name = cached(who, export.root);
        changes.unnamed.push((name, export.to));
    }
    changes
}
