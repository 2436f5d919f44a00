//! Lists in the order of titles, as far as these are read whole.
use super::{Chunk, Key, Row, START};
use crate::gid::Gid;
use crate::graph::{ALPHABETICAL_CAP, Edge, StoreError};
use crate::node::Node;
use crate::registry::{Dir, Rel};
use crate::snapshot::{Depth, Snapshot};
use std::sync::Arc;

/// The start of a title as numbers that sort like it: its case-folded bytes, as many as a keyset
/// holds beside the gid. Titles that agree so far are in the order of their gids, so that a walk goes
/// on at the same place whatever became of the row it stopped at.
fn folded(title: &str) -> [i64; 3] {
    let title = title.to_lowercase();
    let mut bytes = title.bytes();
    [(); 3].map(|()| {
        let word = [(); 8].map(|()| bytes.next().unwrap_or(0));
        // With the sign bit turned, signed numbers sort as the bytes do.
        (u64::from_be_bytes(word) ^ (1 << 63)).cast_signed()
    })
}

/// Rows by title, then gid.
pub(super) fn chunk(
    snap: &mut dyn Snapshot,
    anchor: Gid,
    rel: Rel,
    dir: Dir,
    after: Option<&[i64]>,
    limit: usize,
) -> Result<Chunk, StoreError> {
    let mut all: Vec<Row> = Vec::new();
    let mut take = |edge: Edge, node: Option<Arc<Node>>| {
        if let Some(n) = node {
            let [a, b, c] = folded(&n.title());
            all.push(Row {
                gid: n.gid,
                key: Key::of([a, b, c, n.gid.as_i64()]),
                seq: edge.seq,
                edge: Some(edge),
                node: Some(n),
                out: (0, 0),
            });
        }
    };
    match dir {
        Dir::Out => snap.scan_out(anchor, rel, START, ALPHABETICAL_CAP, Depth::Full, &mut take)?,
        Dir::In => snap.scan_in(
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
    let rows: Vec<Row> = all.into_iter().skip(from).take(limit).collect();
    let ended = from + rows.len() >= total;
    Ok(Chunk {
        rows,
        ended,
        ..Chunk::default()
    })
}
