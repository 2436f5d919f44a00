//! The runner of jobs: takes one up, and takes step after step until it is at its end.
//!
//! What a step does is in core; here is the order of load, step and commit. Whoever calls this
//! decides when, and how many jobs go on at the same time. A runner can stop or die between any
//! two lines: the job then waits for the end of its lease.
use crate::allowance;
use crate::exports::WriteError;
use crate::pipeline::Api;
use workgraph_core::budget;
use workgraph_core::fault::{Fault, Kind};
use workgraph_core::graph::{StoreError, ViewerKey, Want};
use workgraph_core::jobs::export::Mark;
use workgraph_core::jobs::{self, Held, LEASE_MS, Output, Stepped, ended};
use workgraph_core::registry::rel;
use workgraph_core::time::Time;
use workgraph_core::{Gid, Interrupted, MaybeInterrupt};

/// How often a step that conflicts is decided again before its job fails.
const ATTEMPTS: usize = 8;
/// How often a job that goes on meanwhile is cancelled again.
const CANCEL_ATTEMPTS: usize = 64;
/// How many jobs at the head of the queue are looked at for one to take up.
const HEADS: usize = 64;
/// All of the queue.
const ALL: usize = usize::MAX >> 1;

/// What there is to do.
#[derive(Debug)]
pub enum Taken {
    /// This job, until its lease ends.
    Job(Box<Held>),
    /// Nothing before this time, or before another job is started.
    Later(Option<Time>),
}

/// What a step led to.
#[derive(Debug)]
pub enum Gone {
    /// The job goes on.
    On(Box<Held>),
    /// The job is at its end; true if it has succeeded.
    Ended(bool),
    /// Somebody else has the job.
    Lost,
}

/// A job that is not at its end.
#[derive(Debug)]
pub struct Job {
    /// The job.
    pub held: Held,
    /// When it may be taken up.
    pub from: Time,
}

impl Api {
    /// Says what to call when a job was started.
    pub fn on_job(&self, ring: impl Fn() + Send + Sync + 'static) {
        // Whoever came first has the bell; there is one set of workers.
        let _second = self.bell.set(Box::new(ring));
    }

    /// The jobs that are not at their end.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn jobs(&self) -> Result<Vec<Job>, String> {
        let mut jobs = Vec::new();
        for (job, queue, _) in self.waiting(ALL).await? {
            jobs.extend(self.job(job, queue).await?);
        }
        Ok(jobs)
    }

    /// Takes up the job that has waited longest.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take_up(&self) -> Result<Taken, String> {
        let now = self.time();
        for (job, queue, from) in self.waiting(HEADS).await? {
            if from > now {
                return Ok(Taken::Later(Some(from)));
            }
            // It may have been taken up since the queue was read.
            let job = self.job(job, queue).await?;
            let Some(Job { held, .. }) = job.filter(|job| job.from <= now) else {
                continue;
            };
            let stepped = held.claim(now).map_err(|e| e.to_string())?;
            let why = stepped.held.record.error.clone();
            match self.settle(stepped).await? {
                Gone::On(held) => return Ok(Taken::Job(held)),
                Gone::Ended(_) => self.failed(&held, why.as_deref().unwrap_or_default()).await,
                Gone::Lost => {}
            }
        }
        Ok(Taken::Later(None))
    }

    /// Takes the next step of a job.
    ///
    /// # Errors
    /// When the store fails; the job can go on when its lease has ended.
    pub async fn go_on(&self, held: &Held) -> Result<Gone, String> {
        self.go_on_under(held, None).await
    }

    /// Takes the next step of a job, as [`go_on`](Self::go_on) does, with something that stops the work on it. After a
    /// step that takes too long the job goes on with fewer rows in the next one; it fails if there was only one left.
    ///
    /// # Errors
    /// As for `go_on`; also when nobody waits for the step any more, which says nothing about the job.
    pub async fn go_on_under(
        &self,
        held: &Held,
        interrupt: MaybeInterrupt,
    ) -> Result<Gone, String> {
        for _ in 0..ATTEMPTS {
            let stepped = match self.next(held, &interrupt).await {
                Ok(stepped) => stepped,
                Err(Stop::Store(why)) => return Err(why),
                Err(Stop::Lost) => return Ok(Gone::Lost),
                Err(Stop::Fault(fault)) => match (fault.kind, held.narrower()) {
                    (Kind::TooLarge, Some(narrower)) => return Ok(Gone::On(Box::new(narrower))),
                    (Kind::Interrupted(Interrupted::Deadline), Some(narrower)) => {
                        let renewed = narrower.renew(self.time()).map_err(|e| e.to_string())?;
                        return self.settle(renewed).await;
                    }
                    (Kind::Interrupted(Interrupted::Deadline), None) => {
                        return self.fail(held, "A step of it took too long.").await;
                    }
                    (Kind::Interrupted(interrupted), _) => {
                        return Err(format!("A step was stopped: {interrupted}."));
                    }
                    _ => return self.fail(held, &fault.message).await,
                },
            };
            match self.settle(stepped).await? {
                Gone::Lost => {}
                gone => return Ok(gone),
            }
            // Another has the job, or something that the step relied on is no longer so.
            let now = self.job(held.gid(), held.queue).await?;
            if now.is_none_or(|now| now.held.node.version != held.node.version) {
                return Ok(Gone::Lost);
            }
        }
        self.fail(held, "What was worked on kept changing.").await
    }

    /// Gives a job back that is not gone on with, though no step of it failed: at once, or when its lease ends.
    ///
    /// # Errors
    /// When the store fails; the job then counts as tried.
    pub async fn give_back(&self, held: &Held, at_once: bool) -> Result<(), String> {
        let now = self.time();
        let lease = if at_once { 0 } else { LEASE_MS };
        let until = Time::from_millis(held.since.millis() + lease);
        let given = held.give_back(now, until).map_err(|e| e.to_string())?;
        self.settle(given).await.map(drop)
    }

    /// Ends a job without success, whoever has it.
    ///
    /// # Errors
    /// When there is no such job that is not at its end, or the store fails.
    pub async fn cancel_job(&self, job: Gid) -> Result<Held, String> {
        for _ in 0..CANCEL_ATTEMPTS {
            let waiting = self.waiting(ALL).await?;
            let queue = waiting.iter().find(|(gid, ..)| *gid == job);
            let held = match queue {
                Some((_, queue, _)) => self.job(job, *queue).await?,
                None => None,
            };
            let Job { held, .. } = held.ok_or_else(|| {
                format!("{job}: there is no job with this gid that is not at its end")
            })?;
            let why = "Whoever runs the server has cancelled the job.";
            if let Gone::Ended(_) = self.fail(&held, why).await? {
                return Ok(held);
            }
        }
        Err(format!("{job}: the job kept going on; try again"))
    }

    /// Gives back what a runner that is known to be dead held, so that its jobs go on: at once those that came further
    /// with it, and others after a pause.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take_back(&self) -> Result<(), String> {
        let now = self.time();
        for (job, queue, _) in self.waiting(ALL).await? {
            if let Some(Job { held, from }) = self.job(job, queue).await?
                && (from > now || held.record.take_ups > 0)
            {
                let released = held.release(now).map_err(|e| e.to_string())?;
                self.settle(released).await?;
            }
        }
        Ok(())
    }

    /// Removes what jobs at their end left in the graph, and those whose time is up, in at most so many steps.
    /// Says how many there were.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_jobs(&self, most: usize) -> Result<usize, String> {
        let failed = |e: StoreError| e.to_string();
        for steps in 0..most {
            let now = self.time();
            let view = self.graph.load(&ended::due(nobody())).await;
            let view = view.map_err(failed)?;
            let queue = view.resolve(&jobs::queue());
            let first = queue.and_then(|q| view.sources(q, rel::ENDED).first());
            let Some(edge) = first.filter(|e| e.rank <= now.millis()) else {
                return Ok(steps);
            };
            let left = self.graph.load(&ended::left(nobody(), edge.src)).await;
            let changes = ended::forget(&left.map_err(failed)?, edge, now);
            match self.graph.commit(changes).await {
                Ok(_) | Err(StoreError::Conflict) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(most)
    }

    /// The jobs that are not at their end, so many of them from the head of the queue, each with its
    /// queue and when it may be taken up.
    async fn waiting(&self, most: usize) -> Result<Vec<(Gid, Gid, Time)>, String> {
        let want = nobody().into(jobs::queue(), rel::QUEUE, most);
        let view = self.graph.load(&want).await.map_err(|e| e.to_string())?;
        let Some(queue) = view.resolve(&jobs::queue()) else {
            return Ok(Vec::new());
        };
        let edges = view.sources(queue, rel::QUEUE).iter();
        Ok(edges
            .map(|e| (e.src, queue, Time::from_millis(e.rank)))
            .collect())
    }

    /// A job as it is now, if it is not at its end; one whose record cannot be read is passed over, and logged.
    async fn job(&self, gid: Gid, queue: Gid) -> Result<Option<Job>, String> {
        let view = self.graph.load(&nobody().edges(gid, rel::QUEUE)).await;
        let view = view.map_err(|e| e.to_string())?;
        let edge = view.links(gid, rel::QUEUE).first();
        let (Some(node), Some(edge)) = (view.node(gid), edge) else {
            return Ok(None);
        };
        let from = Time::from_millis(edge.rank);
        let held = Held::read(node, queue, self.time());
        if let Err(fault) = &held {
            tracing::error!(job = gid.get(), why = fault.message, "a job is unreadable");
        }
        Ok(held.ok().map(|held| Job { held, from }))
    }

    async fn next(&self, held: &Held, interrupt: &MaybeInterrupt) -> Result<Stepped, Stop> {
        let under = |want| Want {
            interrupt: interrupt.clone(),
            ..want
        };
        let view = allowance::load(&*self.graph, &under(held.needs()?)).await?;
        let more = match held.more(&view)? {
            Some(want) => Some(allowance::load(&*self.graph, &under(want)).await?),
            None => None,
        };
        let mint = || self.fresh();
        let step = || held.step(&view, more.as_ref(), self.time(), &mint);
        let step = allowance::compute(interrupt, step).await?;
        let mark = match step.output() {
            Some(output) => Some(self.put(output).await?),
            None => None,
        };
        Ok(step.settle(mark)?)
    }

    /// Puts what a step has for a file into it.
    async fn put(&self, output: Output<'_>) -> Result<Mark, Stop> {
        let Some(files) = self.files.get() else {
            return Err(Fault::invalid("There is no place for files.").into());
        };
        files.append(output).await.map_err(|error| match error {
            WriteError::Fenced => Stop::Lost,
            WriteError::Failed(why) => Fault::invalid(why).into(),
        })
    }

    async fn fail(&self, held: &Held, why: &str) -> Result<Gone, String> {
        let failed = held.fail(self.time(), why).map_err(|e| e.to_string())?;
        let gone = self.settle(failed).await?;
        if let Gone::Ended(_) = gone {
            self.failed(held, why).await;
        }
        Ok(gone)
    }

    /// Says that a job has failed, and removes its file.
    async fn failed(&self, held: &Held, why: &str) {
        tracing::warn!(job = held.gid().get(), why, "a job failed");
        if let (Some(file), Some(files)) = (held.file(), self.files.get()) {
            files.remove(file).await;
        }
    }

    /// Commits what a step came to.
    async fn settle(&self, stepped: Stepped) -> Result<Gone, String> {
        if let Some(changes) = stepped.changes {
            match self.graph.commit(changes).await {
                Ok(_) => {}
                Err(StoreError::Conflict) => return Ok(Gone::Lost),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(if stepped.ended {
            Gone::Ended(stepped.held.record.error.is_none())
        } else {
            Gone::On(Box::new(stepped.held))
        })
    }

    fn time(&self) -> Time {
        Time::from_system(self.clock.now())
    }
}

/// A want of the runner's own, which looks at nothing but jobs.
fn nobody() -> Want {
    const NOBODY: Gid = match Gid::new(1) {
        Some(gid) => gid,
        None => unreachable!(),
    };
    Want::of(ViewerKey {
        user: NOBODY,
        service: None,
    })
}

/// Why a step was not taken.
enum Stop {
    Fault(Fault),
    Store(String),
    Lost,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Interrupted(interrupted) => Self::Fault(interrupted.into()),
            StoreError::OverBudget => Self::Fault(Fault::too_large(format!(
                "More than {} bytes would have to be read for a record; name fewer fields or shorter paths.",
                budget::GATHERED
            ))),
            error => Self::Store(error.to_string()),
        }
    }
}
