//! Attempts to load from facts.
use super::attempt_facts::{AttemptCache, AttemptFacts};
use super::facts::Facts;
use super::facts_snapshot::FactsSnapshot;
use super::graph_read::GraphRead;
use crate::access::{Role, Viewer, WorkspaceMembership};
use crate::engine::{load, loader};
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::registry::{FieldSource, Relation, rel};
use crate::plan::PlanStep;
use crate::storage::snapshot::Depth;
use crate::storage::{NodeRef, ReadQuery, ReadView, ViewerKey};
use std::sync::Arc;

/// Outcome of an attempt.
#[derive(Debug)]
pub enum Attempt<T> {
    /// The facts answered every read, so the store would have given the same result.
    Whole(Result<T, GraphStoreError>),
    /// Reads that the facts do not answer. With their answers the next attempt gets further.
    Lacks(Vec<GraphRead>),
}

impl<T> Attempt<T> {
    /// Returns the outcome of work on a snapshot, unless a read had no answer: then the outcome, even an error, is meaningless.
    pub(super) fn of(snap: FactsSnapshot<'_>, outcome: Result<T, GraphStoreError>) -> Self {
        if snap.is_lacking() {
            Self::Lacks(snap.lacking())
        } else {
            Self::Whole(outcome)
        }
    }
}

/// Computes a viewer from facts.
#[must_use]
pub fn viewer_attempt(facts: &Facts, key: ViewerKey) -> Attempt<Viewer> {
    let mut snap = FactsSnapshot::of(facts);
    let viewer = loader::viewer(&mut snap, key);
    Attempt::of(snap, viewer)
}

/// Answers a query from facts. The viewer is computed from them, too, unless it is given.
#[must_use]
pub fn load_attempt(
    facts: &Facts,
    want: &ReadQuery,
    viewer: Option<Arc<Viewer>>,
) -> Attempt<ReadView> {
    load_on(FactsSnapshot::of(facts), want, viewer)
}

/// Answers a query from facts, and takes the answers that the facts lack from a cache.
#[must_use]
pub fn load_attempt_with(
    facts: &mut Facts,
    cache: &dyn AttemptCache,
    want: &ReadQuery,
) -> Attempt<ReadView> {
    if want.search.is_some() {
        // A search knows its next reads only from the rows that it lacked; all of these rows are looked up together.
        return load_on(FactsSnapshot::of(facts), want, cache.viewer(want.viewer));
    }
    let facts = AttemptFacts::Growing(facts, cache);
    load_on(FactsSnapshot::over(facts), want, None)
}

fn load_on(
    mut snap: FactsSnapshot<'_>,
    want: &ReadQuery,
    viewer: Option<Arc<Viewer>>,
) -> Attempt<ReadView> {
    let viewer = match viewer.or_else(|| snap.cached_viewer(want.viewer)) {
        Some(viewer) => Ok(viewer),
        None => snap.compute_viewer(want.viewer).map(|known| {
            let viewer = if snap.is_lacking() {
                likely_viewer(&mut snap, known)
            } else {
                known
            };
            Arc::new(viewer)
        }),
    };
    let view = viewer.and_then(|viewer| load::load(&mut snap, want, viewer));
    match Attempt::of(snap, view) {
        Attempt::Lacks(reads) => Attempt::Lacks(with_edges(want, reads)),
        whole => whole,
    }
}

/// Returns a viewer with likely memberships in place of unknown ones, so that an attempt that will be thrown away anyway shows
/// the reads for a viewer who may see the nodes of the query.
fn likely_viewer(snap: &mut FactsSnapshot<'_>, mut viewer: Viewer) -> Viewer {
    for (edge, _) in snap.ask_edges(workspaces_of(viewer.user)) {
        let (gid, depth) = (edge.dst, Depth::Full);
        snap.ask(GraphRead::Node { gid, depth });
        if viewer.membership(gid).is_none() {
            viewer.memberships.push(WorkspaceMembership {
                workspace: gid,
                role: Role::Admin,
                view_only: false,
                paid: true,
                membership_gid: edge.aux.unwrap_or(gid),
                task_list: None,
            });
        }
    }
    viewer
}

/// Returns the runs of edges that are probably read from nodes whose gid and type are not in the query: the results of a search,
/// and nodes named by an alias or a link.
fn bands_of_others(want: &ReadQuery) -> Vec<(Relation, Relation, Depth)> {
    let mut bands = Vec::new();
    if want.search.is_some() {
        // The viewer's levels on tasks follow from these edges.
        let (lo, hi) = want
            .page_plan
            .as_ref()
            .and_then(|plan| plan.band)
            .unwrap_or((rel::SECTION, rel::PARENT));
        bands.push((lo.min(rel::SECTION), hi.max(rel::PARENT), Depth::Edge));
    }
    let by_gid = |at: &usize| matches!(want.node_refs.get(*at), Some(NodeRef::Gid(_)));
    for (_, plan) in want.plans.iter().filter(|(at, _)| !by_gid(at)) {
        let Some((lo, hi)) = plan.band else { continue };
        bands.push((lo, hi, Depth::Head));
        let is_value = |step: &PlanStep| matches!(step.def.source, FieldSource::Values(_));
        if plan.steps.iter().any(is_value) {
            bands.push((lo, hi.max(rel::NUMBERED), Depth::Edge));
        }
    }
    bands
}

/// Adds the edges that are probably read from the nodes of these reads.
fn with_edges(want: &ReadQuery, mut reads: Vec<GraphRead>) -> Vec<GraphRead> {
    let bands = bands_of_others(want);
    if bands.is_empty() {
        return reads;
    }
    let nodes = reads.iter().filter_map(|read| match read {
        GraphRead::Node { gid, .. } => Some(*gid),
        _ => None,
    });
    let edges = nodes.flat_map(|src| {
        let bands = bands.iter();
        bands.map(move |(lo, hi, depth)| GraphRead::EdgesOut {
            src,
            lo: *lo,
            hi: *hi,
            depth: *depth,
        })
    });
    let edges: Vec<GraphRead> = edges.collect();
    reads.extend(edges);
    reads
}

fn workspaces_of(user: Gid) -> GraphRead {
    GraphRead::EdgesOut {
        src: user,
        lo: rel::WORKSPACES,
        hi: rel::WORKSPACES,
        depth: Depth::Edge,
    }
}

/// Returns the first reads of the computation of a viewer.
pub(super) fn viewer_guesses(user: Gid) -> [GraphRead; 3] {
    let members = |of: Relation| GraphRead::all_in(user, of, Depth::Head);
    [
        workspaces_of(user),
        members(rel::TEAM_MEMBERS),
        members(rel::MEMBERS),
    ]
}
