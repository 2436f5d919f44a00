//! What a debug build lets a test do to a real process, if the environment asks for it:
//!
//! - `WORKGRAPH_TEST_PANIC` names a node; whoever reads it panics.
//! - `WORKGRAPH_TEST_ABORT` names a node, too; whoever reads it ends the process.
//! - `WORKGRAPH_TEST_HOLD` names a file; while there is one, the store answers nothing.
//! - `WORKGRAPH_TEST_CLOCK` names a socket to be made; each line in it is a number of milliseconds by which the clock
//!   jumps ahead, and is answered with the same number.
use crate::seams::WallClock;
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use workgraph_core::audit::{Ask, Row};
use workgraph_core::graph::{
    Changes, Committed, Event, Fed, Feed, GraphStore, Ref, Seq, StoreError, View, Want,
};
use workgraph_core::time::Time;
use workgraph_core::{Gid, MaybeInterrupt};

/// The store, or one that fails as the environment says.
pub(crate) fn wrapped(graph: Arc<dyn GraphStore>) -> Arc<dyn GraphStore> {
    let set = |name: &str| std::env::var(name).ok();
    let gid = |name: &str| set(name).and_then(|text| Gid::parse(&text));
    let (at, abort) = (gid("WORKGRAPH_TEST_PANIC"), gid("WORKGRAPH_TEST_ABORT"));
    let hold = set("WORKGRAPH_TEST_HOLD").map(PathBuf::from);
    if at.is_none() && abort.is_none() && hold.is_none() {
        return graph;
    }
    Arc::new(Sabotaged {
        graph,
        at,
        abort,
        hold,
    })
}

/// Lets a test drive the clock, if the environment says so.
///
/// # Errors
/// When the socket can't be made.
pub(crate) fn drive(clock: &Arc<WallClock>) -> Result<(), String> {
    let Ok(path) = std::env::var("WORKGRAPH_TEST_CLOCK") else {
        return Ok(());
    };
    let listener = UnixListener::bind(&path).map_err(|e| format!("{path}: {e}"))?;
    let clock = Arc::clone(clock);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let clock = Arc::clone(&clock);
            // A test that goes away in the middle is over.
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

struct Sabotaged {
    graph: Arc<dyn GraphStore>,
    at: Option<Gid>,
    abort: Option<Gid>,
    hold: Option<PathBuf>,
}

impl Sabotaged {
    /// Waits while the store is held.
    async fn held(&self) {
        let Some(path) = &self.hold else { return };
        let mut looks = tokio::time::interval(Duration::from_millis(2));
        while path.exists() {
            looks.tick().await;
        }
    }
}

#[async_trait]
impl GraphStore for Sabotaged {
    #[expect(clippy::panic, reason = "that is what it is for")]
    async fn load(&self, want: &Want) -> Result<View, StoreError> {
        if let Some(at) = self.at
            && want.refs.contains(&Ref::Gid(at))
        {
            panic!("asked for {at}");
        }
        if self
            .abort
            .is_some_and(|at| want.refs.contains(&Ref::Gid(at)))
        {
            std::process::abort();
        }
        self.held().await;
        self.graph.load(want).await
    }
    async fn commit(&self, changes: Changes) -> Result<Committed, StoreError> {
        self.held().await;
        self.graph.commit(changes).await
    }
    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.graph.events(after, limit).await
    }
    async fn feed(&self, ask: Feed, interrupt: MaybeInterrupt) -> Result<Fed, StoreError> {
        self.graph.feed(ask, interrupt).await
    }
    async fn audited(&self, ask: Ask, interrupt: MaybeInterrupt) -> Result<Vec<Row>, StoreError> {
        self.graph.audited(ask, interrupt).await
    }
    async fn prune(&self, before: Time, upto: Seq, limit: usize) -> Result<usize, StoreError> {
        self.graph.prune(before, upto, limit).await
    }
}
