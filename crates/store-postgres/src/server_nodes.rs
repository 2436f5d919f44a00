//! Nodes that share the store: their numbers, their leases on work that only one node does at a time, and their shared
//! values.
pub mod node_number;
pub mod shared_values;
pub mod work_leases;
