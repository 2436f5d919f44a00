//! Pages: keyset reading of one list, with filters, access and bounds.
//!
//! A page reads its list in chunks until it has one row more than asked for, the list ends, or the
//! walk has gone through [`crate::graph::Page::cap`] rows: that cap bounds the work of any walk.
mod alphabetical;
mod homes;

use crate::access::Level;
use crate::gid::Gid;
use crate::graph::{Edge, Filter, Give, Listing, Page, Rows, Seq, StoreError};
use crate::load::Loader;
use crate::node::{Node, Readable};
use crate::plan::Plan;
use crate::registry::{Dir, Rel, Type, rel};
use crate::resources::{section, task};
use crate::snapshot::{Depth, Found, Snapshot};
use crate::time::Time;
use std::sync::Arc;

/// One row of a list before anything is decided about it.
struct Row {
    gid: Gid,
    key: Key,
    seq: Seq,
    edge: Option<Edge>,
    node: Option<Arc<Node>>,
    /// Its edges in [`Chunk::out`].
    out: (usize, usize),
}

/// The keyset of a row: as many numbers as its list has sort keys.
#[derive(Clone, Copy)]
struct Key {
    parts: [i64; 4],
    len: usize,
}

impl Key {
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
/// The most rows read at once.
const CHUNK_MAX: usize = 512;

/// Reads the page into the view.
pub(crate) fn read(
    loader: &mut Loader<'_>,
    page: &Page,
    plan: Option<&Plan>,
) -> Result<(), StoreError> {
    let upto = page.upto.unwrap_or(loader.view.seq);
    let mut rows = Rows {
        upto,
        seen: page.seen,
        ..Rows::default()
    };
    let anchor = match page.from.anchor() {
        Some(at) => loader
            .found(at)
            .filter(|gid| loader.view.level(*gid) > Level::None),
        // What is listed for the viewer has the viewer for an anchor.
        None => Some(loader.view.viewer.user),
    };
    let Some(anchor) = anchor else {
        loader.view.rows = rows;
        return Ok(());
    };
    let from = of_task_list(loader, &page.from, anchor);
    let open = page.open && !guards_guests(loader, anchor);
    let needs_body = !page.filters.is_empty() || !open || plan.is_some_and(|p| p.reads_body);
    let how = How {
        depth: if needs_body { Depth::Full } else { Depth::Head },
        band: plan.and_then(|p| p.band).filter(|_| needs_body),
    };
    let mut after = page.after.clone();
    let mut last = None;
    let viewer = Arc::clone(&loader.view.viewer);
    // The first chunk is what an open list needs; where rows are passed over, chunks grow.
    let mut wanted = page.limit.saturating_add(1).min(CHUNK_MAX);
    'reading: loop {
        let chunk = match from {
            Listing::Homes { ty } => {
                let after = after.as_ref().and_then(|key| key.first()).copied();
                homes::chunk(loader.snap, &viewer.homes(), ty, after, wanted, how.depth)?
            }
            _ => chunk(loader.snap, &from, anchor, after.as_deref(), wanted, how)?,
        };
        let ended = chunk.ended;
        let mut read = None;
        wanted = (wanted * 2).min(CHUNK_MAX);
        for row in chunk.rows {
            read = Some(row.key);
            loader.steps(1)?;
            if row.seq > upto {
                continue;
            }
            if rows.gids.len() < page.limit && rows.seen >= page.cap {
                rows.cut = true;
                break 'reading;
            }
            if let (Some(band), Some(edges)) = (chunk.band, chunk.out.get(row.out.0..row.out.1)) {
                loader.adopt(row.gid, band, edges)?;
            }
            if !admit(loader, (page, open), anchor, &row)? {
                loader.forget(row.gid);
                rows.seen = rows.seen.saturating_add(1);
                continue;
            }
            if rows.gids.len() == page.limit {
                // One row more than asked for: there is a next page, and it starts after the last row given.
                break 'reading;
            }
            rows.seen = rows.seen.saturating_add(1);
            rows.gids.push(row.gid);
            last = Some(row.key);
            if let Some(node) = row.node {
                loader.keep(node)?;
            }
        }
        if ended {
            last = None;
            break;
        }
        after = read.map(|key: Key| key.as_slice().to_vec()).or(after);
    }
    rows.next = last.map(|key| key.as_slice().to_vec());
    loader.view.rows = rows;
    Ok(())
}

/// Whether the viewer is a guest at the anchor: of what a workspace holds, they see what is shared with them.
fn guards_guests(loader: &Loader<'_>, anchor: Gid) -> bool {
    let node = loader.view.node(anchor);
    node.is_some_and(|n| n.ty == Type::Workspace) && !loader.view.viewer.is_member(anchor)
}

/// A section of a task list holds its tasks by another relation than one of a project.
fn of_task_list(loader: &Loader<'_>, from: &Listing, anchor: Gid) -> Listing {
    let container = || {
        let section = loader.view.node(anchor)?;
        loader.view.node(section.get(section::PROJECT)?)
    };
    match from {
        Listing::Edges {
            anchor,
            rel: rel::SECTION,
            dir: Dir::In,
            give,
        } if container().is_some_and(|c| c.ty == Type::UserTaskList) => Listing::Edges {
            anchor: *anchor,
            rel: rel::MY_TASKS,
            dir: Dir::In,
            give: *give,
        },
        other => other.clone(),
    }
}

/// Whether the row belongs to the page: it passes the filters and the viewer may see it.
fn admit(
    loader: &mut Loader<'_>,
    (page, open): (&Page, bool),
    anchor: Gid,
    row: &Row,
) -> Result<bool, StoreError> {
    for filter in &page.filters {
        if let Filter::Far(gid) = filter {
            let far = row
                .edge
                .map(|e| if e.src == anchor { e.dst } else { e.src });
            if far != Some(*gid) {
                return Ok(false);
            }
            continue;
        }
        if let Filter::Linked(rel, to) = filter {
            if loader.snap.linked(row.gid, *rel, *to)?.is_none() {
                return Ok(false);
            }
            continue;
        }
        let passes = match &row.node {
            Some(node) => passes(filter, node),
            None => {
                loader.full(row.gid)?
                    && loader.view.node(row.gid).is_some_and(|n| passes(filter, n))
            }
        };
        if !passes {
            return Ok(false);
        }
    }
    if open {
        loader.seen_through(row.gid, Level::Viewer);
        return Ok(true);
    }
    if let Some(node) = &row.node {
        loader.keep(Arc::clone(node))?;
    }
    Ok(loader.level(row.gid)? > Level::None)
}

fn passes(filter: &Filter, node: &Node) -> bool {
    match filter {
        Filter::Is(ty) => node.ty == *ty,
        Filter::Home(workspace) => node.home == Some(*workspace),
        Filter::CompletedSince(at) => {
            !node.get(task::COMPLETED)
                || node
                    .get(task::COMPLETED_AT)
                    .is_none_or(|done: Time| done >= *at)
        }
        Filter::ModifiedSince(at) => node.get(task::MODIFIED_AT).is_some_and(|t: Time| t >= *at),
        Filter::Flag(key, wanted) => bool::read(node.raw(key).unwrap_or("false")) == *wanted,
        Filter::Unset(key) => node.raw(key).is_none(),
        Filter::Far(_) | Filter::Linked(..) => true,
    }
}

/// How much of a row is read.
#[derive(Clone, Copy)]
struct How {
    depth: Depth,
    /// The edges that the rows' plan follows, to be read along with rows in full.
    band: Option<(Rel, Rel)>,
}

#[derive(Default)]
struct Chunk {
    rows: Vec<Row>,
    ended: bool,
    /// Edges of all rows, one row after the other, if they were read along.
    out: Vec<Edge>,
    /// The relations of those edges.
    band: Option<(Rel, Rel)>,
}

impl Chunk {
    /// Adds the rows of an incoming list.
    fn scan_in(
        &mut self,
        snap: &mut dyn Snapshot,
        (dst, rel): (Gid, Rel),
        after: (i64, i64),
        limit: usize,
        how: How,
        row: &dyn Fn(Edge, Option<Arc<Node>>) -> Option<Row>,
    ) -> Result<(), StoreError> {
        let (Some(band), Depth::Full) = (how.band, how.depth) else {
            return snap.scan_in(dst, rel, after, limit, how.depth, &mut |edge, node| {
                self.rows.extend(row(edge, node));
            });
        };
        self.band = how.band;
        snap.scan_in_out(dst, rel, after, limit, band, &mut |found| match found {
            Found::Row(edge, node) => {
                let at = self.out.len();
                let row = row(edge, Some(node)).map(|row| Row {
                    out: (at, at),
                    ..row
                });
                self.rows.extend(row);
            }
            Found::Out(edge) => {
                self.out.push(edge);
                if let Some(row) = self.rows.last_mut() {
                    row.out.1 += 1;
                }
            }
        })
    }
}

/// The next rows of the list after a keyset.
fn chunk(
    snap: &mut dyn Snapshot,
    from: &Listing,
    anchor: Gid,
    after: Option<&[i64]>,
    limit: usize,
    how: How,
) -> Result<Chunk, StoreError> {
    let depth = how.depth;
    let key = |at: usize| after.and_then(|k| k.get(at)).copied().unwrap_or(START);
    let mut chunk = Chunk::default();
    chunk.rows.reserve(limit);
    let rows = &mut chunk.rows;
    match *from {
        Listing::Edges {
            rel,
            dir: Dir::Out,
            give,
            ..
        } => {
            let far = if give == Give::Far {
                depth
            } else {
                Depth::Edge
            };
            snap.scan_out(anchor, rel, key(0), limit, far, &mut |edge, node| {
                rows.extend(given(
                    edge,
                    edge.dst,
                    give,
                    Key::one(edge.dst.as_i64()),
                    node,
                ));
            })?;
        }
        Listing::Edges {
            rel,
            dir: Dir::In,
            give,
            ..
        } => {
            let how = if give == Give::Far {
                how
            } else {
                How {
                    depth: Depth::Edge,
                    band: None,
                }
            };
            let row = |edge: Edge, node| {
                let key = Key::two(edge.rank, edge.src.as_i64());
                given(edge, edge.src, give, key, node)
            };
            let after = (key(0), key(1));
            chunk.scan_in(snap, (anchor, rel), after, limit, how, &row)?;
        }
        Listing::Home { ty, .. } => {
            snap.scan_home(anchor, ty, key(0), limit, depth, &mut |gid, seq, node| {
                rows.push(Row {
                    gid,
                    key: Key::one(gid.as_i64()),
                    seq,
                    edge: None,
                    node,
                    out: (0, 0),
                });
            })?;
        }
        // Several lists in one.
        Listing::Homes { .. } => {}
        Listing::Only { .. } => rows.extend(after.is_none().then(|| Row {
            gid: anchor,
            key: Key::one(anchor.as_i64()),
            seq: 0,
            edge: None,
            node: None,
            out: (0, 0),
        })),
        Listing::Through { outer, inner, .. } => {
            return through(snap, anchor, outer, inner, after, limit, how);
        }
        Listing::Alphabetical { rel, dir, .. } => {
            return alphabetical::chunk(snap, anchor, rel, dir, after, limit);
        }
    }
    chunk.ended = chunk.rows.len() < limit;
    Ok(chunk)
}

fn given(edge: Edge, far: Gid, give: Give, key: Key, node: Option<Arc<Node>>) -> Option<Row> {
    let gid = if give == Give::Far { far } else { edge.aux? };
    Some(Row {
        gid,
        key,
        seq: edge.seq,
        edge: Some(edge),
        node: node.filter(|n| n.gid == gid),
        out: (0, 0),
    })
}

/// Rows of a two-step list: what is left of the current part, then the parts after it.
fn through(
    snap: &mut dyn Snapshot,
    anchor: Gid,
    outer: Rel,
    inner: Rel,
    after: Option<&[i64]>,
    limit: usize,
    how: How,
) -> Result<Chunk, StoreError> {
    let mut chunk = Chunk::default();
    chunk.rows.reserve(limit);
    let mut part = match after {
        Some(&[rank, gid, r, s]) => Gid::from_i64(gid).map(|part| (rank, part, (r, s))),
        _ => None,
    };
    let mut place = match after {
        Some(&[rank, gid, ..]) => (rank, gid),
        _ => (START, START),
    };
    loop {
        if let Some((rank, gid, from)) = part.take() {
            let room = limit - chunk.rows.len();
            let row = |edge: Edge, node| {
                let key = Key::of([rank, gid.as_i64(), edge.rank, edge.src.as_i64()]);
                given(edge, edge.src, Give::Far, key, node)
            };
            chunk.scan_in(snap, (gid, inner), from, room, how, &row)?;
            if chunk.rows.len() >= limit {
                return Ok(chunk);
            }
        }
        snap.scan_in(anchor, outer, place, 1, Depth::Edge, &mut |edge, _| {
            part = Some((edge.rank, edge.src, (START, START)));
        })?;
        match part {
            Some((rank, gid, _)) => place = (rank, gid.as_i64()),
            None => {
                chunk.ended = true;
                return Ok(chunk);
            }
        }
    }
}

/// The list of a container's tasks, in its order.
#[must_use]
pub fn tasks_of_container(anchor: usize, is_task_list: bool) -> Listing {
    let inner = if is_task_list {
        rel::MY_TASKS
    } else {
        rel::SECTION
    };
    Listing::Through {
        anchor,
        outer: rel::SECTION_OF,
        inner,
    }
}
