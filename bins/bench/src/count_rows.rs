//! The rows of which instructions are counted.

/// Row of the count.
pub(crate) struct CountRow {
    /// Name in the table and in the list of expected counts.
    pub(crate) name: &'static str,
    /// Row of the benchmark with the same requests.
    pub(crate) bench_row: &'static str,
    /// Connections that send them.
    pub(crate) connections: usize,
    /// Number of requests that are counted.
    pub(crate) requests: u64,
    /// Number of parts in which they are counted. The part with the fewest instructions is taken: the others have what the server did
    /// besides, such as opening a connection to its database. Requests that differ much from each other are one part.
    pub(crate) parts: u64,
    /// Most that a count may differ from the expected one, in thousandths.
    pub(crate) tolerance: u64,
    /// True if it is counted in a quick run, too.
    pub(crate) is_quick: bool,
    /// True if the count depends on a graph of many tasks.
    pub(crate) needs_large_graph: bool,
}

/// Row with the name of its requests in the benchmark.
const fn row(name: &'static str, requests: u64) -> CountRow {
    CountRow {
        name,
        bench_row: name,
        connections: 1,
        requests,
        parts: 3,
        tolerance: 20,
        is_quick: false,
        needs_large_graph: false,
    }
}

/// Row that is counted in a quick run, too.
const fn quick(name: &'static str, requests: u64) -> CountRow {
    CountRow {
        is_quick: true,
        ..row(name, requests)
    }
}

/// Row of searches, which differ from each other.
const fn search(name: &'static str, requests: u64) -> CountRow {
    CountRow {
        parts: 1,
        needs_large_graph: true,
        ..row(name, requests)
    }
}

impl CountRow {
    const fn tolerating(self, tolerance: u64) -> Self {
        Self { tolerance, ..self }
    }
}

/// All rows. Those that write come last, so that the others see the same graph.
pub(crate) const COUNT_ROWS: &[CountRow] = &[
    quick("task-random", 400),
    quick("task-hot", 400).tolerating(40),
    row("users-me", 400).tolerating(40),
    row("page-compact", 80),
    quick("page-nested", 80),
    row("batch", 80),
    row("introspection", 200),
    search("search-assigned", 50),
    search("search-text", 100),
    search("typeahead", 100),
    quick("refresh", 200),
    CountRow {
        name: "create-one-connection",
        ..quick("create", 200).tolerating(30)
    },
    CountRow {
        connections: 64,
        needs_large_graph: true,
        ..row("create", 1_000).tolerating(30)
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_rows::ROWS;

    #[test]
    fn each_row_has_a_name_of_its_own_and_requests_of_the_benchmark() {
        for row in COUNT_ROWS {
            let equal = COUNT_ROWS.iter().filter(|other| other.name == row.name);
            assert_eq!(equal.count(), 1, "{}", row.name);
            let known = ROWS.iter().any(|bench| bench.name == row.bench_row);
            assert!(known, "{}", row.bench_row);
        }
    }
}
