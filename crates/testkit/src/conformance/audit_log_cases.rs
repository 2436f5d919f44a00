//! Conformance of an audit log store, together with the graph whose commits write its rows.
use super::{GraphStoreFailure, ensure, same};
use std::time::SystemTime;
use workgraph_audit::{
    AuditLogProgress, AuditLogStore, AuditLogStoreError, ChainPosition, StoredCheckpoint,
};
use workgraph_core::audit::{AuditEntry, AuditQuery, event_kinds};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
use workgraph_core::storage::{Changes, GraphStore};

impl From<AuditLogStoreError> for GraphStoreFailure {
    fn from(error: AuditLogStoreError) -> Self {
        Self(format!("an unexpected error: {error}"))
    }
}

const START_MS: i64 = 1_800_000_000_000;
const HOUR_MS: i64 = 3_600_000;

fn hour(number: i64) -> SystemTime {
    Time::from_millis(START_MS + number * HOUR_MS).to_system()
}

/// Commits an act in each of these workspaces at an hour.
async fn act(graph: &dyn GraphStore, workspaces: &[u64], at: i64) -> Result<(), GraphStoreFailure> {
    let entry = |workspace: &u64| {
        let workspace = Gid::new(*workspace)?;
        let kind = event_kinds::OBJECT_EXPORT_STARTED;
        Some(AuditEntry::new(kind, workspace, workspace))
    };
    let changes = Changes {
        time: Time::from_system(hour(at)),
        audit_entries: workspaces.iter().filter_map(entry).collect(),
        ..Changes::default()
    };
    graph.commit(changes).await?;
    Ok(())
}

/// Returns the chain over the rows of these workspaces, in order of gid: a position for each row.
async fn chain(
    graph: &dyn GraphStore,
    workspaces: &[u64],
) -> Result<Vec<ChainPosition>, GraphStoreFailure> {
    let mut rows = Vec::new();
    for workspace in workspaces.iter().filter_map(|gid| Gid::new(*gid)) {
        rows.extend(
            graph
                .audit_rows(AuditQuery::all(workspace, 1_000), None)
                .await?,
        );
    }
    rows.sort_unstable_by_key(|row| row.gid);
    let next = |last: &mut ChainPosition, row: &workgraph_core::audit::AuditRow| {
        *last = last.next(&row.digest_input());
        Some(*last)
    };
    Ok(rows.iter().scan(ChainPosition::START, next).collect())
}

fn checkpoint(previous: Option<&str>, line: &str, head: u64, base: u64) -> StoredCheckpoint {
    StoredCheckpoint {
        previous: previous.map(str::to_owned),
        line: line.to_owned(),
        head,
        base,
    }
}

/// Checks an empty audit log and its graph: the chain, its checkpoints, and dropping rows.
///
/// # Errors
/// Fails with the first difference from the promises.
pub async fn audit_log(
    graph: &dyn GraphStore,
    log: &dyn AuditLogStore,
) -> Result<(), GraphStoreFailure> {
    let nothing = AuditLogProgress {
        head: ChainPosition::START,
        checkpoint: None,
    };
    same(&log.progress().await?, &nothing, "a new log is empty")?;
    same(
        &log.prunable_rows(hour(99)).await?,
        &None,
        "there is nothing to drop",
    )?;
    let workspaces = [7, 8];
    for at in 0..6 {
        act(graph, &workspaces, at).await?;
    }
    let chain = chain(graph, &workspaces).await?;
    same(&chain.len(), &12, "each act has its row")?;
    let head = chain.last().copied().unwrap_or(ChainPosition::START);
    same(
        &log.progress().await?.head,
        &head,
        "one chain binds the rows of all workspaces in their order",
    )?;

    same(
        &log.prunable_rows(hour(0)).await?,
        &None,
        "a row is not older than its own time",
    )?;
    let third = chain.get(3).copied();
    same(
        &log.prunable_rows(hour(2)).await?,
        &third,
        "rows from before an instant can be dropped",
    )?;
    same(
        &log.prunable_rows(hour(99)).await?,
        &chain.get(10).copied(),
        "the last row stays, however old",
    )?;

    ensure(
        log.store_checkpoint(checkpoint(None, "first", 8, 0))
            .await?,
        "the first checkpoint is stored",
    )?;
    ensure(
        !log.store_checkpoint(checkpoint(None, "late", 12, 4))
            .await?,
        "one of a signer that did not see it is not",
    )?;
    same(
        &log.progress().await?,
        &AuditLogProgress {
            head,
            checkpoint: Some("first".to_owned()),
        },
        "nor does it drop anything",
    )?;
    let rows = async || -> Result<usize, GraphStoreFailure> {
        let mut count = 0;
        for workspace in workspaces.iter().filter_map(|gid| Gid::new(*gid)) {
            let ask = AuditQuery::all(workspace, 1_000);
            count += graph.audit_rows(ask, None).await?.len();
        }
        Ok(count)
    };
    same(&rows().await?, &12, "all rows are there")?;
    ensure(
        log.store_checkpoint(checkpoint(Some("first"), "second", 12, 4))
            .await?,
        "one of a signer that saw it is stored",
    )?;
    same(&rows().await?, &8, "and drops the rows up to its base")?;
    same(
        &log.prunable_rows(hour(2)).await?,
        &None,
        "what is dropped is not dropped again",
    )?;
    act(graph, &workspaces, 6).await?;
    let progress = log.progress().await?;
    same(&progress.head.seq, &14, "the numbers go on")?;
    same(
        &progress.checkpoint.as_deref(),
        &Some("second"),
        "the last checkpoint stays",
    )
}
