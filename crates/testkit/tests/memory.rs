//! The memory store keeps every promise of the ports.
use workgraph_auth::conformance::block_on;
use workgraph_testkit::MemoryStore;

#[test]
fn the_memory_store_keeps_tokens_as_the_port_says() {
    for (rule, case) in workgraph_auth::conformance::CASES {
        let store = MemoryStore::new();
        block_on(case(&store)).unwrap_or_else(|e| panic!("{rule}: {e}"));
    }
}
