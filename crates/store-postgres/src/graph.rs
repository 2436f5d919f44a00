//! The graph on PostgreSQL: the primitives that loading and committing use.
pub(crate) mod aliases;
mod audit_rows;
mod graph_reads;
mod graph_writes;
pub(crate) mod group_statements;
mod index_entries;
pub(crate) mod index_keys;
mod new_indexes;
mod node_columns;
mod row_writes;
pub(crate) mod words;

#[cfg(test)]
mod tests;
