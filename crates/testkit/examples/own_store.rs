//! A custom graph store that wraps another store and counts commits. It must still keep every promise of the port, so all
//! conformance cases run against it. A store over your own database implements `GraphStore` itself. Run it with
//! `cargo run -p workgraph-testkit --example own_store`.
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::storage::{
    Changes, CommitReceipt, GraphStore, GraphStoreError, GraphStoreWrapper, ReadQuery, ViewerKey,
};
use workgraph_testkit::{Fixture, MemoryStore, conformance};

/// Store that counts successful commits, and delegates everything else to the inner store.
#[derive(Default)]
struct CountingStore<S> {
    inner: S,
    commits: AtomicU64,
}

impl<S> CountingStore<S> {
    fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl<S: GraphStore> GraphStoreWrapper for CountingStore<S> {
    fn inner(&self) -> &dyn GraphStore {
        &self.inner
    }

    async fn wrapped_commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        let receipt = self.inner.commit(changes).await?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(receipt)
    }
}

/// Commits a small graph and reads a task of it.
async fn use_it(store: &CountingStore<MemoryStore>) -> Result<(), Box<dyn Error>> {
    let mut fixture = Fixture::default();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    store.commit(fixture.take()).await?;
    let task = fixture.task(acme, "Write it down", ann);
    let receipt = store.commit(fixture.take()).await?;

    let viewer = ViewerKey {
        user: ann,
        service: None,
    };
    let view = store.load(&ReadQuery::of(viewer).node(task)).await?;
    view.node(task).ok_or("the task is not there")?;
    println!(
        "task {task} was read; {} commits, the last has number {}",
        store.commits(),
        receipt.seq
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    block_on(use_it(&CountingStore::default()))?;

    // Each case takes an empty store.
    let mut commits = 0;
    let mut broken = 0;
    for (rule, case) in conformance::CASES {
        let store = CountingStore::<MemoryStore>::default();
        match block_on(case(&store)) {
            Ok(()) => println!("kept: {rule}"),
            Err(failure) => {
                println!("BROKEN: {rule}: {failure}");
                broken += 1;
            }
        }
        commits += store.commits();
    }
    println!(
        "{} rules, {broken} broken, {commits} commits",
        conformance::CASES.len()
    );
    if broken > 0 {
        return Err("the store does not keep the promises of the port".into());
    }
    Ok(())
}
