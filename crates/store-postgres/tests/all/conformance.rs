//! Conformance of the PostgreSQL store to the ports.
use crate::support::store_with;
use workgraph_auth::conformance::block_on;

/// Runs all cases of the graph, each on an empty store.
fn keeps_the_graph(waves: bool) {
    let Some(test) = store_with(waves) else {
        return;
    };
    for (rule, case) in workgraph_testkit::conformance::CASES {
        let store = test.cleared();
        block_on(case(&store)).unwrap_or_else(|reason| panic!("{rule}: {reason}"));
    }
}

#[test]
fn postgres_keeps_the_graph_as_the_port_says() {
    keeps_the_graph(true);
}

#[test]
fn postgres_that_reads_one_by_one_keeps_the_graph_as_the_port_says() {
    keeps_the_graph(false);
}
