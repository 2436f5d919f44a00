//! Thread of the writer: makes groups durable one after the other, and prepares the next one during each commit.
use super::group_ahead::{GroupAhead, NewRows};
use super::group_commit::sets;
use super::write_job::DynWrite;
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::graph::group_statements::GroupStatements;
use crate::store_state::AuditLogEnd;
use crate::waves_ahead::apply_ahead;
use crate::write_attempt::WriteAttempt;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::mpsc;
use workgraph_core::engine::waves::{AppliedChanges, FactCache, Facts, PendingCommits};
use workgraph_core::storage::CommitClock;

/// Maximum number of jobs that share one commit.
pub(super) const BATCH: usize = 256;
/// Minimum number of waiting jobs that are added to a group while the previous group is being committed: each addition costs
/// the same number of statements.
const ADDED_MIN: usize = 4;
/// Maximum number of additions to both groups: each addition lengthens the search for an answer in the state after both
/// groups.
const ADDITIONS_MAX: usize = 8;
/// Number of batches between two removals of old attempts.
const SWEEP_INTERVAL: u32 = 256;
/// Number of batches that lock the state first, after a batch found that another node had changed it.
const CAUTIOUS_BATCHES: u32 = 8;

const COMMIT: &str = "COMMIT";
const SWEEP: &str = "DELETE FROM write_attempt WHERE at < now() - interval '1 hour'";

/// Queue of incoming jobs.
type JobQueue = mpsc::Receiver<Box<dyn DynWrite>>;

/// Method for writing the jobs of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteMode {
    /// Consecutive change sets are applied together, in waves.
    Waves,
    /// Each job is written alone, under a savepoint, with a trip for each of its reads.
    OneByOne,
}

/// Applied change sets, with the facts from which they were applied, and the statements that write them.
type AppliedJobs = (Facts, AppliedChanges, GroupStatements);

/// State of the writer's thread.
pub(super) struct WriterThread {
    pub(super) database: Database,
    /// Cache of the store, which gets the committed writes.
    pub(super) cache: Arc<Mutex<FactCache>>,
    /// Jobs that are in no group yet.
    pub(super) waiting: VecDeque<Box<dyn DynWrite>>,
    /// Group that is being committed.
    committing: Option<GroupAhead>,
    /// Group to be committed next.
    next: Option<GroupAhead>,
    /// Commits of both groups, `committing` and `next`.
    pending: PendingCommits,
    /// True if the waiting jobs cannot be added before the commit of the group: the state is not known, or there is no
    /// connection.
    is_blocked: bool,
    /// End of the audit log after both groups, if it is known.
    pub(super) audit: Option<Option<AuditLogEnd>>,
    /// Number of further batches that lock the state first.
    pub(super) cautious: u32,
    /// Trips of attempts whose jobs had to wait again.
    lost_trips: u32,
    batches: u32,
    /// Clock of the commits of this node.
    clock: CommitClock,
}

impl WriterThread {
    pub(super) fn new(
        database: Database,
        cache: Arc<Mutex<FactCache>>,
        clock: CommitClock,
    ) -> Self {
        Self {
            database,
            cache,
            waiting: VecDeque::new(),
            committing: None,
            next: None,
            pending: PendingCommits::default(),
            is_blocked: false,
            audit: None,
            cautious: 0,
            lost_trips: 0,
            batches: 0,
            clock,
        }
    }

    /// Writes jobs until the queue is closed and empty.
    pub(super) fn run(mut self, mut queue: JobQueue) {
        let mut taken = Vec::with_capacity(BATCH);
        let mut is_open = true;
        while is_open || self.has_work() {
            if !self.has_work() {
                is_open = queue.blocking_recv_many(&mut taken, BATCH) > 0;
            } else if let Some(group) = &mut self.committing {
                let runtime = self.database.runtime().clone();
                let takes = is_open && self.waiting.len() < BATCH;
                let ended = runtime.block_on(async {
                    tokio::select! {
                        biased;
                        done = group.end() => Some(done),
                        count = queue.recv_many(&mut taken, BATCH), if takes => {
                            is_open = count > 0;
                            None
                        }
                    }
                });
                if let Some(done) = ended {
                    self.end_commit(done);
                }
            }
            taken.iter_mut().for_each(|job| job.stamp(&mut self.clock));
            self.waiting.extend(taken.drain(..));
            self.go_on();
        }
    }

    fn has_work(&self) -> bool {
        self.committing.is_some() || !self.waiting.is_empty()
    }

    /// Begins the next commit, or prepares it during the current one. During a commit, fewer than [`ADDED_MIN`] jobs wait
    /// until more can be added with them.
    fn go_on(&mut self) {
        if self.committing.is_some() {
            if self.waiting.len() >= ADDED_MIN {
                self.add_what_waits();
            }
            return;
        }
        self.is_blocked = false;
        if let Err(error) = self.add_to_next() {
            // The other jobs would wait as long for a connection, so all fail together.
            let jobs = self.waiting.drain(..).collect();
            self.answer(jobs, Some(&error));
        } else if self.next.is_some() {
            self.commit_next();
        } else if !self.waiting.is_empty() {
            let waves = self.database.options().waves;
            self.write_under_lock(match waves {
                true => WriteMode::Waves,
                false => WriteMode::OneByOne,
            });
        }
    }

    /// Applies the change sets at the head of the queue to the state after both groups, and adds them to the next group, as
    /// far as that state is known. If nothing would be written, the change sets keep waiting: the reason for refusing a
    /// change set may be outdated, and only a write shows that.
    ///
    /// # Errors
    /// Fails without a connection; the change sets then also keep waiting.
    fn add_to_next(&mut self) -> Result<(), DatabaseError> {
        if self.is_blocked || self.cautious > 0 || !self.database.options().waves {
            return Ok(());
        }
        let last = self.next.as_ref().or(self.committing.as_ref());
        if last.map(GroupAhead::last_seq) != self.pending.last_seq()
            || self.pending.len() >= ADDITIONS_MAX
        {
            return Ok(());
        }
        let room = BATCH.saturating_sub(self.next.as_ref().map_or(0, GroupAhead::len));
        let jobs = self.waiting.iter();
        let jobs = jobs.take_while(|job| job.changes().is_some()).take(room);
        let count = jobs.count();
        if count > 0
            && let Some(applied) = self.apply_first(count)
        {
            return self.add(count, applied);
        }
        self.is_blocked = count > 0;
        Ok(())
    }

    /// Calls [`add_to_next`](Self::add_to_next) during the commit of another group. After a failure, the next try comes
    /// after that commit.
    fn add_what_waits(&mut self) {
        self.is_blocked |= self.add_to_next().is_err();
    }

    /// Applies the first waiting change sets to the state after both groups.
    fn apply_first(&mut self, count: usize) -> Option<AppliedJobs> {
        let sets = sets(self.waiting.make_contiguous().get(..count)?);
        let attempt = AssertUnwindSafe(|| apply_ahead(&sets, &self.cache, &mut self.pending));
        let Ok(applied) = catch_unwind(attempt) else {
            // The pending commits are in doubt after a panic.
            self.pending.clear();
            return None;
        };
        let (facts, applied) = applied.ok()??;
        let writes = &applied.writes;
        let is_known = self.audit.is_some() || writes.audit_rows.is_empty();
        if !is_known || writes.is_empty() {
            return None;
        }
        let made = GroupStatements::new(writes, self.audit.flatten()).ok()?;
        Some((facts, applied, made))
    }

    /// Adds the first waiting jobs to the next group.
    fn add(
        &mut self,
        count: usize,
        (facts, applied, made): AppliedJobs,
    ) -> Result<(), DatabaseError> {
        let AppliedChanges { writes, outcomes } = applied;
        let audit = self.audit.flatten();
        let mut group = match self.next.take() {
            Some(group) => group,
            None => {
                let new_rows = match self.committing {
                    Some(_) => NewRows::Early,
                    None => NewRows::UnderLock,
                };
                GroupAhead::begin(&self.database, writes.base, new_rows)?
            }
        };
        if let Some(end) = made.audit {
            self.audit = Some(Some(end));
        }
        let jobs = self.waiting.drain(..count);
        group.add(jobs, &writes, outcomes, made, audit);
        self.pending.push(facts, writes);
        self.next = Some(group);
        Ok(())
    }

    /// Begins to commit the next group.
    fn commit_next(&mut self) {
        let Some(mut group) = self.next.take() else {
            return;
        };
        if group.is_broken() {
            // The database can end a transaction that waits too long for the previous one.
            self.undo(group);
            return;
        }
        let begun = group.commit(self.end_of_batch());
        self.committing = Some(group);
        if let Err(error) = begun {
            self.end_commit(Err(error));
        }
    }

    /// Returns the last commands of a transaction that writes.
    pub(super) fn end_of_batch(&mut self) -> impl Iterator<Item = &'static str> + use<> {
        self.batches = self.batches.wrapping_add(1);
        let sweeps = self.batches.is_multiple_of(SWEEP_INTERVAL);
        sweeps.then_some(SWEEP).into_iter().chain([COMMIT])
    }

    /// Continues after the commit of a group has ended.
    fn end_commit(&mut self, done: Result<(), DatabaseError>) {
        let Some(group) = self.committing.take() else {
            return;
        };
        let last = group.last_seq();
        let (jobs, attempt) = group.into_parts();
        match self.find_out_if_broken(Some(attempt), done) {
            Ok(()) => {
                // The lock is free, so the next group comes first, with the few jobs that still wait.
                self.is_blocked = false;
                if self.waiting.len() < ADDED_MIN {
                    self.add_what_waits();
                }
                self.commit_next();
                self.pending.settle(last, &mut self.cache.lock());
                self.count_trips(1);
                self.answer(jobs, None);
            }
            Err(error) => self.give_up(jobs, &error),
        }
    }

    /// Gives up a group that was not committed, and with it the next one, which was applied to the state after it.
    fn give_up(&mut self, jobs: Vec<Box<dyn DynWrite>>, error: &DatabaseError) {
        self.pending.clear();
        self.audit = None;
        if let Some(next) = self.next.take() {
            self.undo(next);
        }
        if matches!(error, DatabaseError::Outdated) {
            self.cautious = CAUTIOUS_BATCHES;
            self.lost_trips += 1;
            self.put_back(jobs.into_iter());
        } else if error.breaks_connection() {
            self.count_trips(1);
            self.answer(jobs, Some(error));
        } else {
            self.lost_trips += 1;
            self.take_back(jobs.into_iter(), error);
            self.write_under_lock(WriteMode::OneByOne);
        }
    }

    /// Undoes a group that was not committed; its jobs wait again.
    fn undo(&mut self, group: GroupAhead) {
        self.pending.clear();
        self.audit = None;
        self.put_back(group.roll_back().into_iter());
    }

    /// Counts the trips of a batch, including those lost before.
    pub(super) fn count_trips(&mut self, trips: u32) {
        let lost = std::mem::take(&mut self.lost_trips);
        self.database.count_batch(trips + lost);
    }

    /// Makes jobs wait again, ahead of all others.
    fn put_back(&mut self, jobs: impl DoubleEndedIterator<Item = Box<dyn DynWrite>>) {
        jobs.rev().for_each(|job| self.waiting.push_front(job));
    }

    /// Puts jobs that the database refused together back into the queue: a single refused job must not make the others fail.
    pub(super) fn take_back(
        &mut self,
        jobs: impl DoubleEndedIterator<Item = Box<dyn DynWrite>> + ExactSizeIterator,
        error: &DatabaseError,
    ) {
        tracing::warn!(%error, jobs = jobs.len(), "changes are written one by one");
        self.put_back(jobs);
    }

    /// Sends the callers their outcomes, or the failure of all.
    pub(super) fn answer(&self, jobs: Vec<Box<dyn DynWrite>>, failure: Option<&DatabaseError>) {
        if let Some(reason) = failure {
            tracing::error!(%reason, jobs = jobs.len(), "a commit failed");
        }
        for job in jobs {
            job.answer(failure);
        }
    }

    /// Asks for the outcome of a transaction whose connection broke during its commit, if the attempt is given.
    pub(super) fn find_out_if_broken(
        &self,
        attempt: Option<WriteAttempt>,
        done: Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        match (done, attempt) {
            (Err(error), Some(attempt)) if error.breaks_connection() => {
                let found = attempt.find_out(&self.database, error);
                self.database.runtime().block_on(found)
            }
            (done, _) => done,
        }
    }
}
