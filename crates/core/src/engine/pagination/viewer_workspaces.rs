//! Lists over several workspaces, merged in the order of gids.
use super::{CandidateRow, RowChunk, START};
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::registry::{Type, rel};
use crate::storage::snapshot::{Depth, Snapshot};

/// Minimum number of rows that are read from each list at once.
const SHARE_MIN: usize = 16;

/// Reads the next rows after a gid: about `limit` from all lists together, so that a page costs the same for any number of
/// workspaces. Rows after the last row that was read from an unfinished list wait for the next chunk.
pub(super) fn chunk(
    snap: &mut dyn Snapshot,
    workspaces: &[Gid],
    ty: Type,
    after: Option<i64>,
    limit: usize,
    depth: Depth,
) -> Result<RowChunk, GraphStoreError> {
    let share = limit.div_ceil(workspaces.len().max(1)).max(SHARE_MIN);
    let mut rows: Vec<CandidateRow> = Vec::new();
    let mut sure = i64::MAX;
    rows.extend(CandidateRow::of_every_workspace(ty, after.unwrap_or(START)));
    for workspace in workspaces {
        let start = rows.len();
        if ty == Type::User {
            // All workspace memberships have rank 0.
            let from = after.map_or((START, START), |gid| (0, gid));
            snap.scan_in(
                *workspace,
                rel::WORKSPACES,
                from,
                share,
                depth,
                &mut |edge, node| {
                    rows.push(CandidateRow::of_node(edge.src, edge.seq, node));
                },
            )?;
        } else {
            let from = after.unwrap_or(START);
            snap.scan_workspace(*workspace, ty, from, share, depth, &mut |gid, seq, node| {
                rows.push(CandidateRow::of_node(gid, seq, node));
            })?;
        }
        if rows.len() - start >= share {
            sure = rows.last().map_or(sure, |last| sure.min(last.gid.as_i64()));
        }
    }
    let read = rows.len();
    rows.retain(|row| row.gid.as_i64() <= sure);
    // If a user has several memberships, the oldest one shows when they joined.
    rows.sort_unstable_by_key(|row| (row.gid, row.seq));
    rows.dedup_by_key(|row| row.gid);
    Ok(RowChunk {
        steps: workspaces.len() + (read - rows.len()),
        rows,
        ended: sure == i64::MAX,
        ..RowChunk::default()
    })
}
