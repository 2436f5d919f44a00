//! Jobs: long work in steps that survive any crash.
//!
//! A job is a node. A step is pure: it says what it must read, and from that what changes. The
//! changes hold up to [`STEP`] new objects and, in the same commit, the job's next version: the
//! checkpoint. So whatever happens between two steps, the next one starts where the last commit
//! ended.
//!
//! The job's version is the fencing token. Taking a job up writes a new version, and every later
//! write is made under the version before it, so whoever lost the job cannot write any more.
//!
//! Two edges stand as long as a job is not at its end. One leads to the user, who may have
//! [`ACTIVE_MAX`] of them, which a guard of the starting commit holds to. The other leads to the queue,
//! where jobs stand by the time at which they may be taken up: at once, or when the lease of
//! whoever has it ends.
pub mod dates;
pub mod duplication;
pub mod freezing;

use crate::draft::Draft;
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{Changes, Guard, Place, Put, Ref, View, ViewerKey, Want};
use crate::node::Node;
use crate::registry::{Type, rel};
use crate::resources::job;
use crate::time::Time;
use crate::work::Work;
use duplication::Duplication;
use serde::{Deserialize, Serialize};

/// The most jobs of one user that are not at their end.
pub const ACTIVE_MAX: usize = 5;
/// The most objects of one step.
pub const STEP: usize = 100;
/// How long a job belongs to whoever took it up, in milliseconds; each checkpoint starts it anew.
pub const LEASE_MS: i64 = 30_000;
/// After how much of a lease it is renewed even if no object was made, in milliseconds.
pub const RENEW_MS: i64 = 10_000;
/// When a job that is not done has failed, in milliseconds after its start.
pub const DEADLINE_MS: i64 = 3_600_000;
/// The name of the node that all jobs stand in line at.
const QUEUE: &str = "queue:jobs";

/// The queue of jobs.
#[must_use]
pub fn queue() -> Ref {
    Ref::Alias(QUEUE.to_owned())
}

/// What a job keeps besides its public record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What is to be done, and how far it is.
    pub plot: Plot,
    /// The workspace, if a service account asked for it.
    pub service: Option<Gid>,
    /// When it fails if it is not done, in milliseconds of the Unix epoch.
    pub deadline: i64,
    /// Objects made so far.
    pub made: u64,
    /// Why it failed.
    pub error: Option<String>,
}

/// The kinds of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Plot {
    /// Copying tasks.
    Duplicate(Duplication),
}

/// A job in the hands of whoever took it up: its node as it was last written, and its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The node; its version is the fencing token.
    pub node: Node,
    /// The record.
    pub record: Record,
    /// The queue it stands in.
    pub queue: Gid,
    /// When it was last written.
    pub since: Time,
}

/// What a step came to.
#[derive(Clone, Debug)]
pub struct Stepped {
    /// What is to be committed; none if there is nothing yet that is worth a commit.
    pub changes: Option<Changes>,
    /// The job after that.
    pub held: Held,
    /// Whether this was the last step.
    pub ended: bool,
}

/// What a step of a kind of work adds to its changes.
pub(crate) enum Next {
    /// The work goes on so.
    On(Plot),
    /// It is done.
    Done,
}

/// Adds what starting a job must see.
#[must_use]
pub fn starting(want: Want, who: Gid) -> Want {
    want.into(who, rel::ACTIVE, ACTIVE_MAX).node(queue())
}

/// Starts a job; `new` writes the links to what it makes.
///
/// # Errors
/// When the user has as many jobs as one may have.
pub fn start(
    work: &mut Work<'_>,
    view: &View,
    who: ViewerKey,
    home: Gid,
    subtype: &str,
    plot: Plot,
    new: impl FnOnce(&mut Draft),
) -> Result<Gid, Fault> {
    let active = view.sources(who.user, rel::ACTIVE);
    if let (true, Some(first)) = (active.len() >= ACTIVE_MAX, active.first()) {
        // The earliest deadline frees a place at the latest; most jobs end long before.
        let wait = (first.rank - work.now.millis()).div_euclid(1000) + 1;
        let seconds = u32::try_from(wait.clamp(1, 60)).unwrap_or(60);
        return Err(Fault::busy(
            seconds,
            format!(
                "You've made too many requests and hit a rate limit: {ACTIVE_MAX} jobs of yours are running. Please retry after the given amount of time."
            ),
        ));
    }
    let queue = view.resolve(&queue()).unwrap_or_else(|| {
        let draft = work.draft(Type::Job, None);
        work.changes.aliases.push((QUEUE.to_owned(), draft.gid));
        work.changes.puts.push(Put {
            node: draft.finish(),
        });
        draft.gid
    });
    let deadline = work.now.millis() + DEADLINE_MS;
    let record = Record {
        plot,
        service: who.service,
        deadline,
        made: 0,
        error: None,
    };
    let mut draft = work.draft(Type::Job, Some(home));
    draft.set(job::SUBTYPE, subtype);
    draft.set(job::CREATED_BY, who.user);
    draft.set(job::RECORD, written(&record)?);
    new(&mut draft);
    let gid = draft.gid;
    work.changes.puts.push(Put {
        node: draft.finish(),
    });
    let guard = Guard::Below(who.user, rel::ACTIVE, ACTIVE_MAX as u64);
    work.changes.guards.push(guard);
    work.link(gid, rel::ACTIVE, who.user, Place::Rank(deadline), None);
    let now = work.now.millis();
    work.link(gid, rel::QUEUE, queue, Place::Rank(now), None);
    Ok(gid)
}

impl Held {
    /// A job that was read.
    ///
    /// # Errors
    /// When the node holds no record of a job.
    pub fn read(node: &Node, queue: Gid, now: Time) -> Result<Self, Fault> {
        let record = node.raw("job").and_then(|r| serde_json::from_str(r).ok());
        Ok(Self {
            node: node.clone(),
            record: record.ok_or_else(|| Fault::invalid("the job has no record"))?,
            queue,
            since: now,
        })
    }

    /// The job.
    #[must_use]
    pub fn gid(&self) -> Gid {
        self.node.gid
    }

    /// Who asked for it: the job sees and does what they may see and do.
    ///
    /// # Errors
    /// When the node names nobody.
    pub fn viewer(&self) -> Result<ViewerKey, Fault> {
        let user = self.node.get(job::CREATED_BY);
        Ok(ViewerKey {
            user: user.ok_or_else(|| Fault::invalid("the job has no creator"))?,
            service: self.record.service,
        })
    }

    /// Takes the job up, or takes it over from whoever let its lease end.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn claim(&self, now: Time) -> Result<Stepped, Fault> {
        if now.millis() >= self.record.deadline {
            return self.fail(now, "The job was not done in time.");
        }
        self.clone().write(
            Changes::default(),
            now,
            "in_progress",
            now.millis() + LEASE_MS,
        )
    }

    /// Gives the job back, so that anyone may take it up.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn release(&self, now: Time) -> Result<Stepped, Fault> {
        self.clone()
            .write(Changes::default(), now, "in_progress", now.millis())
    }

    /// What the next step must read.
    ///
    /// # Errors
    /// When the node names nobody.
    pub fn needs(&self) -> Result<Want, Fault> {
        let want = Want::of(self.viewer()?).node(self.gid());
        Ok(match &self.record.plot {
            Plot::Duplicate(plot) => plot.needs(self.gid(), want),
        })
    }

    /// What it must read besides, now that it has read that.
    ///
    /// # Errors
    /// When the node names nobody.
    pub fn more(&self, view: &View) -> Result<Option<Want>, Fault> {
        let want = Want::of(self.viewer()?).node(self.gid());
        Ok(match &self.record.plot {
            Plot::Duplicate(plot) => plot.more(self.gid(), view, want),
        })
    }

    /// The next step: a pure function of the job and what it read.
    ///
    /// # Errors
    /// Why the work cannot go on; the job has then failed.
    pub fn step(
        &self,
        view: &View,
        more: Option<&View>,
        now: Time,
        mint: &dyn Fn() -> Gid,
    ) -> Result<Stepped, Fault> {
        if now.millis() >= self.record.deadline {
            return Err(Fault::invalid("The job was not done in time."));
        }
        if view.viewer.seats.is_empty() && view.viewer.service.is_none() {
            return Err(Fault::invalid("Who asked for the job is gone."));
        }
        let who = self.viewer()?;
        let mut work = Work::new(Some(who.user), now, mint);
        let before = work.changes.puts.len();
        let next = match &self.record.plot {
            Plot::Duplicate(plot) => plot.step(self, view, more, &mut work)?,
        };
        let mut held = self.clone();
        held.record.made += (work.changes.puts.len() - before) as u64;
        let done = match next {
            Next::Done => true,
            Next::On(plot) => {
                held.record.plot = plot;
                false
            }
        };
        let fresh = now.millis() - self.since.millis() < RENEW_MS;
        if work.changes.is_empty() && !done && fresh {
            // Reading again after a crash costs less than a commit now.
            return Ok(Stepped {
                changes: None,
                held,
                ended: false,
            });
        }
        let status = if done { "succeeded" } else { "in_progress" };
        held.write(work.changes, now, status, now.millis() + LEASE_MS)
    }

    /// Ends the job without success.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn fail(&self, now: Time, why: &str) -> Result<Stepped, Fault> {
        let mut held = self.clone();
        held.record.error = Some(why.to_owned());
        held.write(Changes::default(), now, "failed", 0)
    }

    /// Adds the job's next version to the changes, under the version that is held. `until` is the end
    /// of the lease, in milliseconds.
    fn write(
        mut self,
        mut changes: Changes,
        now: Time,
        status: &str,
        until: i64,
    ) -> Result<Stepped, Fault> {
        let (who, queue) = (self.viewer()?.user, self.queue);
        let gid = self.gid();
        let ended = matches!(status, "succeeded" | "failed");
        let mut draft = Draft::edit(&self.node);
        draft.set(job::STATUS, status);
        draft.set(job::RECORD, written(&self.record)?);
        (changes.actor, changes.at) = (Some(who), now);
        changes.guards.push(Guard::Version(gid, self.node.version));
        self.node = draft.finish();
        self.since = now;
        changes.puts.push(Put {
            node: self.node.clone(),
        });
        if ended {
            changes.unlinks.push((gid, rel::ACTIVE, who));
            changes.unlinks.push((gid, rel::QUEUE, queue));
        } else {
            changes.links.push(crate::graph::Link {
                src: gid,
                rel: rel::QUEUE,
                dst: queue,
                place: Place::Rank(until),
                aux: None,
            });
        }
        Ok(Stepped {
            changes: Some(changes),
            held: self,
            ended,
        })
    }
}

fn written(record: &Record) -> Result<String, Fault> {
    serde_json::to_string(record).map_err(|e| Fault::invalid(e.to_string()))
}
