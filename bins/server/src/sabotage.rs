//! A store that panics when it is asked for one node: how the test of panics gets one.
//!
//! Only in debug builds, and only if `WORKGRAPH_TEST_PANIC` names the node.
use async_trait::async_trait;
use std::sync::Arc;
use workgraph_core::Gid;
use workgraph_core::graph::{
    Changes, Committed, Event, Fed, Feed, GraphStore, Ref, Seq, StoreError, View, Want,
};
use workgraph_core::time::Time;

/// The store, or one that panics if the environment says so.
pub(crate) fn wrapped(graph: Arc<dyn GraphStore>) -> Arc<dyn GraphStore> {
    let asked = std::env::var("WORKGRAPH_TEST_PANIC").ok();
    match asked.and_then(|text| Gid::parse(&text)) {
        Some(at) => Arc::new(Sabotaged { graph, at }),
        None => graph,
    }
}

struct Sabotaged {
    graph: Arc<dyn GraphStore>,
    at: Gid,
}

#[async_trait]
impl GraphStore for Sabotaged {
    #[expect(clippy::panic, reason = "that is what it is for")]
    async fn load(&self, want: &Want) -> Result<View, StoreError> {
        if want.refs.contains(&Ref::Gid(self.at)) {
            panic!("asked for {}", self.at);
        }
        self.graph.load(want).await
    }
    async fn commit(&self, changes: Changes) -> Result<Committed, StoreError> {
        self.graph.commit(changes).await
    }
    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.graph.events(after, limit).await
    }
    async fn feed(&self, ask: Feed) -> Result<Fed, StoreError> {
        self.graph.feed(ask).await
    }
    async fn prune(&self, before: Time, upto: Seq, limit: usize) -> Result<usize, StoreError> {
        self.graph.prune(before, upto, limit).await
    }
}
