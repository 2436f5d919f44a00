//! Faults that a test can inject into a real process of a debug build, set in the environment:
//!
//! - `WORKGRAPH_TEST_PANIC` names a node; each read of it panics.
//! - `WORKGRAPH_TEST_ABORT` names a node, too; each read of it ends the process.
//! - `WORKGRAPH_TEST_HOLD` names a file; while it exists, the store does not answer.
//! - `WORKGRAPH_TEST_QUICK_SECRETS` makes passwords and keys instantly, but worthless: tests start many servers.
//! - `WORKGRAPH_TEST_TIMELINE` gives the timelines of a stand-in a defect.
//! - `WORKGRAPH_TEST_CLOCK` names a socket to create; each line sent to it is a number of milliseconds by which the clock
//!   jumps ahead, and is answered with the same number.
use crate::adapters::system_clock::WallClock;
use anyhow::{Context, Result};
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use workgraph_core::Gid;
use workgraph_core::storage::{
    Changes, CommitReceipt, GraphStore, GraphStoreError, GraphStoreWrapper, NodeRef, ReadQuery,
    ReadView,
};

/// Returns the store, or a wrapper with the faults set in the environment.
pub(crate) fn with_fault_injection(graph: Arc<dyn GraphStore>) -> Arc<dyn GraphStore> {
    let set = |name: &str| std::env::var(name).ok();
    let gid = |name: &str| set(name).and_then(|text| Gid::parse(&text));
    let (at, abort) = (gid("WORKGRAPH_TEST_PANIC"), gid("WORKGRAPH_TEST_ABORT"));
    let hold = set("WORKGRAPH_TEST_HOLD").map(PathBuf::from);
    if at.is_none() && abort.is_none() && hold.is_none() {
        return graph;
    }
    Arc::new(FaultInjectingStore {
        graph,
        at,
        abort,
        hold,
    })
}

/// Returns true if the environment asks for instant passwords and keys, which protect nothing.
pub(crate) fn has_quick_secrets() -> bool {
    std::env::var_os("WORKGRAPH_TEST_QUICK_SECRETS").is_some()
}

/// Lets a test control the clock, if the environment says so.
///
/// # Errors
/// Fails if the socket can't be created.
pub(crate) fn drive_test_clock(clock: &Arc<WallClock>) -> Result<()> {
    let Ok(path) = std::env::var("WORKGRAPH_TEST_CLOCK") else {
        return Ok(());
    };
    let listener = UnixListener::bind(&path).with_context(|| path.clone())?;
    let clock = Arc::clone(clock);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let clock = Arc::clone(&clock);
            // A test that closes the socket early ends its connection.
            tokio::spawn(async move { driven(stream, &clock).await });
        }
    });
    Ok(())
}

async fn driven(mut stream: UnixStream, clock: &WallClock) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        clock.advance(Duration::from_millis(line.trim().parse().unwrap_or(0)));
        write.write_all(format!("{line}\n").as_bytes()).await?;
    }
    Ok(())
}

struct FaultInjectingStore {
    graph: Arc<dyn GraphStore>,
    at: Option<Gid>,
    abort: Option<Gid>,
    hold: Option<PathBuf>,
}

impl FaultInjectingStore {
    /// Waits while the store is held.
    async fn wait(&self) {
        let Some(path) = &self.hold else { return };
        let mut looks = tokio::time::interval(Duration::from_millis(2));
        while path.exists() {
            looks.tick().await;
        }
    }
}

#[async_trait]
impl GraphStoreWrapper for FaultInjectingStore {
    fn inner(&self) -> &dyn GraphStore {
        &*self.graph
    }
    #[expect(clippy::panic, reason = "that is what it is for")]
    async fn wrapped_load(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        if let Some(at) = self.at
            && want.node_refs.contains(&NodeRef::Gid(at))
        {
            panic!("asked for {at}");
        }
        if self
            .abort
            .is_some_and(|at| want.node_refs.contains(&NodeRef::Gid(at)))
        {
            std::process::abort();
        }
        self.wait().await;
        self.graph.load(want).await
    }
    async fn wrapped_commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        self.wait().await;
        self.graph.commit(changes).await
    }
    /// Returns `None`: every load must be held, so no cached reply may replace one.
    fn wrapped_version(&self) -> Option<u64> {
        None
    }
}
