//! The graph on PostgreSQL: the primitives that loading and committing use.
mod aliases;
mod audit_rows;
mod graph_port;
mod graph_reads;
mod graph_writes;
mod index_entries;
mod index_keys;
mod node_columns;
mod statements;
mod words;

#[cfg(test)]
mod tests;
