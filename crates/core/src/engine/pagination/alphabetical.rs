//! Alphabetical lists, which are read whole and sorted by title: up to [`ALPHABETICAL_CAP`] rows.
use super::{CandidateRow, RowChunk, RowKeyset, START};
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Direction, Relation};
use crate::storage::ALPHABETICAL_CAP;
use crate::storage::snapshot::{Depth, Snapshot};
use std::sync::Arc;

/// Returns the start of a title as numbers that sort like it: its case-folded bytes, as many as fit a keyset beside the gid.
/// Titles that are equal up to there are in the order of their gids, so the next page starts at the same position even if the
/// last row of this page has changed.
fn folded(title: &str) -> [i64; 3] {
    let title = title.to_lowercase();
    let mut bytes = title.bytes();
    [(); 3].map(|()| {
        let word = [(); 8].map(|()| bytes.next().unwrap_or(0));
        // With the sign bit flipped, signed numbers sort as the bytes do.
        (u64::from_be_bytes(word) ^ (1 << 63)).cast_signed()
    })
}

/// Number of steps for reading a row in full, and for folding and comparing its title.
const SORTED: usize = 4;

/// Reads rows by title, then gid.
pub(super) fn chunk(
    snap: &mut dyn Snapshot,
    anchor: Gid,
    rel: Relation,
    dir: Direction,
    after: Option<&[i64]>,
    limit: usize,
) -> Result<RowChunk, GraphStoreError> {
    let mut all: Vec<CandidateRow> = Vec::new();
    let mut take = |edge: Edge, node: Option<Arc<Node>>| {
        if let Some(n) = node {
            let [a, b, c] = folded(&n.title());
            all.push(CandidateRow {
                gid: n.gid,
                key: RowKeyset::of([a, b, c, n.gid.as_i64()]),
                seq: edge.seq,
                edge: Some(edge),
                node: Some(n),
                out: (0, 0),
            });
        }
    };
    match dir {
        Direction::Out => {
            snap.scan_out(anchor, rel, START, ALPHABETICAL_CAP, Depth::Full, &mut take)?
        }
        Direction::In => snap.scan_in(
            anchor,
            rel,
            (START, START),
            ALPHABETICAL_CAP,
            Depth::Full,
            &mut take,
        )?,
    }
    all.sort_by(|a, b| a.key.as_slice().cmp(b.key.as_slice()));
    let from = after.map_or(0, |key| {
        all.partition_point(|row| row.key.as_slice() <= key)
    });
    let total = all.len();
    let rows: Vec<CandidateRow> = all.into_iter().skip(from).take(limit).collect();
    let ended = from + rows.len() >= total;
    Ok(RowChunk {
        rows,
        ended,
        steps: total.saturating_mul(SORTED),
        ..RowChunk::default()
    })
}
