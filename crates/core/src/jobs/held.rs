//! A job in somebody's hands: taking it up, stepping, and writing each step under its fence.
use super::export::Mark;
use super::{LEASE_MS, Next, PAUSE_MS, Plot, RENEW_MS, Record, STEP, TAKE_UPS_MAX, written};
use crate::budget;
use crate::draft::Draft;
use crate::fault::{Fault, Kind};
use crate::gid::Gid;
use crate::graph::{Changes, Guard, Link, Place, Put, View, ViewerKey, Want};
use crate::node::Node;
use crate::project::{Projector, Tally};
use crate::registry::{Type, rel};
use crate::resources::{export, job};
use crate::time::Time;
use crate::work::Work;

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
    /// What is to go into its file with the next checkpoint.
    pub unsent: Unsent,
    /// How often the rows that a step reads are halved, because more of them were more than a budget holds or took
    /// too long.
    pub narrowed: u32,
}

/// Records on their way into a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsent {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many records they are.
    pub objects: usize,
}

impl Unsent {
    /// Takes what a projector wrote behind what is here.
    ///
    /// # Errors
    /// When that is more than the budget of a step holds.
    pub(super) fn put(&mut self, projector: Projector<'_>) -> Result<Tally, Fault> {
        let (bytes, tally) = projector.finish().map_err(|fault| match fault.kind {
            Kind::TooLarge => Fault::too_large(format!(
                "A record would be larger than {} bytes; name fewer fields or shorter paths.",
                budget::STEP
            )),
            _ => fault,
        })?;
        self.bytes = bytes;
        self.objects += tally.objects as usize;
        Ok(tally)
    }

    /// Whether they are enough for a checkpoint.
    fn is_due(&self) -> bool {
        self.objects >= STEP || self.bytes.len() >= UNSENT_MAX
    }
}

/// A step that was taken. What it has for a file must be in the file before the step is settled.
#[derive(Clone, Debug)]
pub struct Step {
    changes: Changes,
    held: Held,
    now: Time,
    course: Course,
}

/// What follows from a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// Nothing that is worth a commit.
    Rests,
    /// A checkpoint.
    Goes,
    /// The end.
    Ends,
}

/// What a step has for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// The node whose file it is.
    pub file: Gid,
    /// The fencing token: nothing is taken any more that comes with a lower one.
    pub fence: u64,
    /// Where the file ended at the last checkpoint; what is beyond it is cut off.
    pub after: Mark,
    /// What is appended.
    pub bytes: &'a [u8],
    /// Whether the file is then whole.
    pub ends: bool,
    /// Whether the whole file is kept for a month, instead of a day.
    pub long: bool,
}

/// How many bytes are put into a file before there were enough records, at most about.
const UNSENT_MAX: usize = 1 << 20;

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

impl Held {
    /// A job that was read.
    ///
    /// # Errors
    /// When the node holds no record of a job, or one that cannot be read, and why.
    pub fn read(node: &Node, queue: Gid, now: Time) -> Result<Self, Fault> {
        let record = node.raw("job");
        let record = record.ok_or_else(|| Fault::invalid("the job has no record"))?;
        let record = serde_json::from_str(record);
        Ok(Self {
            node: node.clone(),
            record: record.map_err(|e| Fault::invalid(format!("the job's record: {e}")))?,
            queue,
            since: now,
            unsent: Unsent::default(),
            narrowed: 0,
        })
    }

    /// The job.
    #[must_use]
    pub fn gid(&self) -> Gid {
        self.node.gid
    }

    /// The node whose file it writes, if it writes one.
    #[must_use]
    pub fn file(&self) -> Option<Gid> {
        self.record.plot.file().map(|(file, _)| file)
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

    /// Takes the job up, or takes it over from whoever let its lease end. One whose time is over has failed, and so
    /// has one that was taken up [`TAKE_UPS_MAX`] times already and came no further.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn claim(&self, now: Time) -> Result<Stepped, Fault> {
        if now.millis() >= self.record.deadline {
            return self.fail(now, "The job was not done in time.");
        }
        if self.record.take_ups >= TAKE_UPS_MAX {
            let why = format!(
                "What carried the job out ended {TAKE_UPS_MAX} times in a row before a step of it was done."
            );
            return self.fail(now, &why);
        }
        let mut held = self.clone();
        held.record.take_ups += 1;
        held.write(
            Changes::default(),
            now,
            "in_progress",
            now.millis() + LEASE_MS,
        )
    }

    /// Gives the job back for whoever had it and is dead: anyone may take it up, at once if a step of it was done.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn release(&self, now: Time) -> Result<Stepped, Fault> {
        let pause = if self.record.take_ups > 0 {
            PAUSE_MS
        } else {
            0
        };
        let until = now.millis() + pause;
        self.clone()
            .write(Changes::default(), now, "in_progress", until)
    }

    /// Gives the job back at a time at which anyone may take it up, and does not count that it was taken up: what
    /// stopped it was not its step.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn give_back(&self, now: Time, until: Time) -> Result<Stepped, Fault> {
        let mut held = self.clone();
        held.record.take_ups = self.record.take_ups.saturating_sub(1);
        held.write(Changes::default(), now, "in_progress", until.millis())
    }

    /// Begins the lease anew, for a job whose step took long and is taken again.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn renew(&self, now: Time) -> Result<Stepped, Fault> {
        let until = now.millis() + LEASE_MS;
        self.clone()
            .write(Changes::default(), now, "in_progress", until)
    }

    /// What the next step must read.
    ///
    /// # Errors
    /// When the node names nobody.
    pub fn needs(&self) -> Result<Want, Fault> {
        let want = Want::of(self.viewer()?).node(self.gid());
        let mut want = match &self.record.plot {
            Plot::Duplicate(plot) => plot.needs(self.gid(), want),
            Plot::Export(plot) => plot.needs(want),
            Plot::Number(plot) => plot.needs(self.gid(), want),
            Plot::Cook(plot) => plot.needs(want),
            Plot::Bulk(plot) => plot.needs(want)?,
        };
        if let Some(page) = &mut want.page {
            page.limit = page.limit.checked_shr(self.narrowed).unwrap_or(0).max(1);
        }
        Ok(want)
    }

    /// The same job with half as many rows in its next step, for when those of this one are more than a budget
    /// holds or take too long; none if there is only one left.
    #[must_use]
    pub fn narrower(&self) -> Option<Self> {
        let rows = self.needs().ok()?.page?.limit;
        (rows > 1).then(|| Self {
            narrowed: self.narrowed + 1,
            ..self.clone()
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
            Plot::Export(plot) => plot.more(view, want),
            Plot::Number(_) | Plot::Bulk(_) => None,
            Plot::Cook(plot) => plot.more(view, want),
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
    ) -> Result<Step, Fault> {
        if now.millis() >= self.record.deadline {
            return Err(Fault::invalid("The job was not done in time."));
        }
        if view.viewer.seats.is_empty() && view.viewer.service.is_none() {
            return Err(Fault::invalid("Who asked for the job is gone."));
        }
        let who = self.viewer()?;
        let mut work = Work::new(Some(who.user), now, mint);
        let mut held = self.clone();
        held.narrowed = self.narrowed.saturating_sub(1);
        let next = match &self.record.plot {
            Plot::Duplicate(plot) => {
                let next = plot.step(self, view, more, &mut work)?;
                held.record.made += work.changes.puts.len() as u64;
                next
            }
            Plot::Number(plot) => {
                held.record.made += view.rows.gids.len() as u64;
                plot.step(self.gid(), view, &mut work)?
            }
            Plot::Cook(plot) => plot.step(view, more, &mut work)?,
            Plot::Export(plot) => plot.step(view, more, &mut work, &mut held.unsent)?,
            Plot::Bulk(plot) => plot.step(view, &mut work, &mut held.unsent)?,
        };
        held.record.made += (held.unsent.objects - self.unsent.objects) as u64;
        let mut course = Course::Goes;
        match next {
            Next::Done => course = Course::Ends,
            Next::On(plot) => held.record.plot = plot,
        }
        let again = self.record.take_ups > 1;
        let fresh = now.millis() - self.since.millis() < RENEW_MS && !again;
        let nothing = work.changes.is_empty() && !held.unsent.is_due();
        if course == Course::Goes && nothing && fresh {
            // Reading again after a crash costs less than a commit now.
            course = Course::Rests;
        }
        Ok(Step {
            changes: work.changes,
            held,
            now,
            course,
        })
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
        if status == "succeeded" && self.node.ty == Type::OrganizationExport {
            draft.set(export::COMPLETED_AT, now);
        }
        (changes.actor, changes.at) = (Some(who), now);
        changes.guards.push(Guard::Version(gid, self.node.version));
        self.node = draft.finish();
        self.since = now;
        changes.puts.push(Put {
            node: self.node.clone(),
        });
        if ended {
            if let Plot::Bulk(bulk) = &self.record.plot {
                changes.unlinks.push((gid, rel::EXPORTS, bulk.workspace));
            }
            changes.unlinks.push((gid, rel::ACTIVE, who));
            changes.unlinks.push((gid, rel::QUEUE, queue));
        }
        let (rel, rank) = if ended {
            (rel::ENDED, now.millis())
        } else {
            (rel::QUEUE, until)
        };
        changes.links.push(Link {
            src: gid,
            rel,
            dst: queue,
            place: Place::Rank(rank),
            aux: None,
        });
        Ok(Stepped {
            changes: Some(changes),
            held: self,
            ended,
        })
    }
}

impl Step {
    /// What must be in the file before the step is settled.
    #[must_use]
    pub fn output(&self) -> Option<Output<'_>> {
        let (file, after) = self.held.record.plot.file()?;
        let bytes = &self.held.unsent.bytes;
        let ends = self.course == Course::Ends;
        let due = ends || (self.course != Course::Rests && !bytes.is_empty());
        due.then_some(Output {
            file,
            fence: self.held.node.version,
            after,
            bytes,
            ends,
            long: matches!(self.held.record.plot, Plot::Bulk(_)),
        })
    }

    /// What is to be committed; `mark` is where the file ends now, if there was anything for one.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn settle(mut self, mark: Option<Mark>) -> Result<Stepped, Fault> {
        if self.course == Course::Rests {
            return Ok(Stepped {
                changes: None,
                held: self.held,
                ended: false,
            });
        }
        if let Some(mark) = mark {
            self.held.record.plot.set_mark(mark);
            self.held.unsent = Unsent::default();
        }
        self.held.record.take_ups = 0;
        let status = if self.course == Course::Ends {
            "succeeded"
        } else {
            "in_progress"
        };
        let until = self.now.millis() + LEASE_MS;
        self.held.write(self.changes, self.now, status, until)
    }
}
