//! Prints the operations on tasks in the table: `cargo run -p workgraph-operations --example catalogue`
use workgraph_operations::all;

fn main() {
    let mut found = 0;
    for row in all().filter(|row| row.path.starts_with("/tasks")) {
        let (scope, kind) = (row.scope.unwrap_or("-"), row.writes());
        let kind = if kind { "writes" } else { "reads" };
        println!(
            "{:?} {} {kind}, scope {scope}: {}",
            row.method, row.path, row.id
        );
        found += 1;
    }
    assert!(found > 20, "{found} operations on tasks");
}
