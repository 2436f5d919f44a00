//! State of an export, which all of its parts use and add to.
use crate::admin::fixture_export::exported_people::ExportedPeople;
use crate::admin::fixture_export::exported_requests::ExportedRequests;
use crate::admin::fixture_export::fixture_labels::FixtureLabels;
use serde_json::Value;
use std::collections::BTreeMap;
use workgraph_core::Gid;

/// State of an export in progress.
pub(crate) struct ExportState {
    pub(crate) people: ExportedPeople,
    pub(crate) labels: FixtureLabels,
    pub(crate) requests: ExportedRequests,
    /// Number of objects and properties that are left out, by kind.
    pub(crate) left_out: BTreeMap<String, usize>,
}

impl ExportState {
    /// Returns the state at the start of an export.
    pub(crate) fn new(people: ExportedPeople, labels: FixtureLabels) -> Self {
        let left_out = people.left_out;
        let mut state = Self {
            people,
            labels,
            requests: ExportedRequests::default(),
            left_out: BTreeMap::new(),
        };
        for (what, count) in left_out {
            state.leave_out(what, count);
        }
        state
    }

    /// Counts objects or properties that are left out; `what` is their kind.
    pub(crate) fn leave_out(&mut self, what: &str, count: usize) {
        if count > 0 {
            *self.left_out.entry(what.to_owned()).or_default() += count;
        }
    }

    /// Returns the label of a request's sender; `None` for the first person, who is the default.
    pub(crate) fn sender(&self, person: Gid) -> Option<String> {
        let other = Some(person).filter(|gid| self.people.first() != Some(*gid));
        other
            .and_then(|gid| self.labels.label(gid))
            .map(str::to_owned)
    }

    /// Returns references to objects. Objects that are not part of the fixture are counted as left out.
    pub(crate) fn references(&mut self, gids: &[Gid], what: &str) -> Vec<Value> {
        let found: Vec<Value> = gids
            .iter()
            .filter_map(|gid| self.labels.reference(*gid))
            .collect();
        self.leave_out(what, gids.len().saturating_sub(found.len()));
        found
    }
}
