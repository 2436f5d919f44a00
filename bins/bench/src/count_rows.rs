//! Rows whose instructions are counted.

use crate::bench_rows::Bound;

/// Kind of request whose instructions are counted.
pub(crate) struct CountRow {
    /// Name in the table and in the list of expected counts.
    pub(crate) name: &'static str,
    /// Row of the benchmark with the same requests.
    pub(crate) bench_row: &'static str,
    /// Number of connections that send the requests.
    pub(crate) connections: usize,
    /// Number of requests that are counted.
    pub(crate) requests: u64,
    /// Number of parts in which the requests are counted. The part with the fewest instructions is used, since the others
    /// include further work of the server, such as opening a connection to its database. Requests that differ much from each
    /// other form one part.
    pub(crate) parts: u64,
    /// Maximum difference between a count and the expected one, in thousandths.
    pub(crate) tolerance: u64,
    /// Maximum number of instructions of a request in a shipped build on a graph of 100,000 tasks.
    pub(crate) floor: u64,
    /// Target number of instructions.
    pub(crate) aim: u64,
    /// True if a quick run also counts the row.
    pub(crate) is_quick: bool,
    /// True if the count depends on a graph of many tasks.
    pub(crate) needs_large_graph: bool,
}

/// Row with the name of its requests in the benchmark, and the floor and the aim of its instructions.
const fn row(name: &'static str, requests: u64, (floor, aim): (u64, u64)) -> CountRow {
    CountRow {
        name,
        bench_row: name,
        connections: 1,
        requests,
        parts: 3,
        tolerance: 20,
        floor,
        aim,
        is_quick: false,
        needs_large_graph: false,
    }
}

/// Row that is counted in a quick run, too.
const fn quick(name: &'static str, requests: u64, bounds: (u64, u64)) -> CountRow {
    CountRow {
        is_quick: true,
        ..row(name, requests, bounds)
    }
}

/// Returns a row of searches, each of which is different.
const fn search(name: &'static str, requests: u64, bounds: (u64, u64)) -> CountRow {
    CountRow {
        parts: 1,
        needs_large_graph: true,
        ..row(name, requests, bounds)
    }
}

impl CountRow {
    pub(crate) const fn bound(&self) -> Bound {
        Bound::AtMost(self.floor as f64, self.aim as f64)
    }

    const fn tolerating(self, tolerance: u64) -> Self {
        Self { tolerance, ..self }
    }
}

/// All rows. Rows that write come last, so that the other rows see the same graph.
pub(crate) const COUNT_ROWS: &[CountRow] = &[
    quick("task-random", 400, (58_000, 42_000)),
    quick("task-hot", 400, (15_000, 13_000)).tolerating(40),
    row("users-me", 400, (15_000, 13_000)).tolerating(40),
    row("page-compact", 80, (320_000, 230_000)),
    quick("page-nested", 80, (1_000_000, 750_000)),
    row("batch", 80, (560_000, 420_000)),
    row("introspection", 200, (31_000, 27_000)),
    search("search-assigned", 50, (2_200_000, 700_000)),
    search("search-text", 100, (200_000, 150_000)),
    search("typeahead", 100, (600_000, 350_000)),
    quick("refresh", 200, (78_000, 68_000)),
    CountRow {
        name: "create-one-connection",
        ..quick("create", 200, (600_000, 480_000)).tolerating(30)
    },
    CountRow {
        connections: 64,
        needs_large_graph: true,
        ..row("create", 1_000, (420_000, 320_000)).tolerating(30)
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
            assert!(row.aim < row.floor, "{}", row.name);
        }
    }
}
