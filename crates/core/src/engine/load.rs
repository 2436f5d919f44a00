//! Loading: answers a [`ReadQuery`] from a [`Snapshot`], including access rules and page bounds.
use crate::access::{Level, Viewer};
use crate::engine::loader::Loader;
use crate::engine::tracked_snapshot::TrackedSnapshot;
use crate::engine::{pagination, search_planner};
use crate::graph_store_error::GraphStoreError;
use crate::storage::snapshot::{Depth, Snapshot};
use crate::storage::{FactKey, ReadQuery, ReadView};
use std::sync::Arc;

/// Answers the query `want`, and lists the keys of its reads if the query [asks](ReadQuery::tracks_reads) for them. `viewer`
/// is the result of [`viewer`](crate::engine::viewer) for [`ReadQuery::viewer`]: computed now, or taken from a cache that
/// [`crate::storage::snapshot::Transaction::invalidate_viewers`] empties.
///
/// # Errors
/// Returns an error if the store fails, or the interrupt of the query stops it.
pub fn load(
    snap: &mut dyn Snapshot,
    want: &ReadQuery,
    viewer: Arc<Viewer>,
) -> Result<ReadView, GraphStoreError> {
    if !want.tracks_reads {
        return load_from(snap, want, viewer);
    }
    let mut tracked = TrackedSnapshot::over(snap);
    let view = load_from(&mut tracked, want, viewer)?;
    let mut reads = tracked.into_keys();
    reads.push(FactKey::viewers());
    Ok(ReadView { reads, ..view })
}

fn load_from(
    snap: &mut dyn Snapshot,
    want: &ReadQuery,
    viewer: Arc<Viewer>,
) -> Result<ReadView, GraphStoreError> {
    let seq = snap.seq()?;
    let viewer = match &want.allowed_workspaces {
        Some(reach) if viewer.belongs_outside(reach) => Arc::new(viewer.restricted_to(reach)),
        _ => viewer,
    };
    let mut loader = Loader::new(snap, want, ReadView::new(viewer, seq));
    for (at, r) in want.node_refs.iter().enumerate() {
        let gid = loader.named(r)?;
        let found = match gid {
            Some(gid) if loader.load_full(gid)? => Some(gid),
            Some(gid) => loader.heir_of(gid)?,
            None => None,
        };
        if let Some(gid) = found {
            // First load the edges that the reply needs: the level can then be computed from them.
            let plan = want.plans.iter().find(|(of, _)| *of == at);
            if let Some((lo, hi)) = plan.and_then(|(_, plan)| plan.band) {
                loader.band(gid, lo, hi, Depth::Head)?;
            }
            loader.level_of(gid)?;
        }
        loader.view.resolved_refs.push((r.clone(), found));
    }
    loader.rules(want)?;
    for (at, plan) in &want.plans {
        // A node that links to a hidden node reveals nothing of it.
        if let Some(gid) = loader.found(*at)
            && loader.view.level(gid) > Level::None
        {
            loader.follow(gid, plan)?;
        }
    }
    for (node, plan) in &want.external_nodes {
        loader.view.levels.insert(node.gid, Level::Admin);
        loader.view.nodes.insert(node.gid, Arc::clone(node));
        loader.many = true;
        loader.follow(node.gid, plan)?;
    }
    if let Some(page) = &want.page {
        pagination::read(&mut loader, page, want.page_plan.as_deref())?;
    }
    if let Some(sieve) = &want.row_query {
        search_planner::filter_rows(&mut loader, sieve)?;
    }
    if let Some(search) = &want.search {
        search_planner::run(&mut loader, search)?;
    }
    if let Some(plan) = &want.page_plan {
        loader.many = true;
        for gid in loader.view.rows.gids.clone() {
            loader.follow(gid, plan)?;
        }
    }
    Ok(loader.finish())
}
