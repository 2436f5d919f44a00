//! Nodes that share the store: their numbers, the leases on work that one of them does at a time, and the values that
//! they share.
pub mod node_number;
pub mod shared_values;
pub mod work_leases;
