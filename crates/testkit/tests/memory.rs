//! The memory store keeps every promise of the ports.
use workgraph_auth::conformance::block_on;
use workgraph_testkit::MemoryStore;

#[test]
fn the_memory_store_keeps_tokens_as_the_port_says() {
    let mut failed = Vec::new();
    for (rule, case) in workgraph_auth::conformance::CASES {
        let store = MemoryStore::new();
        failed.extend(block_on(case(&store)).err().map(|e| format!("{rule}: {e}")));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_memory_store_keeps_the_graph_as_the_port_says() {
    let mut failed = Vec::new();
    for (rule, case) in workgraph_testkit::conformance::CASES {
        let store = MemoryStore::new();
        failed.extend(block_on(case(&store)).err().map(|e| format!("{rule}: {e}")));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
