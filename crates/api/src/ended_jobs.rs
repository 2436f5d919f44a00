//! Number of jobs that ended in this process, by kind.
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use workgraph_core::jobs::{JobKind, JobRecord};

/// Counters by kind of job: succeeded and failed.
#[derive(Debug, Default)]
pub(crate) struct EndedJobs([[AtomicU64; 2]; JobKind::NAMES.len()]);

impl EndedJobs {
    /// Counts a job that ended.
    pub(crate) fn add(&self, job: &JobRecord) {
        let outcome = usize::from(job.error.is_some());
        let counts = self.0.get(job.kind.index());
        if let Some(count) = counts.and_then(|counts| counts.get(outcome)) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Returns the name of each kind with its two numbers.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, [u64; 2])> {
        let load = |counts: &[AtomicU64; 2]| counts.each_ref().map(|count| count.load(Relaxed));
        JobKind::NAMES.into_iter().zip(self.0.iter().map(load))
    }
}
