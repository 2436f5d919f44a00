//! Decisions of a store of tokens, accounts, apps, authorizations, codes and sessions.
//!
//! A store makes a decision in one transaction: it reads the records that a function here takes, calls it, makes the
//! [writes](AuthWrite) that it returns, and records its [acts](AuditedAct) in an audit log, if it has one. No other transaction may
//! change these records in between. So each rule is written once, and a store only reads and writes records.
mod account_rules;
mod app_rules;
mod auth_decision;
mod consent_rules;
mod redemption_rules;
mod refresh_rules;
mod session_rules;
#[cfg(test)]
mod test_records;
mod token_rules;

pub use account_rules::{change_password, put_account, set_disabled, set_tier};
pub use app_rules::put_app;
pub use auth_decision::{AuditedAct, AuthDecision, AuthDecisionResult, AuthWrite};
pub use consent_rules::{ConsentContext, deauthorize, keep_code, keep_consent};
pub use redemption_rules::{CodeContext, redeem};
pub use refresh_rules::{RefreshTokenContext, TokenAncestors};
pub use session_rules::{end_session, end_sessions, failed_sign_in, start_session};
pub use token_rules::{UserAccess, insert_token, revoke_all, revoke_token};
