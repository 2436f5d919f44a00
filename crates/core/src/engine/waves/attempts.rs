//! Attempts to load from facts.
use super::facts::Facts;
use super::facts_snapshot::FactsSnapshot;
use super::graph_read::{GraphAnswer, GraphRead};
use crate::access::{Role, Viewer, WorkspaceMembership};
use crate::engine::{load, loader};
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::registry::{Relation, rel};
use crate::storage::snapshot::Depth;
use crate::storage::{ReadQuery, ReadView, ViewerKey};
use std::sync::Arc;

/// Outcome of an attempt.
#[derive(Debug)]
pub enum Attempt<T> {
    /// The facts answered every read, so this is what the store would have answered.
    Whole(Result<T, GraphStoreError>),
    /// Reads that the facts do not answer. With their answers the next attempt comes further.
    Lacks(Vec<GraphRead>),
}

impl<T> Attempt<T> {
    /// Returns the outcome of work on a snapshot, unless a read had no answer: then the outcome, even an error, says
    /// nothing.
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
    let mut snap = FactsSnapshot::of(facts);
    let viewer = match viewer {
        Some(viewer) => Ok(viewer),
        None => loader::viewer(&mut snap, want.viewer).map(|known| {
            let viewer = if snap.is_lacking() {
                likely_viewer(facts, known)
            } else {
                known
            };
            Arc::new(viewer)
        }),
    };
    let view = viewer.and_then(|viewer| load::load(&mut snap, want, viewer));
    Attempt::of(snap, view)
}

/// Returns a viewer with memberships that are not known yet, so that an attempt which is thrown away in any case shows
/// what is read for a viewer who may see the nodes of the query.
fn likely_viewer(facts: &Facts, mut viewer: Viewer) -> Viewer {
    let edges = facts.answer(&workspaces_of(viewer.user));
    let Some(GraphAnswer::Edges(edges)) = edges else {
        return viewer;
    };
    for (edge, _) in edges {
        if viewer.membership(edge.dst).is_none() {
            viewer.memberships.push(WorkspaceMembership {
                workspace: edge.dst,
                role: Role::Admin,
                view_only: false,
                paid: true,
                membership_gid: edge.aux.unwrap_or(edge.dst),
                task_list: None,
            });
        }
    }
    viewer
}

/// Returns the read of the workspaces of a user.
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
