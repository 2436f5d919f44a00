//! The operation on the audit log.
use crate::operation::{Operation, audit_log};

/// Operations on the audit log.
pub static AUDIT: &[Operation] = &[audit_log(
    "getAuditLogEvents",
    "/workspaces/{workspace_gid}/audit_log_events",
)
.paid_only("Audit logs are not available for free users.")
.filters(&[
    "start_at",
    "end_at",
    "event_type",
    "actor_type",
    "actor_gid",
    "resource_gid",
])];
