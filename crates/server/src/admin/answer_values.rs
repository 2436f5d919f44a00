//! Values in the answers of commands.
use serde_json::Value;
use std::time::SystemTime;
use workgraph_core::model::time::Time;

/// Returns a time as the API writes it, or null.
pub(crate) fn time_or_null(time: Option<SystemTime>) -> Value {
    time.map_or(Value::Null, |t| Time::from_system(t).to_string().into())
}
