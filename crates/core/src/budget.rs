//! Budgets in bytes: how much one request, one delivery or one step of a job may read and write.
//!
//! Links lead from record to record and back, so a short path in `opt_fields` can name more than any machine holds. What
//! is read for a plan and what is written by it are therefore counted while that goes on, and it stops where the budget
//! ends.

/// How much a reply may hold, unless a setting says something else, in bytes.
pub const REPLY: usize = 8 << 20;
/// How much the nodes and edges that one load gathers may take, in bytes.
pub const GATHERED: usize = 64 << 20;
/// How much one step of a job may write, in bytes.
pub const STEP: usize = 16 << 20;
/// How much one delivery to a webhook may hold, in bytes.
pub const DELIVERY: usize = 1 << 20;
