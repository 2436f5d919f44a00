//! Values of answers to commands, as JSON.
use crate::admin::admin_service::AdminService;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::time::SystemTime;
use workgraph_core::Node;
use workgraph_core::model::resources::user;
use workgraph_core::model::time::Time;

/// Returns a time as the API writes it, or null.
pub(crate) fn time_or_null(time: Option<SystemTime>) -> Value {
    time.map_or(Value::Null, |t| Time::from_system(t).to_string().into())
}

/// Returns a user with the state of their account.
///
/// # Errors
/// Fails if the account can't be read.
pub(crate) async fn show_user(service: &AdminService, node: &Node) -> Result<Value> {
    let account = service.storage.tokens.account(node.gid.get()).await;
    let account = account.with_context(|| format!("{}: the account can't be read", node.gid))?;
    Ok(json!({
        "gid": node.gid.to_string(),
        "name": node.title(),
        "email": node.get(user::EMAIL).unwrap_or_default(),
        "disabled": account.is_none_or(|a| a.disabled),
    }))
}
