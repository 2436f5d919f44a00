//! Pages: keyset reading of one list, with filters, access and bounds.
//!
//! A page reads its list in chunks until it has one row more than requested, the list ends, or it has read
//! [`crate::storage::PageQuery::row_cap`] rows. That cap bounds the work of every page.
mod alphabetical;
mod row_admission;
mod viewer_workspaces;

use crate::access::Level;
use crate::engine::loader::Loader;
use crate::graph_store_error::GraphStoreError;
use crate::model::computed_nodes;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::reactions;
use crate::model::registry::{Direction, Relation, Type, rel};
use crate::model::resources::section;
use crate::model::time_periods::TimePeriod;
use crate::plan::Plan;
use crate::storage::snapshot::{Depth, InOutItem, Snapshot};
use crate::storage::{EdgeEnd, ListSource, PageQuery, PageRows};
use row_admission::admit;
use std::sync::Arc;

/// A row of a list before it is filtered.
struct CandidateRow {
    gid: Gid,
    key: RowKeyset,
    seq: Seq,
    edge: Option<Edge>,
    node: Option<Arc<Node>>,
    /// Range of its edges in [`RowChunk::out`].
    out: (usize, usize),
}

impl CandidateRow {
    /// Returns the rows after a gid for the computed nodes of a type, which exist in every workspace.
    fn of_every_workspace(ty: Type, after: i64) -> impl Iterator<Item = Self> {
        computed_nodes::of_every_workspace(ty)
            .filter(move |node| node.gid.as_i64() > after)
            .map(|node| Self::of_node(node.gid, 0, Some(Arc::new(node))))
    }

    /// Returns the row of a node in a list by gid, without an edge.
    fn of_node(gid: Gid, seq: Seq, node: Option<Arc<Node>>) -> Self {
        Self {
            gid,
            key: RowKeyset::one(gid.as_i64()),
            seq,
            edge: None,
            node,
            out: (0, 0),
        }
    }
}

/// Keyset of a row: as many numbers as its list has sort keys.
#[derive(Clone, Copy)]
struct RowKeyset {
    parts: [i64; 4],
    len: usize,
}

impl RowKeyset {
    fn one(a: i64) -> Self {
        Self {
            parts: [a, 0, 0, 0],
            len: 1,
        }
    }
    fn two(a: i64, b: i64) -> Self {
        Self {
            parts: [a, b, 0, 0],
            len: 2,
        }
    }
    fn of(parts: [i64; 4]) -> Self {
        Self { parts, len: 4 }
    }
    fn as_slice(&self) -> &[i64] {
        self.parts.get(..self.len).unwrap_or(&self.parts)
    }
}

const START: i64 = i64::MIN;
/// Additional steps of a hidden row, which is read in full like a shown row.
const FILTERED: usize = 3;
/// Maximum number of rows read at once.
const CHUNK_MAX: usize = 512;

/// Reads the page into the view.
pub(crate) fn read(
    loader: &mut Loader<'_>,
    page: &PageQuery,
    plan: Option<&Plan>,
) -> Result<(), GraphStoreError> {
    let upto = page.max_seq.unwrap_or(loader.view.seq);
    let mut rows = PageRows {
        max_seq: upto,
        rows_seen: page.rows_seen,
        ..PageRows::default()
    };
    let anchor = match page.source.anchor() {
        Some(at) => loader
            .found(at)
            .filter(|gid| loader.view.level(*gid) > Level::None),
        // A list of the viewer's workspaces has the viewer as anchor.
        None => Some(loader.view.viewer.user),
    };
    let Some(anchor) = anchor else {
        loader.view.rows = rows;
        return Ok(());
    };
    let from = source_at(loader, &page.source, anchor);
    let open = page.anchor_grants_access && !guards_guests(loader, anchor);
    let needs_body = !page.filters.is_empty() || !open || plan.is_some_and(|p| p.reads_body);
    let how = ReadDepth {
        depth: if needs_body { Depth::Full } else { Depth::Head },
        band: plan.and_then(|p| p.band).filter(|_| needs_body),
    };
    let mut after = page.after.clone();
    let mut last = None;
    let viewer = Arc::clone(&loader.view.viewer);
    // The first chunk is as large as a list fully open to the viewer needs; chunks grow when rows are skipped.
    let mut wanted = page.limit.saturating_add(1).min(CHUNK_MAX);
    loader.view.reserve(wanted);
    'reading: loop {
        let chunk = match from {
            ListSource::InViewerWorkspaces { ty } => {
                let after = after.as_ref().and_then(|key| key.first()).copied();
                viewer_workspaces::chunk(
                    loader.snap,
                    &viewer.workspaces(),
                    ty,
                    after,
                    wanted,
                    how.depth,
                )?
            }
            _ => chunk(loader.snap, &from, anchor, after.as_deref(), wanted, how)?,
        };
        let ended = chunk.ended;
        loader.steps(chunk.steps)?;
        let mut read = None;
        wanted = (wanted * 2).min(CHUNK_MAX);
        for row in chunk.rows {
            read = Some(row.key);
            loader.steps(1)?;
            if row.seq > upto {
                continue;
            }
            if rows.gids.len() < page.limit && rows.rows_seen >= page.row_cap {
                rows.is_truncated = true;
                break 'reading;
            }
            if let (Some(band), Some(edges)) = (chunk.band, chunk.out.get(row.out.0..row.out.1)) {
                loader.adopt(row.gid, band, edges)?;
            }
            if !admit(loader, (page, open), anchor, &row)? {
                loader.steps(FILTERED)?;
                loader.forget(row.gid);
                rows.rows_seen = rows.rows_seen.saturating_add(1);
                continue;
            }
            if rows.gids.len() == page.limit {
                // One row more than requested: there is a next page, and it starts after the last row of this one.
                break 'reading;
            }
            rows.rows_seen = rows.rows_seen.saturating_add(1);
            rows.gids.push(row.gid);
            last = Some(row.key);
            if let Some(node) = row.node {
                loader.keep_node(node)?;
            }
        }
        if ended {
            last = None;
            break;
        }
        after = read.map(|key: RowKeyset| key.as_slice().to_vec()).or(after);
    }
    rows.next = last.map(|key| key.as_slice().to_vec());
    loader.view.rows = rows;
    Ok(())
}

/// Returns true if the viewer is a guest at the anchor. In a workspace, guests see only nodes that are shared with them.
fn guards_guests(loader: &Loader<'_>, anchor: Gid) -> bool {
    let node = loader.view.node(anchor);
    node.is_some_and(|n| n.ty == Type::Workspace) && !loader.view.viewer.is_member(anchor)
}

/// Returns the list source for an anchor of this type: sections of task lists and of projects hold tasks by different relations,
/// and so do the likes of tasks and stories.
fn source_at(loader: &Loader<'_>, from: &ListSource, anchor: Gid) -> ListSource {
    let container = || {
        let section = loader.view.node(anchor)?;
        loader.view.node(section.get(section::PROJECT)?)
    };
    match from {
        ListSource::Edges {
            anchor,
            rel: rel::SECTION,
            dir: Direction::In,
            give,
        } if container().is_some_and(|c| c.ty == Type::UserTaskList) => ListSource::Edges {
            anchor: *anchor,
            rel: rel::MY_TASKS,
            dir: Direction::In,
            give: *give,
        },
        ListSource::Reactions { anchor: at, .. } => ListSource::Reactions {
            anchor: *at,
            likes: rel::likes_of(loader.view.node(anchor).map_or(Type::Story, |n| n.ty)),
        },
        other => other.clone(),
    }
}

/// Depth to which rows are read.
#[derive(Clone, Copy)]
struct ReadDepth {
    depth: Depth,
    /// Edges that the rows' plan follows, to be read along with rows in full.
    band: Option<(Relation, Relation)>,
}

#[derive(Default)]
struct RowChunk {
    rows: Vec<CandidateRow>,
    ended: bool,
    /// Edges of all rows, one row after the other, if they were read along.
    out: Vec<Edge>,
    /// Relations of the edges in `out`.
    band: Option<(Relation, Relation)>,
    /// Number of steps for reading outside the chunk: rows that wait for another chunk, and lists without rows.
    steps: usize,
}

impl RowChunk {
    /// Adds the rows of an incoming list.
    fn scan_in(
        &mut self,
        snap: &mut dyn Snapshot,
        (dst, rel): (Gid, Relation),
        after: (i64, i64),
        limit: usize,
        how: ReadDepth,
        row: &dyn Fn(Edge, Option<Arc<Node>>) -> Option<CandidateRow>,
    ) -> Result<(), GraphStoreError> {
        let (Some(band), Depth::Full) = (how.band, how.depth) else {
            return snap.scan_in(dst, rel, after, limit, how.depth, &mut |edge, node| {
                self.rows.extend(row(edge, node));
            });
        };
        self.band = how.band;
        snap.scan_in_out(dst, rel, after, limit, band, &mut |found| match found {
            InOutItem::Row(edge, node) => {
                let at = self.out.len();
                let row = row(edge, Some(node)).map(|row| CandidateRow {
                    out: (at, at),
                    ..row
                });
                self.rows.extend(row);
            }
            InOutItem::Out(edge) => {
                self.out.push(edge);
                if let Some(row) = self.rows.last_mut() {
                    row.out.1 += 1;
                }
            }
        })
    }
}

/// Reads the next rows of the list after a keyset.
fn chunk(
    snap: &mut dyn Snapshot,
    from: &ListSource,
    anchor: Gid,
    after: Option<&[i64]>,
    limit: usize,
    how: ReadDepth,
) -> Result<RowChunk, GraphStoreError> {
    let depth = how.depth;
    let key = |at: usize| after.and_then(|k| k.get(at)).copied().unwrap_or(START);
    let mut chunk = RowChunk::default();
    chunk.rows.reserve(limit);
    let rows = &mut chunk.rows;
    match *from {
        ListSource::Edges {
            rel,
            dir: Direction::Out,
            give,
            ..
        } => {
            let far = if give == EdgeEnd::OtherEnd {
                depth
            } else {
                Depth::Edge
            };
            snap.scan_out(anchor, rel, key(0), limit, far, &mut |edge, node| {
                rows.extend(given(
                    edge,
                    edge.dst,
                    give,
                    RowKeyset::one(edge.dst.as_i64()),
                    node,
                ));
            })?;
        }
        ListSource::Edges {
            rel,
            dir: Direction::In,
            give,
            ..
        } => {
            let how = if give == EdgeEnd::OtherEnd {
                how
            } else {
                ReadDepth {
                    depth: Depth::Edge,
                    band: None,
                }
            };
            let row = |edge: Edge, node| {
                let key = RowKeyset::two(edge.rank, edge.src.as_i64());
                given(edge, edge.src, give, key, node)
            };
            let after = (key(0), key(1));
            chunk.scan_in(snap, (anchor, rel), after, limit, how, &row)?;
        }
        ListSource::InWorkspace { ty, .. } => {
            rows.extend(CandidateRow::of_every_workspace(ty, key(0)));
            let computed = rows.len();
            snap.scan_workspace(anchor, ty, key(0), limit, depth, &mut |gid, seq, node| {
                rows.push(CandidateRow::of_node(gid, seq, node));
            })?;
            if computed > 0 {
                rows.sort_unstable_by_key(|row| row.gid);
                rows.truncate(limit);
            }
        }
        ListSource::TimePeriods {
            first_year,
            last_year,
            ..
        } => {
            let periods = TimePeriod::of_years(first_year, last_year).filter_map(TimePeriod::node);
            let periods = periods
                .filter(|node| node.gid.as_i64() > key(0))
                .take(limit);
            rows.extend(
                periods.map(|node| CandidateRow::of_node(node.gid, 0, Some(Arc::new(node)))),
            );
        }
        ListSource::Reactions { likes, .. } => {
            let depth = Depth::Edge;
            snap.scan_out(anchor, likes, key(0), limit, depth, &mut |edge, _| {
                let node = reactions::of_like(&edge).map(Arc::new);
                rows.extend(node.map(|node| CandidateRow {
                    key: RowKeyset::one(edge.dst.as_i64()),
                    ..CandidateRow::of_node(node.gid, edge.seq, Some(node))
                }));
            })?;
        }
        // This source is several lists in one.
        ListSource::InViewerWorkspaces { .. } => {}
        ListSource::SingleNode { .. } => {
            let row = || CandidateRow::of_node(anchor, 0, None);
            rows.extend(after.is_none().then(row));
        }
        ListSource::TwoStep { outer, inner, .. } => {
            return through(snap, anchor, outer, inner, after, limit, how);
        }
        ListSource::Alphabetical { rel, dir, .. } => {
            return alphabetical::chunk(snap, anchor, rel, dir, after, limit);
        }
    }
    chunk.ended = chunk.rows.len() < limit;
    Ok(chunk)
}

fn given(
    edge: Edge,
    far: Gid,
    give: EdgeEnd,
    key: RowKeyset,
    node: Option<Arc<Node>>,
) -> Option<CandidateRow> {
    let gid = if give == EdgeEnd::OtherEnd {
        far
    } else {
        edge.aux?
    };
    Some(CandidateRow {
        gid,
        key,
        seq: edge.seq,
        edge: Some(edge),
        node: node.filter(|n| n.gid == gid),
        out: (0, 0),
    })
}

/// Reads rows of a two-step list: the rest of the current part, then the parts after it.
fn through(
    snap: &mut dyn Snapshot,
    anchor: Gid,
    outer: Relation,
    inner: Relation,
    after: Option<&[i64]>,
    limit: usize,
    how: ReadDepth,
) -> Result<RowChunk, GraphStoreError> {
    let mut chunk = RowChunk::default();
    chunk.rows.reserve(limit);
    let mut part = match after {
        Some(&[rank, gid, r, s]) => Gid::from_i64(gid).map(|part| (rank, part, (r, s))),
        _ => None,
    };
    let mut keyset = match after {
        Some(&[rank, gid, ..]) => (rank, gid),
        _ => (START, START),
    };
    loop {
        if let Some((rank, gid, from)) = part.take() {
            let room = limit - chunk.rows.len();
            let row = |edge: Edge, node| {
                let key = RowKeyset::of([rank, gid.as_i64(), edge.rank, edge.src.as_i64()]);
                given(edge, edge.src, EdgeEnd::OtherEnd, key, node)
            };
            chunk.scan_in(snap, (gid, inner), from, room, how, &row)?;
            if chunk.rows.len() >= limit {
                return Ok(chunk);
            }
        }
        snap.scan_in(anchor, outer, keyset, 1, Depth::Edge, &mut |edge, _| {
            part = Some((edge.rank, edge.src, (START, START)));
        })?;
        chunk.steps += 1;
        match part {
            Some((rank, gid, _)) => keyset = (rank, gid.as_i64()),
            None => {
                chunk.ended = true;
                return Ok(chunk);
            }
        }
    }
}

/// Returns the list source of a container's tasks, in its order.
#[must_use]
pub fn tasks_of_container(anchor: usize, is_task_list: bool) -> ListSource {
    let inner = if is_task_list {
        rel::MY_TASKS
    } else {
        rel::SECTION
    };
    ListSource::TwoStep {
        anchor,
        outer: rel::SECTION_OF,
        inner,
    }
}
