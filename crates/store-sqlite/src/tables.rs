//! Rows of the tables by subject: tokens, accounts, apps, webhooks, the audit log and the search index.
pub(crate) mod audit_log_table;
pub(crate) mod auth_reads;
pub(crate) mod auth_rows;
pub(crate) mod auth_writes;
pub(crate) mod login_attempts;
pub(crate) mod search_index;
pub(crate) mod sweep;
pub(crate) mod webhook_table;
