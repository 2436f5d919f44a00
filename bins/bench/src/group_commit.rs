//! A bare group commit: durable inserts, a fixed number of them per commit.

use anyhow::Result;
use std::path::Path;
use std::time::Duration;

use rusqlite::{TransactionBehavior, params};

use crate::baseline_schema::{INSERT_EDGE, INSERT_NODE, TASK_GIDS, WORKSPACE_GID};
use crate::measure::Figure;
use crate::sqlite_baseline;
use crate::sqlite_baseline::GraphShape;

const INSERT_EVENT: &str = "INSERT INTO event VALUES (NULL, ?1, ?2, ?3)";

/// Number of creates that one commit of the writer contains under load.
pub(crate) const GROUP: i64 = 64;

/// Rows that one create writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitContent {
    /// One node row only.
    Row,
    /// All the rows of a task: its node, its edges, its event.
    Task,
}

/// Commits creates to a new file for a time; the rate counts creates, not commits.
pub(crate) fn run(
    folder: &Path,
    time: Duration,
    shape: GraphShape,
    (grain, group): (CommitContent, i64),
) -> Result<Figure> {
    let path = folder.join("bare-commit.sqlite");
    let mut connection = sqlite_baseline::open(&path)?;
    let body = vec![b'x'; shape.body];
    let mut next = TASK_GIDS;
    let commits = sqlite_baseline::timed(time, || {
        let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut node = change.prepare_cached(INSERT_NODE)?;
            let mut edge = change.prepare_cached(INSERT_EDGE)?;
            let mut event = change.prepare_cached(INSERT_EVENT)?;
            for gid in next..next + group {
                let name = "A task of the benchmark";
                node.execute(params![gid, 1, WORKSPACE_GID, name, body])?;
                if grain == CommitContent::Row {
                    continue;
                }
                for (rel, dst, aux) in sqlite_baseline::task_edges(gid, shape) {
                    edge.execute(params![gid, rel, dst, gid, aux])?;
                }
                event.execute(params![gid, 1, "added"])?;
            }
        }
        change.commit()?;
        next += group;
        Ok(0)
    })?;
    drop(connection);
    sqlite_baseline::discard(&path);
    Ok(commits.times(group as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn both_grains_commit() {
        let folder = std::env::temp_dir().join(format!("workgraph-commits-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let shape = GraphShape {
            tasks: 0,
            users: 7,
            followers: 2,
            sections: 3,
            body: 200,
        };
        for grain in [CommitContent::Row, CommitContent::Task] {
            let figure = run(&folder, Duration::from_millis(5), shape, (grain, GROUP)).unwrap();
            assert!(figure.rate > 0.0);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
