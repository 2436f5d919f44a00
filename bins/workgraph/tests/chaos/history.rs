//! Histories as values: requests of clients with their outcomes, deliveries, faults, and the state in the end.
use std::collections::{BTreeMap, BTreeSet};

/// Microseconds since the history began.
pub(crate) type Micros = u64;

/// Outcome of a run of clients and faults against several nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) nodes: usize,
    /// Time at which the clients were told to stop.
    pub(crate) worked: Micros,
    pub(crate) entries: Vec<Entry>,
    pub(crate) deliveries: Vec<Delivery>,
    /// Tasks that the stream of events says were added, in its order.
    pub(crate) streamed: Vec<String>,
    pub(crate) faults: Vec<FaultWindow>,
    /// Requests in flight that Redis knew of at some moments: reads and writes of one key.
    pub(crate) permits: Vec<[u32; 2]>,
    pub(crate) limits: LimitFacts,
    pub(crate) end: EndState,
}

/// Request with its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) node: usize,
    pub(crate) begun: Micros,
    pub(crate) ended: Micros,
    pub(crate) act: Act,
    pub(crate) outcome: Outcome,
}

/// Request of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    /// Makes a task with a value.
    Create { value: u64 },
    /// Gives a task another value; no two writes have the same one.
    Write { task: String, value: u64 },
    /// Reads the value of a task.
    Read { task: String },
    /// Reads a whole list, each page at another node: of the project whose tasks nobody changes, or of the other one.
    List { is_static: bool },
    /// Uses a token.
    Probe { token: usize },
    /// Revokes a token.
    Revoke { token: usize },
    /// Redeems a code.
    Redeem { code: usize },
    /// Sends a request that counts towards a small limit; `true`: after the wait that the last refusal told.
    Limited { key: usize, waited: bool },
    /// Starts a copy of the static project.
    Copy { name: String },
    /// Looks at a job.
    Job { job: String },
    /// Exports the static project, to the end.
    Export,
}

/// Content of a reply that a client learned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// There was no whole answer: the request took effect or not.
    Lost,
    /// Another status than success, with what the reply says; nothing if it does not say it in the form of the contract.
    Refused {
        status: u16,
        reason: String,
    },
    Done(Found),
}

/// Content of a success.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Nothing,
    Gid(String),
    Value(u64),
    Gids(Vec<String>),
    Text(String),
}

/// Delivery that the target of the webhook received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Delivery {
    pub(crate) begun: Micros,
    pub(crate) ended: Micros,
    /// Ids of its events, in order.
    pub(crate) events: Vec<EventId>,
    /// True if it was answered with success.
    pub(crate) is_answered: bool,
}

/// Event as a webhook tells of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EventId {
    /// Number of its commit, and its place there.
    pub(crate) id: (u64, u64),
    pub(crate) task: String,
    /// `added`, or the name of the field that changed.
    pub(crate) what: String,
}

/// Fault with the time in which it had effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FaultWindow {
    pub(crate) begun: Micros,
    pub(crate) ended: Micros,
    pub(crate) name: String,
    /// Node that it hit; `None` for all.
    pub(crate) node: Option<usize>,
}

/// Facts that bounds of limits depend on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LimitFacts {
    /// Requests that a small limit admits in a minute.
    pub(crate) quota: usize,
    /// Most writes at the same time.
    pub(crate) write_cap: u32,
    /// Most reads at the same time.
    pub(crate) read_cap: u32,
    /// True if a node decided alone for some time, or Redis was away from all.
    pub(crate) is_local: bool,
    /// Times that Redis was emptied.
    pub(crate) flushes: usize,
    /// Starts of nodes but the first.
    pub(crate) restarts: usize,
}

/// State when all faults are over.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EndState {
    /// Values of all tasks of the project, by gid.
    pub(crate) tasks: BTreeMap<String, u64>,
    /// Tasks of the static project in their order.
    pub(crate) static_order: Vec<String>,
    /// Names of copies, each with the numbers of tasks of every project of that name.
    pub(crate) copies: BTreeMap<String, Vec<usize>>,
    /// Number of each commit in the journal, with the gids that it names.
    pub(crate) journal: Vec<(u64, BTreeSet<String>)>,
    /// Number before the first commit that is there.
    pub(crate) journal_base: u64,
    /// Number, time and gid of each row of the audit log.
    pub(crate) audit: Vec<(u64, u64, u64)>,
    /// Rows of the audit log that tell of exports.
    pub(crate) audited_exports: usize,
    /// Checks of the store that found faults, with what they said.
    pub(crate) failed_checks: Vec<String>,
    /// Positions from and to which successful deliveries went, in the order in which they were stored.
    pub(crate) positions: Vec<[(u64, u64); 2]>,
    /// Numbers of nodes, each with the millisecond before which its gids are.
    pub(crate) leases: Vec<(u64, u64)>,
    /// Paths with the bodies that the nodes answered when nothing happened any more.
    pub(crate) replies: Vec<(String, Vec<String>)>,
    /// Export of the static project that no fault met.
    pub(crate) export: Option<String>,
}

impl History {
    /// Returns the entries that match.
    pub(crate) fn done(&self) -> impl Iterator<Item = (&Entry, &Found)> {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.outcome {
                Outcome::Done(found) => Some((entry, found)),
                _ => None,
            })
    }

    /// Returns the tasks that were made for sure, with the entries that made them.
    pub(crate) fn created(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.done()
            .filter_map(|(entry, found)| match (&entry.act, found) {
                (Act::Create { .. }, Found::Gid(gid)) => Some((gid.as_str(), entry)),
                _ => None,
            })
    }
}
