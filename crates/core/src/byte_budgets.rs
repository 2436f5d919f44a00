//! Budgets in bytes: the most that one request, one delivery or one step of a job may read and write.
//!
//! Links lead from record to record and back, so a short path in `opt_fields` can name more than any machine holds. The bytes
//! read and written for a plan are therefore counted as they grow, and the work stops at the budget.

/// Maximum size in bytes of a reply, unless a setting says otherwise.
pub const REPLY_BYTES: usize = 8 << 20;
/// Maximum number of bytes that the nodes and edges of one load may take.
pub const LOAD_BYTES: usize = 64 << 20;
/// Maximum number of bytes that one step of a job may write.
pub const JOB_STEP_BYTES: usize = 16 << 20;
/// Maximum size in bytes of one delivery to a webhook.
pub const DELIVERY_BYTES: usize = 1 << 20;
