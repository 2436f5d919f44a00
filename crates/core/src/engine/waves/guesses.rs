//! Guesses: the reads that the first attempt at a query or a commit will probably make.
//!
//! A guess is never wrong, only useless: the store answers it like every other read, and an attempt notes what it lacks. Guesses
//! save waves where one read leads to the next.
use super::attempts::viewer_guesses;
use super::graph_read::GraphRead;
use crate::engine::apply;
use crate::model::computed_nodes;
use crate::model::gid::Gid;
use crate::model::registry::{Direction, FieldSource, Relation, Type, rel};
use crate::plan::Plan;
use crate::storage::snapshot::Depth;
use crate::storage::{
    ALPHABETICAL_CAP, ChangeAction, Changes, EdgeEnd, EdgeWrite, Guard, LinkSelector, ListPosition,
    ListSource, NodeRef, PageQuery, ReadQuery, alias,
};
use std::collections::BTreeSet;

const START: (i64, i64) = (i64::MIN, i64::MIN);
/// Number of parts of a two-step list that are read first.
const PARTS: usize = 64;
/// Maximum number of links of one field in a record.
const LINKS: usize = 1_000;

/// Returns the reads that the first attempt at a query will probably make, including the reads of the viewer's memberships
/// if the viewer is not known.
#[must_use]
pub fn load_guesses(want: &ReadQuery, with_viewer: bool) -> Vec<GraphRead> {
    let mut reads = Vec::new();
    if with_viewer {
        reads.extend(viewer_guesses(want.viewer.user));
    }
    for (at, name) in want.node_refs.iter().enumerate() {
        reference(name, &mut reads);
        if let Some(gid) = gid_of(name) {
            around(want, at, gid, &mut reads);
        }
    }
    for (a, rel, b) in &want.linked {
        if let (Some(src), Some(dst)) = (gid_at(want, *a), gid_at(want, *b)) {
            let rel = *rel;
            reads.push(GraphRead::EdgeBetween { src, rel, dst });
        }
    }
    if let Some(page) = &want.page
        && let Some(anchor) = page.source.anchor().and_then(|at| gid_at(want, at))
    {
        rows(page, anchor, want.page_plan.as_deref(), &mut reads);
    }
    if let Some(search) = &want.search {
        let workspace = gid_at(want, search.workspace);
        for query in &search.queries {
            let ty = query.ty;
            let workspace = workspace.filter(|_| ty != Type::User);
            reads.push(GraphRead::ColumnSets { workspace, ty });
        }
    }
    reads
}

fn gid_of(name: &NodeRef) -> Option<Gid> {
    match name {
        NodeRef::Gid(gid) => Some(*gid),
        _ => None,
    }
}

fn gid_at(want: &ReadQuery, at: usize) -> Option<Gid> {
    gid_of(want.node_refs.get(at)?)
}

fn node(gid: Gid, depth: Depth) -> Option<GraphRead> {
    let is_stored = computed_nodes::of_gid(gid).is_none();
    is_stored.then_some(GraphRead::Node { gid, depth })
}

/// Adds the reads that find the node of a reference.
fn reference(name: &NodeRef, reads: &mut Vec<GraphRead>) {
    match name {
        NodeRef::Gid(gid) => reads.extend(node(*gid, Depth::Full)),
        NodeRef::Alias(key) => reads.push(GraphRead::Alias(key.as_str().into())),
        NodeRef::Address(address) => reads.push(GraphRead::Alias(alias::email(address).into())),
        NodeRef::TaskList {
            user,
            within_workspace_of: near,
        } => {
            reference(user, reads);
            reference(near, reads);
            if let (Some(user), Some(near)) = (gid_of(user), gid_of(near)) {
                // Usually the node is the workspace itself.
                let list = alias::task_list(user, near);
                reads.push(GraphRead::Alias(list.into()));
            }
        }
        NodeRef::External { .. } => {}
        NodeRef::Linked { node: from, by } => {
            let Some(gid) = gid_of(from) else {
                reference(from, reads);
                return;
            };
            reads.extend(match *by {
                LinkSelector::FirstEdge(rel) => Some(GraphRead::EdgesOut {
                    src: gid,
                    lo: rel,
                    hi: rel,
                    depth: Depth::Head,
                }),
                LinkSelector::Aux(rel, dst) => Some(GraphRead::EdgeBetween { src: gid, rel, dst }),
                LinkSelector::Rank(rel, rank) => Some(GraphRead::ScanIn {
                    dst: gid,
                    rel,
                    after: (rank - 1, i64::MAX),
                    limit: 1,
                    depth: Depth::Edge,
                }),
                LinkSelector::Nth(rel, count) => Some(GraphRead::ScanIn {
                    dst: gid,
                    rel,
                    after: START,
                    limit: count + 1,
                    depth: Depth::Head,
                }),
                LinkSelector::Key(_) => node(gid, Depth::Full),
                LinkSelector::Workspace => node(gid, Depth::Head),
            });
        }
    }
}

/// Adds the reads around a node that the query names.
fn around(want: &ReadQuery, at: usize, gid: Gid, reads: &mut Vec<GraphRead>) {
    let named = |rel: &&(usize, Relation)| rel.0 == at;
    let mut band: Option<(Relation, Relation)> = None;
    let mut wide = |lo: Relation, hi: Relation| {
        band = Some(band.map_or((lo, hi), |band| (band.0.min(lo), band.1.max(hi))));
    };
    for (_, plan) in want.plans.iter().filter(|(of, _)| *of == at) {
        if let Some((lo, hi)) = plan.band {
            wide(lo, hi);
        }
        lists(plan, gid, reads);
    }
    let out = want.out.iter().filter(named);
    let reachable = want.reachable.iter().filter(named);
    out.chain(reachable).for_each(|(_, rel)| wide(*rel, *rel));
    if want.ancestors.contains(&at) {
        wide(rel::PARENT, rel::PARENT);
    }
    reads.extend(band.map(|(lo, hi)| GraphRead::EdgesOut {
        src: gid,
        lo,
        hi,
        depth: Depth::Head,
    }));
    for (_, rel, limit) in want.incoming_edges.iter().filter(|(of, ..)| *of == at) {
        reads.push(GraphRead::ScanIn {
            dst: gid,
            rel: *rel,
            after: START,
            limit: *limit,
            depth: Depth::Head,
        });
    }
    let counts = want.counts.iter().filter(named);
    reads.extend(counts.map(|(_, rel)| GraphRead::CountIn {
        dst: gid,
        rel: *rel,
    }));
    if want.heights.contains(&at) {
        reads.push(GraphRead::all_in(gid, rel::PARENT, Depth::Edge));
    }
}

/// Adds the reads of the lists into a node that a plan shows.
fn lists(plan: &Plan, gid: Gid, reads: &mut Vec<GraphRead>) {
    for step in &plan.steps {
        let (rel, depth) = match step.def.source {
            FieldSource::Edges(rel, Direction::In) => (rel, Depth::Head),
            FieldSource::Aux(rel, Direction::In) => (rel, Depth::Edge),
            FieldSource::Count(rel, Direction::In) => {
                reads.push(GraphRead::CountIn { dst: gid, rel });
                continue;
            }
            _ => continue,
        };
        reads.push(GraphRead::ScanIn {
            dst: gid,
            rel,
            after: START,
            limit: LINKS,
            depth,
        });
    }
}

fn rows(page: &PageQuery, anchor: Gid, plan: Option<&Plan>, reads: &mut Vec<GraphRead>) {
    let reads_body = plan.is_some_and(|plan| plan.reads_body);
    let is_bare = page.anchor_grants_access && page.filters.is_empty() && !reads_body;
    let depth = if is_bare { Depth::Head } else { Depth::Full };
    let band = plan.and_then(|plan| plan.band).filter(|_| !is_bare);
    let limit = page.limit.saturating_add(1);
    let key = |at: usize| page.after.as_ref().and_then(|key| key.get(at).copied());
    let pair = |at: usize| (key(at).unwrap_or(i64::MIN), key(at + 1).unwrap_or(i64::MIN));
    let scan = |dst, rel, after| match band {
        Some(band) => GraphRead::ScanInOut {
            dst,
            rel,
            after,
            limit,
            band,
        },
        None => GraphRead::ScanIn {
            dst,
            rel,
            after,
            limit,
            depth,
        },
    };
    let parts = |rel| GraphRead::ScanIn {
        dst: anchor,
        rel,
        after: pair(0),
        limit: PARTS,
        depth: Depth::Edge,
    };
    match page.source {
        ListSource::Edges { rel, dir, give, .. } => reads.push(match (dir, give) {
            (Direction::In, EdgeEnd::OtherEnd) => scan(anchor, rel, pair(0)),
            (Direction::In, EdgeEnd::Aux) => GraphRead::ScanIn {
                dst: anchor,
                rel,
                after: pair(0),
                limit,
                depth: Depth::Edge,
            },
            (Direction::Out, give) => GraphRead::ScanOut {
                src: anchor,
                rel,
                after: key(0).unwrap_or(i64::MIN),
                limit,
                depth: if give == EdgeEnd::OtherEnd {
                    depth
                } else {
                    Depth::Edge
                },
            },
        }),
        ListSource::TwoStep { outer, inner, .. } => {
            reads.push(parts(outer));
            if let Some(part) = key(1).and_then(Gid::from_i64) {
                reads.push(scan(part, inner, pair(2)));
            }
        }
        ListSource::InWorkspace { ty, .. } => reads.push(GraphRead::ScanWorkspace {
            workspace: anchor,
            ty,
            after: key(0).unwrap_or(i64::MIN),
            limit,
            depth,
        }),
        ListSource::Alphabetical { rel, dir, .. } => reads.push(match dir {
            Direction::Out => GraphRead::ScanOut {
                src: anchor,
                rel,
                after: i64::MIN,
                limit: ALPHABETICAL_CAP,
                depth: Depth::Full,
            },
            Direction::In => GraphRead::ScanIn {
                dst: anchor,
                rel,
                after: START,
                limit: ALPHABETICAL_CAP,
                depth: Depth::Full,
            },
        }),
        ListSource::InViewerWorkspaces { .. }
        | ListSource::TimePeriods { .. }
        | ListSource::Reactions { .. }
        | ListSource::SingleNode { .. } => {}
    }
}

/// Returns the reads that the first attempt to apply these changes will probably make.
#[must_use]
pub fn commit_guesses(changes: &Changes) -> Vec<GraphRead> {
    let mut reads: Vec<GraphRead> = changes.guards.iter().map(guard).collect();
    for gid in &changes.trashed {
        reads.extend(trash(*gid));
    }
    for (task, _) in &changes.abandoned {
        reads.extend(node(*task, Depth::Full));
        reads.extend(trash(*task));
        reads.push(GraphRead::EdgesOut {
            src: *task,
            lo: rel::SECTION,
            hi: rel::PARENT,
            depth: Depth::Head,
        });
    }
    let removed = changes.edge_removals.iter();
    reads.extend(removed.map(|(src, rel, dst)| GraphRead::EdgeBetween {
        src: *src,
        rel: *rel,
        dst: *dst,
    }));
    changes
        .edge_writes
        .iter()
        .for_each(|link| position(link, &mut reads));
    // The ends of edges are looked up for the journal and the audit log.
    let written = changes.edge_writes.iter().map(|link| (link.src, link.dst));
    let removed = changes
        .edge_removals
        .iter()
        .map(|(src, _, dst)| (*src, *dst));
    let ends = written.chain(removed).flat_map(|(src, dst)| [src, dst]);
    let mut ends: BTreeSet<Gid> = ends.collect();
    for new in changes.node_writes.iter().map(|write| &write.node) {
        if new.version == 1 {
            ends.remove(&new.gid);
        }
    }
    reads.extend(ends.into_iter().filter_map(|gid| node(gid, Depth::Head)));
    let names = changes.add_aliases.iter();
    reads.extend(names.map(|(key, _)| GraphRead::Alias(key.as_str().into())));
    for gid in apply::nodes_to_index(changes) {
        reads.extend(node(gid, Depth::Full));
        reads.push(GraphRead::CountIn {
            dst: gid,
            rel: rel::DEPENDS,
        });
        reads.push(GraphRead::EdgesOut {
            src: gid,
            lo: rel::PARENT,
            hi: rel::DEPENDS,
            depth: Depth::Edge,
        });
    }
    for record in &changes.change_records {
        reads.extend(node(record.gid, Depth::Full));
        if let ChangeAction::Added { parent } = record.action {
            reads.extend(parent.and_then(|gid| node(gid, Depth::Head)));
        }
    }
    reads
}

fn guard(guard: &Guard) -> GraphRead {
    match *guard {
        Guard::Version(gid, _) => GraphRead::Node {
            gid,
            depth: Depth::Full,
        },
        Guard::Live(gid) => GraphRead::Node {
            gid,
            depth: Depth::Head,
        },
        Guard::Below(dst, rel, _) | Guard::AtMost(dst, rel, _) => GraphRead::CountIn { dst, rel },
        Guard::Unlinked(src, rel, dst) => GraphRead::EdgeBetween { src, rel, dst },
        Guard::TotalAtMost(gid, rel, _) => GraphRead::EdgeBetween {
            src: gid,
            rel,
            dst: gid,
        },
    }
}

/// Returns the reads of a node that is trashed, and of the first level below it.
fn trash(gid: Gid) -> Vec<GraphRead> {
    let edges = GraphRead::EdgesOut {
        src: gid,
        lo: Relation(0),
        hi: Relation(u8::MAX),
        depth: Depth::Edge,
    };
    let below = [rel::PARENT, rel::TEMPLATE_OF];
    let below = below.map(|rel| GraphRead::all_in(gid, rel, Depth::Edge));
    let depth = Depth::Full;
    let own = [GraphRead::Node { gid, depth }, edges];
    own.into_iter().chain(below).collect()
}

/// Adds the reads that find the rank of an edge.
fn position(link: &EdgeWrite, reads: &mut Vec<GraphRead>) {
    let &EdgeWrite { src, rel, dst, .. } = link;
    let last = GraphRead::LastEdgeBefore {
        dst,
        rel,
        before: (i64::MAX, i64::MAX),
    };
    match link.position {
        ListPosition::Rank(_) => {}
        ListPosition::First => reads.push(GraphRead::ScanIn {
            dst,
            rel,
            after: START,
            limit: 1,
            depth: Depth::Edge,
        }),
        ListPosition::Last => reads.push(last),
        ListPosition::NextRank => {
            reads.push(last);
            reads.push(GraphRead::EdgeBetween { src, rel, dst });
            reads.extend(node(dst, Depth::Head));
        }
        ListPosition::Plus(_) => reads.push(GraphRead::EdgeBetween { src, rel, dst }),
        ListPosition::Before(src) | ListPosition::After(src) => {
            reads.push(GraphRead::EdgeBetween { src, rel, dst });
        }
    }
}
