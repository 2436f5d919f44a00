//! The batch: several requests in one.
use crate::operation::{Operation, batch};

/// The rows.
pub static BATCH: &[Operation] = &[batch("createBatchRequest", "/batch").body(&["actions"])];
