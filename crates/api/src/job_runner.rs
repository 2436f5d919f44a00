//! The job runner: claims a job and runs its steps, one after the other, until the job ends.
//!
//! The steps themselves are in core; this module loads, runs and commits them in order. The caller controls timing and
//! how many jobs run at once. A runner can stop or crash between any two lines: the job then waits until its lease
//! ends.
use crate::background_error::BackgroundError;
use crate::execute::allowance_retry;
use crate::execute::load_view::system_query;
use crate::features::exports::export_files::ExportWriteError;
use crate::state::Api;
use workgraph_core::domain_error::{DomainError, DomainErrorKind};
use workgraph_core::jobs::FileEnd;
use workgraph_core::jobs::{FileOutput, JobStepResult, LEASE_MS, LeasedJob, cleanup};
use workgraph_core::model::registry::rel;
use workgraph_core::model::time::Time;
use workgraph_core::storage::{GraphStoreError, ReadQuery};
use workgraph_core::{Gid, InterruptReason, MaybeInterrupt, byte_budgets, jobs};

/// Attempts to decide a conflicting step before its job fails.
const ATTEMPTS: usize = 8;
/// Attempts to cancel a job that keeps making progress.
const CANCEL_ATTEMPTS: usize = 64;
/// Number of jobs at the head of the queue that are checked for one to claim.
const QUEUE_HEAD_SCAN: usize = 64;
/// Limit that covers the whole queue.
const ALL: usize = usize::MAX >> 1;

/// The outcome of asking the queue for a job.
#[derive(Debug)]
pub enum NextJob {
    /// A claimed job, with its lease.
    Job(Box<LeasedJob>),
    /// No job can run before this time, or before another job is started.
    Later(Option<Time>),
}

/// The outcome of a job step.
#[derive(Debug)]
pub enum JobProgress {
    /// The job continues.
    Continues(Box<LeasedJob>),
    /// The job has ended; true if it has succeeded.
    Ended(bool),
    /// Another runner holds the job.
    LeaseLost,
}

/// A job that has not ended.
#[derive(Debug)]
pub struct PendingJob {
    /// Unfinished job, with its current record.
    pub job: LeasedJob,
    /// Time from which the job may be claimed.
    pub available_from: Time,
}

impl Api {
    /// Sets the function to call when a job was started.
    pub fn set_job_notifier(&self, ring: impl Fn() + Send + Sync + 'static) {
        // The first caller has set the function; there is one set of workers.
        let _second = self.job_notifier.set(Box::new(ring));
    }

    /// Returns the names of all kinds of jobs, each with the numbers of jobs that succeeded and failed in this process.
    pub fn ended_jobs(&self) -> impl Iterator<Item = (&'static str, [u64; 2])> {
        self.ended_jobs.counts()
    }

    /// Returns the unfinished jobs.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub async fn jobs(&self) -> Result<Vec<PendingJob>, BackgroundError> {
        let mut jobs = Vec::new();
        for (job, queue, _) in self.waiting(ALL).await? {
            jobs.extend(self.job(job, queue).await?);
        }
        Ok(jobs)
    }

    /// Leases the job that has waited longest.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub async fn lease_next_job(&self) -> Result<NextJob, BackgroundError> {
        let now = self.time();
        for (job, queue, from) in self.waiting(QUEUE_HEAD_SCAN).await? {
            if from > now {
                return Ok(NextJob::Later(Some(from)));
            }
            // Another runner may have claimed it since the queue was read.
            let job = self.job(job, queue).await?;
            let Some(PendingJob {
                job: leased_job, ..
            }) = job.filter(|job| job.available_from <= now)
            else {
                continue;
            };
            let stepped = leased_job.claim(now)?;
            let reason = stepped.job.record.error.clone();
            match self.settle(stepped).await? {
                JobProgress::Continues(leased_job) => return Ok(NextJob::Job(leased_job)),
                JobProgress::Ended(_) => {
                    self.failed(&leased_job, reason.as_deref().unwrap_or_default())
                        .await
                }
                JobProgress::LeaseLost => {}
            }
        }
        Ok(NextJob::Later(None))
    }

    /// Runs the next step of a job.
    ///
    /// # Errors
    /// Fails when the store fails; the job can continue when its lease has ended.
    pub async fn run_job_step(
        &self,
        leased_job: &LeasedJob,
    ) -> Result<JobProgress, BackgroundError> {
        self.run_job_step_interruptible(leased_job, None).await
    }

    /// Runs the next step of a job, as [`run_job_step`](Self::run_job_step) does, with an interrupt. If a step takes too
    /// long, the job continues with fewer rows in the next step; if only one row was left, the job fails.
    ///
    /// # Errors
    /// Fails as `run_job_step` does, and when the caller abandoned the step. An abandoned step does not change
    /// the job.
    pub async fn run_job_step_interruptible(
        &self,
        leased_job: &LeasedJob,
        interrupt: MaybeInterrupt,
    ) -> Result<JobProgress, BackgroundError> {
        if let (Some(interrupt), Ok(viewer)) = (&interrupt, leased_job.viewer()) {
            interrupt.note_user(viewer.user.get());
        }
        for _ in 0..ATTEMPTS {
            let stepped = match self.next(leased_job, &interrupt).await {
                Ok(stepped) => stepped,
                Err(StepError::Store(error)) => return Err(error.into()),
                Err(StepError::Lost) => return Ok(JobProgress::LeaseLost),
                Err(StepError::Fault(fault)) => {
                    match (fault.kind, leased_job.with_smaller_step()) {
                        (DomainErrorKind::TooLarge, Some(narrower)) => {
                            return Ok(JobProgress::Continues(Box::new(narrower)));
                        }
                        (
                            DomainErrorKind::Interrupted(InterruptReason::Deadline),
                            Some(narrower),
                        ) => {
                            let renewed = narrower.renew(self.time())?;
                            return self.settle(renewed).await;
                        }
                        (DomainErrorKind::Interrupted(InterruptReason::Deadline), None) => {
                            return self.fail(leased_job, "A step of it took too long.").await;
                        }
                        (DomainErrorKind::Interrupted(_), _) => return Err(fault.into()),
                        _ => return self.fail(leased_job, &fault.message).await,
                    }
                }
            };
            match self.settle(stepped).await? {
                JobProgress::LeaseLost => {}
                gone => return Ok(gone),
            }
            // Another runner holds the job, or a condition of the step no longer holds.
            let now = self.job(leased_job.gid(), leased_job.queue).await?;
            if now.is_none_or(|now| now.job.node.version != leased_job.node.version) {
                return Ok(JobProgress::LeaseLost);
            }
        }
        self.fail(leased_job, "What was worked on kept changing.")
            .await
    }

    /// Releases a job without a failed step. It can be claimed again immediately, or when its lease ends.
    ///
    /// # Errors
    /// Fails when the store fails; the attempt then counts.
    pub async fn release_job(
        &self,
        leased_job: &LeasedJob,
        at_once: bool,
    ) -> Result<(), BackgroundError> {
        let now = self.time();
        let lease = if at_once { 0 } else { LEASE_MS };
        let until = Time::from_millis(leased_job.since.millis() + lease);
        let given = leased_job.yield_until(now, until)?;
        self.settle(given).await.map(drop)
    }

    /// Ends a job without success, even if another runner holds it.
    ///
    /// # Errors
    /// Fails when no unfinished job has this gid, or the store fails.
    pub async fn cancel_job(&self, job: Gid) -> Result<LeasedJob, BackgroundError> {
        for _ in 0..CANCEL_ATTEMPTS {
            let waiting = self.waiting(ALL).await?;
            let queue = waiting.iter().find(|(gid, ..)| *gid == job);
            let leased_job = match queue {
                Some((_, queue, _)) => self.job(job, *queue).await?,
                None => None,
            };
            let PendingJob {
                job: leased_job, ..
            } = leased_job.ok_or(BackgroundError::NoJob(job))?;
            let reason = "An administrator of the server cancelled the job.";
            if let JobProgress::Ended(_) = self.fail(&leased_job, reason).await? {
                return Ok(leased_job);
            }
        }
        Err(BackgroundError::JobKeepsGoing(job))
    }

    /// Releases the jobs of a dead runner, so that they continue: immediately if the job made progress under that runner,
    /// else after a pause.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub async fn release_dead_leases(&self) -> Result<(), BackgroundError> {
        let now = self.time();
        for (job, queue, _) in self.waiting(ALL).await? {
            if let Some(PendingJob {
                job: leased_job,
                available_from: from,
            }) = self.job(job, queue).await?
                && (from > now || leased_job.record.claims > 0)
            {
                let released = leased_job.release(now)?;
                self.settle(released).await?;
            }
        }
        Ok(())
    }

    /// Removes the traces that ended jobs left in the graph, and the jobs past their retention, in at most `most`
    /// steps. Returns the number of steps taken.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub async fn cleanup_jobs(&self, most: usize) -> Result<usize, BackgroundError> {
        for steps in 0..most {
            let now = self.time();
            let view = self
                .graph
                .load(&cleanup::cleanup_due(system_query()))
                .await?;
            let queue = view.resolve(&jobs::queue());
            let first = queue.and_then(|q| view.sources(q, rel::ENDED).first());
            let Some(edge) = first.filter(|e| e.rank <= now.millis()) else {
                return Ok(steps);
            };
            let left = self
                .graph
                .load(&cleanup::leftovers(system_query(), edge.src))
                .await?;
            let changes = cleanup::cleanup_step(&left, edge, now);
            match self.graph.commit(changes).await {
                Ok(_) | Err(GraphStoreError::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(most)
    }

    /// Returns at most `most` unfinished jobs from the head of the queue, each with its queue and the time from which it
    /// may be claimed.
    async fn waiting(&self, most: usize) -> Result<Vec<(Gid, Gid, Time)>, BackgroundError> {
        let want = system_query().incoming_edges(jobs::queue(), rel::QUEUE, most);
        let view = self.graph.load(&want).await?;
        let Some(queue) = view.resolve(&jobs::queue()) else {
            return Ok(Vec::new());
        };
        let edges = view.sources(queue, rel::QUEUE).iter();
        Ok(edges
            .map(|e| (e.src, queue, Time::from_millis(e.rank)))
            .collect())
    }

    /// Returns the current state of an unfinished job. A job with an unreadable record is logged and skipped.
    async fn job(&self, gid: Gid, queue: Gid) -> Result<Option<PendingJob>, BackgroundError> {
        let view = self
            .graph
            .load(&system_query().edges(gid, rel::QUEUE))
            .await?;
        let edge = view.links(gid, rel::QUEUE).first();
        let (Some(node), Some(edge)) = (view.node(gid), edge) else {
            return Ok(None);
        };
        let from = Time::from_millis(edge.rank);
        let leased_job = LeasedJob::read(node, queue, self.time());
        if let Err(fault) = &leased_job {
            tracing::error!(
                job = gid.get(),
                reason = fault.message,
                "a job is unreadable"
            );
        }
        Ok(leased_job.ok().map(|leased_job| PendingJob {
            job: leased_job,
            available_from: from,
        }))
    }

    async fn next(
        &self,
        leased_job: &LeasedJob,
        interrupt: &MaybeInterrupt,
    ) -> Result<JobStepResult, StepError> {
        let under = |want| ReadQuery {
            interrupt: interrupt.clone(),
            ..want
        };
        let view = allowance_retry::load(&*self.graph, &under(leased_job.needs()?)).await?;
        let more = match leased_job.more(&view)? {
            Some(want) => Some(allowance_retry::load(&*self.graph, &under(want)).await?),
            None => None,
        };
        let generate_gid = || self.next_gid();
        let step = || leased_job.step(&view, more.as_ref(), self.time(), &generate_gid);
        let step = allowance_retry::compute(interrupt, step).await?;
        let mark = match step.output() {
            Some(output) => Some(self.put(output).await?),
            None => None,
        };
        Ok(step.complete(mark)?)
    }

    /// Appends the output of a step to its file.
    async fn put(&self, output: FileOutput<'_>) -> Result<FileEnd, StepError> {
        let Some(files) = self.export_files.get() else {
            return Err(DomainError::invalid("There is no place for files.").into());
        };
        files.append(output).await.map_err(|error| match error {
            ExportWriteError::StaleFencingToken => StepError::Lost,
            ExportWriteError::Failed(reason) => DomainError::invalid(reason).into(),
        })
    }

    async fn fail(
        &self,
        leased_job: &LeasedJob,
        reason: &str,
    ) -> Result<JobProgress, BackgroundError> {
        let failed = leased_job.fail(self.time(), reason)?;
        let gone = self.settle(failed).await?;
        if let JobProgress::Ended(_) = gone {
            self.failed(leased_job, reason).await;
        }
        Ok(gone)
    }

    /// Ends a job as failed, and removes its file.
    async fn failed(&self, leased_job: &LeasedJob, reason: &str) {
        tracing::warn!(job = leased_job.gid().get(), reason, "a job failed");
        if let (Some(file), Some(files)) = (leased_job.file(), self.export_files.get()) {
            files.remove(file).await;
        }
    }

    /// Commits the result of a step.
    async fn settle(&self, stepped: JobStepResult) -> Result<JobProgress, BackgroundError> {
        if let Some(changes) = stepped.changes {
            match self.graph.commit(changes).await {
                Ok(_) => {}
                Err(GraphStoreError::Conflict) => return Ok(JobProgress::LeaseLost),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(if stepped.is_last {
            let record = &stepped.job.record;
            self.ended_jobs.add(record);
            JobProgress::Ended(record.error.is_none())
        } else {
            JobProgress::Continues(Box::new(stepped.job))
        })
    }

    fn time(&self) -> Time {
        Time::from_system(self.clock.now())
    }
}

/// Reason why a step was not taken.
enum StepError {
    Fault(DomainError),
    Store(GraphStoreError),
    Lost,
}

impl From<DomainError> for StepError {
    fn from(fault: DomainError) -> Self {
        Self::Fault(fault)
    }
}

impl From<GraphStoreError> for StepError {
    fn from(error: GraphStoreError) -> Self {
        match error {
            GraphStoreError::Interrupted(interrupted) => Self::Fault(interrupted.into()),
            GraphStoreError::OverBudget => Self::Fault(DomainError::too_large(format!(
                "More than {} bytes would have to be read for a record; name fewer fields or shorter paths.",
                byte_budgets::LOAD_BYTES
            ))),
            error => Self::Store(error),
        }
    }
}
