//! The batch: several requests in one.
use crate::operation::{Operation, batch};

/// Operation for several requests in one.
pub static BATCH: &[Operation] = &[batch("createBatchRequest", "/batch").body(&["actions"])];
