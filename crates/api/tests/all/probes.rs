//! Coverage by computation: rules that must hold for every row of the operation table.
mod deletions;
mod names;
mod place_choice;
mod record_samples;
mod requests;
mod rows;
mod sample;
mod tenant_isolation;
mod turns;

pub(crate) use sample::{ORCHID, Sample, sample, sender};

use crate::world::{Kind, World};
use workgraph_operations::operation::Operation;

/// Number of probes of a row. Each probe counts the requests that it sends; `docs/generated/COVERAGE.md` shows these figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Planned {
    /// Its sample without a token: 401.
    pub(crate) token: usize,
    /// Its sample with all scopes but its own: 403.
    pub(crate) scope: usize,
    /// Required inputs, each left out: 400.
    pub(crate) missing: usize,
    /// Gids of the path, each unknown: 404.
    pub(crate) unknown: usize,
    /// Gids of the path, each of an object that the caller cannot see: 403.
    pub(crate) hidden: usize,
    /// Its sample in a free workspace, if the row needs a paid one: 402.
    pub(crate) paid: usize,
    /// Places for gids in path, query and body, each with every object of another tenant.
    pub(crate) slots: usize,
}

impl Planned {
    pub(crate) fn of(row: &Operation) -> Self {
        let ids = sample::parameters(row).len();
        Self {
            token: 1,
            // A batch needs no scope; its actions need theirs.
            scope: usize::from(row.id != "createBatchRequest"),
            missing: row.required_query().count() + row.required_body().count(),
            unknown: ids,
            hidden: ids,
            paid: usize::from(row.paid_only.is_some()),
            slots: ids
                + tenant_isolation::query_slots(row).len()
                + tenant_isolation::body_slots(row).len(),
        }
    }
}

fn memory() -> World {
    World::new(Kind::Memory)
}
