//! The tables that every store has, with their keys and secret columns: `cargo run -p workgraph-rows --example tables`
use workgraph_rows::{ColumnContent, TABLES};

fn main() {
    let mut secrets = 0;
    for table in TABLES {
        let key: Vec<&str> = table
            .columns
            .iter()
            .take(table.key)
            .map(|c| c.name)
            .collect();
        let secret = table
            .columns
            .iter()
            .filter(|c| c.content == ColumnContent::Secret);
        let secret: Vec<&str> = secret.map(|column| column.name).collect();
        println!("{}: key {}; secret: {secret:?}", table.name, key.join(", "));
        assert!(!key.is_empty());
        secrets += secret.len();
    }
    assert!(secrets > 0);
}
