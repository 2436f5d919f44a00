//! Leases of jobs: claims, steps, and writing each step under the fencing token.
use super::output_buffer::{FileEnd, OutputBuffer};
use super::{CLAIMS_MAX, JobKind, JobRecord, LEASE_MS, NextStep, PAUSE_MS, RENEW_MS, written};
use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::{export, job};
use crate::model::time::Time;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{
    Changes, EdgeWrite, Guard, ListPosition, NodeWrite, ReadQuery, ReadView, ViewerKey,
};

/// Job whose lease a worker holds: its node as last written, and its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedJob {
    /// Node of the job. Its version is the fencing token.
    pub node: Node,
    /// Record of the job: kind of work, progress, deadline, claims.
    pub record: JobRecord,
    /// Queue to which the job belongs.
    pub queue: Gid,
    /// Time of the last write.
    pub since: Time,
    /// Bytes to append to the job's file with the next checkpoint.
    pub buffer: OutputBuffer,
    /// Number of times that the page of a step is halved, because its rows exceeded a budget or took too long.
    pub halvings: u32,
}

/// Step that was computed but not committed. Its output must be in the file before the step is
/// completed.
#[derive(Clone, Debug)]
pub struct PreparedStep {
    changes: Changes,
    leased_job: LeasedJob,
    now: Time,
    course: StepEffect,
}

/// Effect of a step on the job's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepEffect {
    /// No effect worth a commit.
    Rests,
    /// A checkpoint is written.
    Goes,
    /// The job ends with this step.
    Ends,
}

/// Bytes that a step appends to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOutput<'a> {
    /// Node of the file.
    pub file: Gid,
    /// Fencing token: after it, writes with a lower token are refused.
    pub fence: u64,
    /// End of the file at the last checkpoint; bytes after it are cut off.
    pub after: FileEnd,
    /// Bytes to append.
    pub bytes: &'a [u8],
    /// True if the file is complete after that.
    pub is_complete: bool,
    /// True if the complete file is kept for a month, instead of a day.
    pub keep_long: bool,
}

/// Result of a step.
#[derive(Clone, Debug)]
pub struct JobStepResult {
    /// Changes to commit; `None` if nothing is worth a commit yet.
    pub changes: Option<Changes>,
    /// The job after the changes.
    pub job: LeasedJob,
    /// True if this was the last step.
    pub is_last: bool,
}

impl LeasedJob {
    /// Reads the job from its node.
    ///
    /// # Errors
    /// Fails if the node holds no record of a job, or one that cannot be read; the error says why.
    pub fn read(node: &Node, queue: Gid, now: Time) -> Result<Self, DomainError> {
        let record = node.raw("job");
        let record = record.ok_or_else(|| DomainError::invalid("the job has no record"))?;
        let record = serde_json::from_str(record);
        Ok(Self {
            node: node.clone(),
            record: record.map_err(|e| DomainError::invalid(format!("the job's record: {e}")))?,
            queue,
            since: now,
            buffer: OutputBuffer::default(),
            halvings: 0,
        })
    }

    /// Returns the gid of the job.
    #[must_use]
    pub fn gid(&self) -> Gid {
        self.node.gid
    }

    /// Returns the node of the file that the job writes, if it writes one.
    #[must_use]
    pub fn file(&self) -> Option<Gid> {
        self.record.kind.file().map(|(file, _)| file)
    }

    /// Returns the user or service account that requested the job; the job has exactly their access.
    ///
    /// # Errors
    /// Fails if the node has no creator.
    pub fn viewer(&self) -> Result<ViewerKey, DomainError> {
        let user = self.node.get(job::CREATED_BY);
        Ok(ViewerKey {
            user: user.ok_or_else(|| DomainError::invalid("the job has no creator"))?,
            service: self.record.service,
        })
    }

    /// Claims the job, or takes it over when the lease of another worker has ended. A job fails if its deadline has passed, or if
    /// it was claimed [`CLAIMS_MAX`] times since its last completed step.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn claim(&self, now: Time) -> Result<JobStepResult, DomainError> {
        if now.millis() >= self.record.deadline {
            return self.fail(now, "The job was not done in time.");
        }
        if self.record.claims >= CLAIMS_MAX {
            let reason = format!(
                "What carried the job out ended {CLAIMS_MAX} times in a row before a step of it was done."
            );
            return self.fail(now, &reason);
        }
        let mut leased_job = self.clone();
        leased_job.record.claims += 1;
        leased_job.write(
            Changes::default(),
            now,
            "in_progress",
            now.millis() + LEASE_MS,
        )
    }

    /// Releases the lease of a dead worker. The job may be claimed at once if a step was completed since the last claim, else
    /// after a pause.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn release(&self, now: Time) -> Result<JobStepResult, DomainError> {
        let pause = if self.record.claims > 0 { PAUSE_MS } else { 0 };
        let until = now.millis() + pause;
        self.clone()
            .write(Changes::default(), now, "in_progress", until)
    }

    /// Returns the job to the queue; any worker may claim it from `until` on. This claim is not counted, because the job's step
    /// did not cause the stop.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn yield_until(&self, now: Time, until: Time) -> Result<JobStepResult, DomainError> {
        let mut leased_job = self.checkpoint()?;
        leased_job.record.claims = leased_job.record.claims.saturating_sub(1);
        leased_job.write(Changes::default(), now, "in_progress", until.millis())
    }

    /// Renews the lease of a job whose step took long and is repeated. The caller continues from its current state, with the
    /// bytes that wait for the file.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn renew(&self, now: Time) -> Result<JobStepResult, DomainError> {
        let until = now.millis() + LEASE_MS;
        let checkpoint = self.checkpoint()?;
        let mut renewed = checkpoint.write(Changes::default(), now, "in_progress", until)?;
        renewed.job = Self {
            node: renewed.job.node,
            since: renewed.job.since,
            ..self.clone()
        };
        Ok(renewed)
    }

    /// Returns the job as last written. Only its worker knows the steps after that, and their bytes for the file: another worker
    /// that continues from the record must repeat them.
    fn checkpoint(&self) -> Result<Self, DomainError> {
        Self::read(&self.node, self.queue, self.since)
    }

    /// Returns the read query of the next step.
    ///
    /// # Errors
    /// Fails if the node has no creator.
    pub fn needs(&self) -> Result<ReadQuery, DomainError> {
        let want = ReadQuery::of(self.viewer()?).node(self.gid());
        let mut want = match &self.record.kind {
            JobKind::Duplicate(plot) => plot.needs(self.gid(), want),
            JobKind::DuplicatePortfolio(plot) => plot.needs(want),
            JobKind::Export(plot) => plot.needs(want),
            JobKind::AssignNumbers(plot) => plot.needs(self.gid(), want),
            JobKind::InstantiateTemplate(plot) => plot.needs(want),
            JobKind::ExportResources(plot) => plot.needs(want)?,
        };
        if let Some(page) = &mut want.page {
            page.limit = page.limit.checked_shr(self.halvings).unwrap_or(0).max(1);
        }
        Ok(want)
    }

    /// Returns the same job with half as many rows in its next step, for a step whose rows exceeded a budget or took too
    /// long; `None` if only one row is left.
    #[must_use]
    pub fn with_smaller_step(&self) -> Option<Self> {
        let rows = self.needs().ok()?.page?.limit;
        (rows > 1).then(|| Self {
            halvings: self.halvings + 1,
            ..self.clone()
        })
    }

    /// Returns the second read query of the step, found from the first read; `None` if nothing is
    /// missing.
    ///
    /// # Errors
    /// Fails if the node has no creator.
    pub fn more(&self, view: &ReadView) -> Result<Option<ReadQuery>, DomainError> {
        let want = ReadQuery::of(self.viewer()?).node(self.gid());
        Ok(match &self.record.kind {
            JobKind::Duplicate(plot) => plot.more(self.gid(), view, want),
            JobKind::DuplicatePortfolio(plot) => plot.more(view, want),
            JobKind::Export(plot) => plot.more(view, want),
            JobKind::AssignNumbers(_) | JobKind::ExportResources(_) => None,
            JobKind::InstantiateTemplate(plot) => plot.more(view, want),
        })
    }

    /// Computes the next step: a pure function of the job and its reads.
    ///
    /// # Errors
    /// Fails if the work cannot continue; the job has then failed, for the reason in the error.
    pub fn step(
        &self,
        view: &ReadView,
        more: Option<&ReadView>,
        now: Time,
        mint: &dyn Fn() -> Gid,
    ) -> Result<PreparedStep, DomainError> {
        if now.millis() >= self.record.deadline {
            return Err(DomainError::invalid("The job was not done in time."));
        }
        if !view.viewer.has_workspace() {
            return Err(DomainError::invalid("Who asked for the job is gone."));
        }
        let viewer = self.viewer()?;
        let mut work = ChangeBuilder::new(Some(viewer.user), now, mint);
        let mut leased_job = self.clone();
        leased_job.halvings = self.halvings.saturating_sub(1);
        let next = match &self.record.kind {
            JobKind::Duplicate(plot) => {
                let next = plot.step(self, view, more, &mut work)?;
                leased_job.record.objects_done += work.changes.node_writes.len() as u64;
                next
            }
            JobKind::DuplicatePortfolio(plot) => {
                leased_job.record.objects_done += view.rows.gids.len() as u64;
                plot.step(view, more, &mut work)?
            }
            JobKind::AssignNumbers(plot) => {
                leased_job.record.objects_done += view.rows.gids.len() as u64;
                plot.step(self.gid(), view, &mut work)?
            }
            JobKind::InstantiateTemplate(plot) => plot.step(view, more, &mut work)?,
            JobKind::Export(plot) => plot.step(view, more, &mut work, &mut leased_job.buffer)?,
            JobKind::ExportResources(plot) => plot.step(view, &mut work, &mut leased_job.buffer)?,
        };
        leased_job.record.objects_done += (leased_job.buffer.objects - self.buffer.objects) as u64;
        let mut course = StepEffect::Goes;
        match next {
            NextStep::Done => course = StepEffect::Ends,
            NextStep::Continue(plot) => leased_job.record.kind = plot,
        }
        let again = self.record.claims > 1;
        let fresh = now.millis() - self.since.millis() < RENEW_MS && !again;
        let nothing = work.changes.is_empty() && !leased_job.buffer.is_due();
        if course == StepEffect::Goes && nothing && fresh {
            // Reading these rows again after a crash costs less than a commit now.
            course = StepEffect::Rests;
        }
        Ok(PreparedStep {
            changes: work.changes,
            leased_job,
            now,
            course,
        })
    }

    /// Ends the job without success, for the reason `reason`.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn fail(&self, now: Time, reason: &str) -> Result<JobStepResult, DomainError> {
        let mut leased_job = self.clone();
        leased_job.record.error = Some(reason.to_owned());
        leased_job.write(Changes::default(), now, "failed", 0)
    }

    /// Adds the job's next version to the changes, on top of the version of this lease. `until` is the end of the lease, in
    /// milliseconds of the Unix epoch.
    fn write(
        mut self,
        mut changes: Changes,
        now: Time,
        status: &str,
        until: i64,
    ) -> Result<JobStepResult, DomainError> {
        let (viewer, queue) = (self.viewer()?.user, self.queue);
        let gid = self.gid();
        let ended = matches!(status, "succeeded" | "failed");
        let mut draft = Draft::edit(&self.node);
        draft.set(job::STATUS, status);
        draft.set(job::RECORD, written(&self.record)?);
        if status == "succeeded" && self.node.ty == Type::OrganizationExport {
            draft.set(export::COMPLETED_AT, now);
        }
        (changes.actor, changes.time) = (Some(viewer), now);
        changes.guards.push(Guard::Version(gid, self.node.version));
        self.node = draft.finish();
        self.since = now;
        changes.node_writes.push(NodeWrite {
            node: self.node.clone(),
        });
        if ended {
            if let JobKind::ExportResources(bulk) = &self.record.kind {
                changes
                    .edge_removals
                    .push((gid, rel::EXPORTS, bulk.workspace));
            }
            changes.edge_removals.push((gid, rel::ACTIVE, viewer));
            changes.edge_removals.push((gid, rel::QUEUE, queue));
        }
        let (rel, rank) = if ended {
            (rel::ENDED, now.millis())
        } else {
            (rel::QUEUE, until)
        };
        changes.edge_writes.push(EdgeWrite {
            src: gid,
            rel,
            dst: queue,
            position: ListPosition::Rank(rank),
            aux: None,
        });
        Ok(JobStepResult {
            changes: Some(changes),
            job: self,
            is_last: ended,
        })
    }
}

impl PreparedStep {
    /// Returns the output that must be in the file before the step is completed, if there is any.
    #[must_use]
    pub fn output(&self) -> Option<FileOutput<'_>> {
        let (file, after) = self.leased_job.record.kind.file()?;
        let bytes = &self.leased_job.buffer.bytes;
        let ends = self.course == StepEffect::Ends;
        let due = ends || (self.course != StepEffect::Rests && !bytes.is_empty());
        due.then_some(FileOutput {
            file,
            fence: self.leased_job.node.version,
            after,
            bytes,
            is_complete: ends,
            keep_long: matches!(self.leased_job.record.kind, JobKind::ExportResources(_)),
        })
    }

    /// Returns the changes to commit; `mark` is the current end of the file, if the step had output.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn complete(mut self, mark: Option<FileEnd>) -> Result<JobStepResult, DomainError> {
        if self.course == StepEffect::Rests {
            return Ok(JobStepResult {
                changes: None,
                job: self.leased_job,
                is_last: false,
            });
        }
        if let Some(mark) = mark {
            self.leased_job.record.kind.set_mark(mark);
            self.leased_job.buffer = OutputBuffer::default();
        }
        self.leased_job.record.claims = 0;
        let status = if self.course == StepEffect::Ends {
            "succeeded"
        } else {
            "in_progress"
        };
        let until = self.now.millis() + LEASE_MS;
        self.leased_job.write(self.changes, self.now, status, until)
    }
}
