//! Comparison of two stores with every kind of read.
use super::generator::{ModelWorld, name, relation};
use proptest::prelude::*;
use std::fmt::Debug;
use workgraph_auth::conformance::block_on;
use workgraph_core::model::body::Body;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Relation, Type, rel};
use workgraph_core::model::time::Time;
use workgraph_core::plan;
use workgraph_core::storage::{
    Edge, EdgeEnd, GraphStore, ListSource, NodeRef, PageQuery, PageRows, ReadQuery, ReadView,
    RowFilter, ViewerKey,
};

/// Read of both stores after a change set. Numbers are taken modulo the number of choices.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    viewer: u8,
    nodes: Vec<(u8, u8)>,
    listing: u8,
    filter: u8,
    limit: u8,
    open: bool,
    back: u8,
}

impl Observation {
    /// Returns the number of lists, edges and nodes that one load reads.
    pub(super) fn reads(&self) -> usize {
        3 * self.nodes.len()
    }
}

pub(super) fn looks() -> impl Strategy<Value = Observation> {
    let n = any::<u8>;
    let nodes = prop::collection::vec((n(), n()), 1..6);
    (n(), nodes, n(), n(), 1..12u8, any::<bool>(), n()).prop_map(
        |(viewer, nodes, listing, filter, limit, open, back)| Observation {
            viewer,
            nodes,
            listing,
            filter,
            limit,
            open,
            back,
        },
    )
}

fn key(world: &ModelWorld, number: u8) -> ViewerKey {
    let user = world
        .users
        .get(usize::from(number) % world.users.len())
        .copied()
        .unwrap_or(world.workspace);
    ViewerKey {
        user,
        service: (number % 5 == 4).then_some(world.workspace),
    }
}

fn listing(anchor: usize, number: u8) -> ListSource {
    let (rel, dir) = (
        relation(number),
        if number.is_multiple_of(3) {
            Direction::Out
        } else {
            Direction::In
        },
    );
    match number % 7 {
        0 => ListSource::InWorkspace {
            anchor,
            ty: *Type::ALL
                .get(usize::from(number / 7) % 12)
                .unwrap_or(&Type::Tag),
        },
        1 => workgraph_core::tasks_of_container(anchor, number.is_multiple_of(2)),
        2 => ListSource::Alphabetical { anchor, rel, dir },
        3 => ListSource::Edges {
            anchor,
            rel,
            dir,
            give: EdgeEnd::Aux,
        },
        4 => ListSource::Edges {
            anchor,
            rel: rel::PARENT,
            dir: Direction::In,
            give: EdgeEnd::OtherEnd,
        },
        _ => ListSource::Edges {
            anchor,
            rel,
            dir,
            give: EdgeEnd::OtherEnd,
        },
    }
}

fn filters(world: &ModelWorld, number: u8) -> Vec<RowFilter> {
    let at = Time::from_millis(i64::from(number));
    match number % 8 {
        0 => vec![RowFilter::Is(Type::Task)],
        1 => vec![RowFilter::InWorkspace(world.workspace)],
        2 => vec![RowFilter::ModifiedSince(at)],
        3 => vec![
            RowFilter::Flag("completed", number % 16 < 8),
            RowFilter::CompletedSince(at),
        ],
        4 => vec![RowFilter::OtherEnd(world.pick(number).gid)],
        5 => vec![RowFilter::Linked(
            relation(number),
            world.pick(number / 3).gid,
        )],
        _ => Vec::new(),
    }
}

fn want(world: &ModelWorld, look: &Observation) -> ReadQuery {
    let mut want = ReadQuery::of(key(world, look.viewer)).node(NodeRef::Alias(name(look.filter)));
    let mut all = Vec::new();
    for (node, with) in &look.nodes {
        let node = world.pick(*node);
        want = want.edges(node.gid, relation(*with)).incoming_edges(
            node.gid,
            relation(*with),
            usize::from(with % 6),
        );
        let at = want.add_ref(node.gid);
        want.plans.push((at, plan::full(node.ty)));
        if with % 2 == 0 {
            want.ancestors.push(at);
        }
        if let Some(last) = all.last() {
            want.linked.push((*last, relation(*with), at));
        }
        all.push(at);
    }
    let anchor = all.first().copied().unwrap_or(0);
    want.page = Some(PageQuery {
        source: listing(anchor, look.listing),
        filters: filters(world, look.filter),
        after: None,
        limit: usize::from(look.limit),
        max_seq: None,
        anchor_grants_access: look.open,
        rows_seen: 0,
        row_cap: if look.back.is_multiple_of(4) {
            5
        } else {
            u32::MAX
        },
    });
    want.page_plan = look
        .back
        .is_multiple_of(3)
        .then(|| plan::compact(Type::Task));
    want
}

fn equal<T: PartialEq + Debug>(what: &str, left: &T, right: &T) -> Result<(), String> {
    if left == right {
        Ok(())
    } else {
        Err(format!("{what} differ: {left:?} and {right:?}"))
    }
}

/// Returns two readings of a node, reduced to the shallower one: a store may return more than requested.
fn alike(left: Option<&Node>, right: Option<&Node>) -> (Option<Node>, Option<Node>) {
    let shallow = [left, right].into_iter().flatten().any(Node::is_head);
    let cut = |node: &Node| Node {
        version: if shallow { 0 } else { node.version },
        body: if shallow {
            Body::default()
        } else {
            node.body.clone()
        },
        ..node.clone()
    };
    (left.map(cut), right.map(cut))
}

/// Returns the parts of the edges from a node that are always read.
fn parts<'a>(edges: impl IntoIterator<Item = &'a Edge>) -> Vec<(Gid, i64, Option<Gid>)> {
    edges.into_iter().map(|e| (e.dst, e.rank, e.aux)).collect()
}

/// Compares all parts of two views.
fn equal_views(world: &ModelWorld, left: &ReadView, right: &ReadView) -> Result<(), String> {
    equal("viewers", &left.viewer, &right.viewer)?;
    equal("commits", &left.seq, &right.seq)?;
    equal("found nodes", &left.resolved_refs, &right.resolved_refs)?;
    equal("rows", &left.rows, &right.rows)?;
    for gid in world.nodes.iter().map(|n| n.gid) {
        let (one, other) = alike(left.node(gid), right.node(gid));
        equal("nodes", &one, &other)?;
        equal("levels", &left.level(gid), &right.level(gid))?;
        for rel in (1..=16).map(Relation) {
            equal(
                "edges from a node",
                &parts(left.links(gid, rel)),
                &parts(right.links(gid, rel)),
            )?;
            equal(
                "edges into a node",
                &left.sources(gid, rel),
                &right.sources(gid, rel),
            )?;
            equal("counts", &left.count(gid, rel), &right.count(gid, rel))?;
            for other in world.nodes.iter().map(|n| n.gid) {
                equal(
                    "single edges",
                    &parts(left.link(gid, rel, other)),
                    &parts(right.link(gid, rel, other)),
                )?;
            }
        }
    }
    Ok(())
}

/// Makes the same load on both stores, including the following pages.
pub(super) fn compare(
    left: &dyn GraphStore,
    right: &dyn GraphStore,
    world: &ModelWorld,
    look: &Observation,
) -> Result<(), String> {
    let mut want = want(world, look);
    for _ in 0..4 {
        let views = (block_on(left.load(&want)), block_on(right.load(&want)));
        let (Ok(a), Ok(b)) = (&views.0, &views.1) else {
            return Err(format!("a load failed: {views:?}"));
        };
        equal_views(world, a, b)?;
        let Some(page) = &mut want.page else { break };
        if a.rows.next.is_none() || a.rows.is_truncated {
            break;
        }
        advance(page, &a.rows);
    }
    Ok(())
}

fn advance(page: &mut PageQuery, rows: &PageRows) {
    page.after.clone_from(&rows.next);
    page.max_seq = Some(rows.max_seq);
    page.rows_seen = rows.rows_seen;
}

/// Reads every container's tasks as seen by each user, in small pages.
pub(super) fn walks(
    left: &dyn GraphStore,
    right: &dyn GraphStore,
    world: &ModelWorld,
) -> Result<(), String> {
    let places = world
        .nodes
        .iter()
        .filter(|n| matches!(n.ty, Type::Project | Type::UserTaskList));
    for (at, node) in places.enumerate() {
        for viewer in 0..5 {
            let listing = if node.ty == Type::Project { 1 } else { 8 };
            let nodes = vec![(0, 0)];
            let look = Observation {
                viewer,
                nodes,
                listing,
                filter: 6,
                limit: 2,
                open: at % 2 == 0,
                back: 1,
            };
            let mut want = want(world, &look);
            let anchor = want.add_ref(node.gid);
            if let Some(page) = &mut want.page {
                page.source =
                    workgraph_core::tasks_of_container(anchor, node.ty == Type::UserTaskList);
            }
            for _ in 0..50 {
                let views = (block_on(left.load(&want)), block_on(right.load(&want)));
                let (Ok(a), Ok(b)) = (&views.0, &views.1) else {
                    return Err(format!("a load failed: {views:?}"));
                };
                equal("pages", &a.rows, &b.rows)?;
                match &mut want.page {
                    Some(page) if a.rows.next.is_some() => advance(page, &a.rows),
                    _ => break,
                }
            }
        }
    }
    Ok(())
}
