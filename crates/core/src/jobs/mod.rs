//! Jobs: long work in steps that survive any crash.
//!
//! A job is a node. A step is pure: it declares its reads, and computes the changes from them. The changes hold up to
//! [`STEP_OBJECTS`] new objects and, in the same commit, the job's next version: the checkpoint. So after a crash between two
//! steps, the next one starts where the last commit ended.
//!
//! The job's version is the fencing token. A claim of the job writes a new version, and every later write requires the version
//! before it. So a worker that lost the lease cannot write any more.
//!
//! A claim is counted in the same version, before a step is taken, and a committed step resets the count. So the count reveals a
//! job that crashes every process that runs it, and the job fails.
//!
//! A step of a job that writes a file appends to the file before the step is committed, and the checkpoint keeps the length of
//! the file. The next worker cuts off the bytes beyond that length.
//!
//! Two edges exist until a job ends. One leads to the user, who may have a limited number of jobs ([`JobRequester`]); a
//! guard of the starting commit enforces this limit. The other leads to the queue, where jobs are in the order of the
//! earliest time at which they may be claimed: at once, or when the current lease ends.
pub mod cleanup;
pub mod date_shift;
pub mod duplication;
mod lease;
pub mod numbering;
mod output_buffer;
pub mod portfolio_duplication;
pub mod resource_export;
pub mod template_instantiation;
pub mod template_snapshot;
pub mod tree_export;

pub use lease::{FileOutput, JobStepResult, LeasedJob, PreparedStep};
pub use output_buffer::{FileEnd, OutputBuffer};

use crate::domain_error::DomainError;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::registry::{Type, rel};
use crate::model::resources::job;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{Guard, ListPosition, NodeRef, NodeWrite, ReadQuery, ReadView, ViewerKey};
use duplication::Duplication;
use numbering::Numbering;
use portfolio_duplication::PortfolioDuplication;
use resource_export::ResourceExport;
use serde::{Deserialize, Serialize};
use template_instantiation::TemplateInstantiation;
use tree_export::TreeExport;

/// Maximum number of objects that one step creates.
pub const STEP_OBJECTS: usize = 100;
/// Length of a lease, in milliseconds; each checkpoint restarts it.
pub const LEASE_MS: i64 = 30_000;
/// Age at which a lease is renewed even if no object was created, in milliseconds.
pub const RENEW_MS: i64 = 10_000;
/// Maximum time from the start of a job to its end, in milliseconds; then the job fails.
pub const DEADLINE_MS: i64 = 3_600_000;
/// Maximum number of consecutive claims of a job without a completed step.
pub const CLAIMS_MAX: u32 = 2;
/// Pause after a claim without a completed step, before the next claim, in milliseconds: a starting process serves requests
/// first.
pub const PAUSE_MS: i64 = 2_000;
/// Alias of the node for the queue of all jobs.
const QUEUE: &str = "queue:jobs";

/// Returns a reference to the queue of jobs.
#[must_use]
pub fn queue() -> NodeRef {
    NodeRef::Alias(QUEUE.to_owned())
}

/// Returns the node of the queue, from a view whose query had [`queue`]; creates it on first use.
fn queue_node(work: &mut ChangeBuilder<'_>, view: &ReadView) -> Gid {
    view.resolve(&queue()).unwrap_or_else(|| {
        let draft = work.draft(Type::Job, None);
        work.changes.add_aliases.push((QUEUE.to_owned(), draft.gid));
        work.changes.node_writes.push(NodeWrite {
            node: draft.finish(),
        });
        draft.gid
    })
}

/// Stored record of a job, beside its public fields. Jobs outlive the program that started them: a field that is added here or in
/// a job kind has a default, so that older records can still be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Kind of the work, with its progress.
    #[serde(rename = "plot")]
    pub kind: JobKind,
    /// Workspace of the service account that requested the job, if one did.
    pub service: Option<Gid>,
    /// Time at which an unfinished job fails, in milliseconds of the Unix epoch.
    pub deadline: i64,
    /// Number of objects created or exported so far.
    #[serde(default)]
    #[serde(rename = "made")]
    pub objects_done: u64,
    /// Number of claims since the last completed step.
    #[serde(default)]
    #[serde(rename = "take_ups")]
    pub claims: u32,
    /// Reason of the failure, if the job failed.
    pub error: Option<String>,
}

/// Kind of a job's work, with its progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobKind {
    /// Copying of a task, a project or a template.
    Duplicate(Duplication),
    /// Duplication of a portfolio's items.
    DuplicatePortfolio(PortfolioDuplication),
    /// Export of a graph or an organization into a file.
    Export(TreeExport),
    /// Numbering of tasks in a field with automatic ids.
    #[serde(rename = "Number")]
    AssignNumbers(Numbering),
    /// Addition of the relations and values of a recipe to its new tasks.
    #[serde(rename = "Cook")]
    InstantiateTemplate(TemplateInstantiation),
    /// Export of the resources that pass filters into a file.
    #[serde(rename = "Bulk")]
    ExportResources(ResourceExport),
}

impl JobKind {
    /// Names of the kinds, for metrics.
    pub const NAMES: [&'static str; 6] = [
        "duplicate",
        "duplicate_portfolio",
        "export",
        "assign_numbers",
        "instantiate_template",
        "export_resources",
    ];

    /// Returns the index of the kind's name in [`NAMES`](Self::NAMES).
    #[must_use]
    pub const fn index(&self) -> usize {
        match self {
            Self::Duplicate(_) => 0,
            Self::DuplicatePortfolio(_) => 1,
            Self::Export(_) => 2,
            Self::AssignNumbers(_) => 3,
            Self::InstantiateTemplate(_) => 4,
            Self::ExportResources(_) => 5,
        }
    }

    /// Returns the name of the kind, as metrics show it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        Self::NAMES.get(self.index()).copied().unwrap_or_default()
    }

    /// Returns the node of the file that the job writes, with the end of the file, if it writes one.
    fn file(&self) -> Option<(Gid, FileEnd)> {
        match self {
            Self::Export(export) => Some((export.file_node, export.file_end)),
            Self::ExportResources(bulk) => Some((bulk.file_node, bulk.file_end)),
            Self::Duplicate(_)
            | Self::DuplicatePortfolio(_)
            | Self::AssignNumbers(_)
            | Self::InstantiateTemplate(_) => None,
        }
    }

    /// Sets the end of the job's file.
    fn set_mark(&mut self, mark: FileEnd) {
        match self {
            Self::Export(export) => export.file_end = mark,
            Self::ExportResources(bulk) => bulk.file_end = mark,
            Self::Duplicate(_)
            | Self::DuplicatePortfolio(_)
            | Self::AssignNumbers(_)
            | Self::InstantiateTemplate(_) => {}
        }
    }
}

/// Result of a step of a job kind: the next state of the work.
pub(crate) enum NextStep {
    /// The work continues with this state.
    Continue(JobKind),
    /// All the work of the job is done.
    Done,
}

/// Requester of a job, with the limit of their jobs.
#[derive(Clone, Copy, Debug)]
pub struct JobRequester {
    /// User or service account that asks for the job.
    pub viewer: ViewerKey,
    /// Maximum number of jobs of the user that may be unfinished.
    pub max_running: u32,
}

/// Adds the reads for starting a job.
#[must_use]
pub fn start_needs(want: ReadQuery, by: JobRequester) -> ReadQuery {
    want.incoming_edges(by.viewer.user, rel::ACTIVE, by.max_running as usize)
        .node(queue())
}

/// Starts a job; `new` writes the links to the nodes that the job creates.
///
/// # Errors
/// Fails if the user already has the maximum number of running jobs.
pub fn start(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    by: JobRequester,
    workspace: Gid,
    subtype: &str,
    plot: JobKind,
    new: impl FnOnce(&mut Draft),
) -> Result<Gid, DomainError> {
    let mut draft = work.draft(Type::Job, Some(workspace));
    draft.set(job::SUBTYPE, subtype);
    new(&mut draft);
    start_from_draft(work, view, by, draft, plot)
}

/// Starts a job from its draft, which may already have other fields.
///
/// # Errors
/// Fails if the user already has the maximum number of running jobs.
pub fn start_from_draft(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    by: JobRequester,
    mut draft: Draft,
    plot: JobKind,
) -> Result<Gid, DomainError> {
    let JobRequester {
        viewer,
        max_running: most,
    } = by;
    let active = view.sources(viewer.user, rel::ACTIVE);
    if let (true, Some(first)) = (active.len() >= most as usize, active.first()) {
        // A place becomes free no later than the deadline of the earliest job; most jobs end long before.
        let wait = (first.rank - work.now.millis()).div_euclid(1000) + 1;
        let seconds = u32::try_from(wait.clamp(1, 60)).unwrap_or(60);
        return Err(DomainError::busy(
            seconds,
            format!(
                "You've made too many requests and hit a rate limit: {most} jobs of yours are running. Please retry after the given amount of time."
            ),
        ));
    }
    let queue = queue_node(work, view);
    let deadline = work.now.millis() + DEADLINE_MS;
    let record = JobRecord {
        kind: plot,
        service: viewer.service,
        deadline,
        objects_done: 0,
        claims: 0,
        error: None,
    };
    draft.set(job::CREATED_BY, viewer.user);
    draft.set(job::RECORD, written(&record)?);
    let gid = draft.gid;
    work.changes.node_writes.push(NodeWrite {
        node: draft.finish(),
    });
    let guard = Guard::Below(viewer.user, rel::ACTIVE, u64::from(most));
    work.changes.guards.push(guard);
    work.link(
        gid,
        rel::ACTIVE,
        viewer.user,
        ListPosition::Rank(deadline),
        None,
    );
    let now = work.now.millis();
    work.link(gid, rel::QUEUE, queue, ListPosition::Rank(now), None);
    Ok(gid)
}

fn written(record: &JobRecord) -> Result<String, DomainError> {
    serde_json::to_string(record).map_err(|e| DomainError::invalid(e.to_string()))
}
