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
//! Taking a job up is counted in the same version, before a step is taken, and a step that is committed sets the count
//! back. So a job that ends whatever process carries it out is known by its count, and fails.
//!
//! A job that writes a file has its step put into the file before the step is committed, and keeps in its
//! checkpoint how long the file then is. Whatever is in the file beyond that is cut off by whoever goes on.
//!
//! Two edges stand as long as a job is not at its end. One leads to the user, who may have
//! so many of them ([`Starter`]), which a guard of the starting commit holds to. The other leads to the queue,
//! where jobs stand by the time at which they may be taken up: at once, or when the lease of
//! whoever has it ends.
pub mod bulk;
pub mod dates;
pub mod duplication;
pub mod ended;
pub mod export;
pub mod freezing;
mod held;
pub mod numbering;
pub mod recipe;

pub use held::{Held, Output, Step, Stepped, Unsent};

use crate::draft::Draft;
use crate::fault::Fault;
use crate::gid::Gid;
use crate::graph::{Guard, Place, Put, Ref, View, ViewerKey, Want};
use crate::registry::{Type, rel};
use crate::resources::job;
use crate::work::Work;
use bulk::Bulk;
use duplication::Duplication;
use export::{Export, Mark};
use numbering::Numbering;
use recipe::Cooking;
use serde::{Deserialize, Serialize};

/// The most objects of one step.
pub const STEP: usize = 100;
/// How long a job belongs to whoever took it up, in milliseconds; each checkpoint starts it anew.
pub const LEASE_MS: i64 = 30_000;
/// After how much of a lease it is renewed even if no object was made, in milliseconds.
pub const RENEW_MS: i64 = 10_000;
/// When a job that is not done has failed, in milliseconds after its start.
pub const DEADLINE_MS: i64 = 3_600_000;
/// How often a job is taken up at most without a step of it being done since.
pub const TAKE_UPS_MAX: u32 = 2;
/// How long a job waits that was taken up without a step of it being done since, before it is taken up again, in
/// milliseconds: a process that starts has the time to serve first.
pub const PAUSE_MS: i64 = 2_000;
/// The name of the node that all jobs stand in line at.
const QUEUE: &str = "queue:jobs";

/// The queue of jobs.
#[must_use]
pub fn queue() -> Ref {
    Ref::Alias(QUEUE.to_owned())
}

/// The node of the queue, which a view has that wants [`queue`]; made when it is first needed.
fn queue_node(work: &mut Work<'_>, view: &View) -> Gid {
    view.resolve(&queue()).unwrap_or_else(|| {
        let draft = work.draft(Type::Job, None);
        work.changes.aliases.push((QUEUE.to_owned(), draft.gid));
        work.changes.puts.push(Put {
            node: draft.finish(),
        });
        draft.gid
    })
}

/// What a job keeps besides its public record. Jobs outlive the program that started them: a field
/// that is added here or in a plot has a default, so that records without it are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What is to be done, and how far it is.
    pub plot: Plot,
    /// The workspace, if a service account asked for it.
    pub service: Option<Gid>,
    /// When it fails if it is not done, in milliseconds of the Unix epoch.
    pub deadline: i64,
    /// Objects made or exported so far.
    #[serde(default)]
    pub made: u64,
    /// How often it was taken up since a step of it was last done.
    #[serde(default)]
    pub take_ups: u32,
    /// Why it failed.
    pub error: Option<String>,
}

/// The kinds of work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Plot {
    /// Copying tasks.
    Duplicate(Duplication),
    /// Writing records into a file.
    Export(Export),
    /// Numbering tasks.
    Number(Numbering),
    /// Giving tasks what their recipe says.
    Cook(Cooking),
    /// Writing what fits some filters into a file.
    Bulk(Bulk),
}

impl Plot {
    /// The node whose file it writes, and where that ends, if it writes one.
    fn file(&self) -> Option<(Gid, Mark)> {
        match self {
            Self::Export(export) => Some((export.to, export.mark)),
            Self::Bulk(bulk) => Some((bulk.to, bulk.mark)),
            Self::Duplicate(_) | Self::Number(_) | Self::Cook(_) => None,
        }
    }

    /// Says where its file ends now.
    fn set_mark(&mut self, mark: Mark) {
        match self {
            Self::Export(export) => export.mark = mark,
            Self::Bulk(bulk) => bulk.mark = mark,
            Self::Duplicate(_) | Self::Number(_) | Self::Cook(_) => {}
        }
    }
}

/// What a step of a kind of work adds to its changes.
pub(crate) enum Next {
    /// The work goes on so.
    On(Plot),
    /// It is done.
    Done,
}

/// Who starts a job.
#[derive(Clone, Copy, Debug)]
pub struct Starter {
    /// Who.
    pub who: ViewerKey,
    /// The most jobs of theirs that are not at their end.
    pub most: u32,
}

/// Adds what starting a job must see.
#[must_use]
pub fn starting(want: Want, by: Starter) -> Want {
    want.into(by.who.user, rel::ACTIVE, by.most as usize)
        .node(queue())
}

/// Starts a job; `new` writes the links to what it makes.
///
/// # Errors
/// When the user has as many jobs as one may have.
pub fn start(
    work: &mut Work<'_>,
    view: &View,
    by: Starter,
    home: Gid,
    subtype: &str,
    plot: Plot,
    new: impl FnOnce(&mut Draft),
) -> Result<Gid, Fault> {
    let mut draft = work.draft(Type::Job, Some(home));
    draft.set(job::SUBTYPE, subtype);
    new(&mut draft);
    launch(work, view, by, draft, plot)
}

/// Starts a job from its draft, whatever else the draft shows.
///
/// # Errors
/// When the user has as many jobs as one may have.
pub fn launch(
    work: &mut Work<'_>,
    view: &View,
    by: Starter,
    mut draft: Draft,
    plot: Plot,
) -> Result<Gid, Fault> {
    let Starter { who, most } = by;
    let active = view.sources(who.user, rel::ACTIVE);
    if let (true, Some(first)) = (active.len() >= most as usize, active.first()) {
        // The earliest deadline frees a place at the latest; most jobs end long before.
        let wait = (first.rank - work.now.millis()).div_euclid(1000) + 1;
        let seconds = u32::try_from(wait.clamp(1, 60)).unwrap_or(60);
        return Err(Fault::busy(
            seconds,
            format!(
                "You've made too many requests and hit a rate limit: {most} jobs of yours are running. Please retry after the given amount of time."
            ),
        ));
    }
    let queue = queue_node(work, view);
    let deadline = work.now.millis() + DEADLINE_MS;
    let record = Record {
        plot,
        service: who.service,
        deadline,
        made: 0,
        take_ups: 0,
        error: None,
    };
    draft.set(job::CREATED_BY, who.user);
    draft.set(job::RECORD, written(&record)?);
    let gid = draft.gid;
    work.changes.puts.push(Put {
        node: draft.finish(),
    });
    let guard = Guard::Below(who.user, rel::ACTIVE, u64::from(most));
    work.changes.guards.push(guard);
    work.link(gid, rel::ACTIVE, who.user, Place::Rank(deadline), None);
    let now = work.now.millis();
    work.link(gid, rel::QUEUE, queue, Place::Rank(now), None);
    Ok(gid)
}

fn written(record: &Record) -> Result<String, Fault> {
    serde_json::to_string(record).map_err(|e| Fault::invalid(e.to_string()))
}
