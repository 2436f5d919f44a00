//! Features with their own flow or state: attachments, audit log, events, exports, invitations, task counts and webhooks.
pub mod attachments;
pub(crate) mod audit_log;
pub(crate) mod events;
pub mod exports;
pub mod invitations;
pub(crate) mod task_counts;
pub mod webhooks;
