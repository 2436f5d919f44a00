//! Features with a flow or a state of their own: audit log, events, exports, invitations, task counts and
//! webhooks.
pub(crate) mod audit_log;
pub(crate) mod events;
pub mod exports;
pub mod invitations;
pub(crate) mod task_counts;
pub mod webhooks;
