//! Admission of rows to a page: they must pass its filters, and the viewer must be allowed to see them.
use super::CandidateRow;
use crate::access::Level;
use crate::engine::loader::Loader;
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::readable::Readable;
use crate::model::registry::Direction;
use crate::model::resources::task;
use crate::model::time::{Date, Time};
use crate::storage::{PageQuery, RowFilter, RowLink};
use std::sync::Arc;

/// Returns true if the row belongs to the page: it passes the filters and the viewer may see it.
pub(super) fn admit(
    loader: &mut Loader<'_>,
    (page, open): (&PageQuery, bool),
    anchor: Gid,
    row: &CandidateRow,
) -> Result<bool, GraphStoreError> {
    for filter in &page.filters {
        if !admits(loader, filter, anchor, row)? {
            return Ok(false);
        }
    }
    if open {
        loader.seen_through(row.gid, Level::Viewer);
        return Ok(true);
    }
    if let Some(node) = &row.node {
        loader.keep_node(Arc::clone(node))?;
    }
    Ok(loader.level_of(row.gid)? > Level::None)
}

/// Returns true if the row passes a filter.
fn admits(
    loader: &mut Loader<'_>,
    filter: &RowFilter,
    anchor: Gid,
    row: &CandidateRow,
) -> Result<bool, GraphStoreError> {
    match filter {
        RowFilter::OtherEnd(gid) => {
            let far = row
                .edge
                .map(|e| if e.src == anchor { e.dst } else { e.src });
            Ok(far == Some(*gid))
        }
        RowFilter::Linked(rel, to) => Ok(loader.snap.edge_between(row.gid, *rel, *to)?.is_some()),
        RowFilter::LinksTo(link) => {
            let wanted = loader.view.resolve(&link.node);
            let Some(wanted) = wanted else {
                return Ok(false);
            };
            let key = match link.by {
                RowLink::Key(key) | RowLink::Through(key, _) => key,
                RowLink::Workspace => {
                    return with_node(loader, row, |node| node.workspace == Some(wanted));
                }
                RowLink::Edge(rel, dir) => {
                    let (src, dst) = match dir {
                        Direction::Out => (row.gid, wanted),
                        Direction::In => (wanted, row.gid),
                    };
                    return Ok(loader.snap.edge_between(src, rel, dst)?.is_some());
                }
            };
            let mut linked = None;
            with_node(loader, row, |node| {
                linked = node.link(key);
                linked.is_some()
            })?;
            match (link.by, linked) {
                (RowLink::Through(_, rel), Some(linked)) => {
                    Ok(loader.snap.edge_between(linked, rel, wanted)?.is_some())
                }
                (_, linked) => Ok(linked == Some(wanted)),
            }
        }
        filter => with_node(loader, row, |node| passes(filter, node)),
    }
}

/// Returns the result of a test on a row's node; false if it has none.
fn with_node(
    loader: &mut Loader<'_>,
    row: &CandidateRow,
    test: impl FnOnce(&Node) -> bool,
) -> Result<bool, GraphStoreError> {
    match &row.node {
        Some(node) => Ok(test(node)),
        None => Ok(loader.load_full(row.gid)? && loader.view.node(row.gid).is_some_and(test)),
    }
}

/// Returns true if a node passes a filter on its own fields.
fn passes(filter: &RowFilter, node: &Node) -> bool {
    match filter {
        RowFilter::Is(ty) => node.ty == *ty,
        RowFilter::InWorkspace(workspace) => node.workspace == Some(*workspace),
        RowFilter::CompletedSince(at) => {
            !node.get(task::COMPLETED)
                || node
                    .get(task::COMPLETED_AT)
                    .is_none_or(|done: Time| done >= *at)
        }
        RowFilter::ModifiedSince(at) => node.get(task::MODIFIED_AT).is_some_and(|t: Time| t >= *at),
        RowFilter::CreatedSince(at) => node.get(task::CREATED_AT).is_some_and(|t: Time| t >= *at),
        RowFilter::Flag(key, wanted) => bool::read(node.raw(key).unwrap_or("false")) == *wanted,
        RowFilter::Unset(key) => node.raw(key).is_none(),
        RowFilter::Set(key) => node.raw(key).is_some(),
        RowFilter::DayFrom(key, first) => day(node, key).is_some_and(|day| day >= *first),
        RowFilter::DayUntil(key, last) => day(node, key).is_some_and(|day| day <= *last),
        RowFilter::OneOf {
            key,
            default,
            values,
        } => {
            let value = node.raw(key).unwrap_or(default);
            values.iter().any(|wanted| wanted == value)
        }
        RowFilter::OtherEnd(_) | RowFilter::Linked(..) | RowFilter::LinksTo(_) => true,
    }
}

/// Returns the day stored under a key.
fn day(node: &Node, key: &str) -> Option<Date> {
    Date::read(node.raw(key)?)
}
