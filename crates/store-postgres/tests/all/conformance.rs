//! Conformance of the PostgreSQL store to the ports.
use crate::support::empty_store;
use workgraph_auth::conformance::block_on;

#[test]
fn postgres_keeps_the_graph_as_the_port_says() {
    for (rule, case) in workgraph_testkit::conformance::CASES {
        let Some(test) = empty_store() else { return };
        block_on(case(&test.store)).unwrap_or_else(|reason| panic!("{rule}: {reason}"));
    }
}
