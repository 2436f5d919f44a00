#![doc = include_str!("../README.md")]
pub mod access_gate;
pub mod caller;
#[cfg(test)]
mod decision_scene;
pub mod method;
pub mod openapi;
pub mod operation;
pub mod request_context;
pub mod settings;
pub mod table;

use workgraph_auth::ScopeRegistry;

pub use caller::Caller;
pub use method::Method;
pub use operation::{NumberedOperation, Operation};
pub use request_context::RequestContext;
pub use settings::ApiSettings;
pub use table::{TABLES, all};

/// Scopes of the API.
pub const SCOPES: ScopeRegistry = ScopeRegistry::of(&workgraph_core::scopes::SCOPES);
