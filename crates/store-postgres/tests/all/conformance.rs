//! Conformance of the PostgreSQL store to the ports.
use crate::support::store_with;
use workgraph_auth::conformance::block_on;

/// Runs every nth case of the graph, each on an empty store.
fn keeps_the_graph(waves: bool, every: usize) {
    let Some(test) = store_with(waves) else {
        return;
    };
    for (rule, case) in workgraph_testkit::conformance::CASES.iter().step_by(every) {
        let store = test.cleared();
        block_on(case(&store)).unwrap_or_else(|reason| panic!("{rule}: {reason}"));
    }
}

#[test]
fn postgres_keeps_the_graph_as_the_port_says() {
    keeps_the_graph(true, 1);
}

/// A third of the cases, or all with `WORKGRAPH_CASES`: of a load in waves and one by one, only the reading differs.
#[test]
fn postgres_that_reads_one_by_one_keeps_the_graph_as_the_port_says() {
    let all = std::env::var_os("WORKGRAPH_CASES").is_some();
    keeps_the_graph(false, if all { 1 } else { 3 });
}
