#![doc = include_str!("../README.md")]
pub mod access_gate;
pub mod caller;
pub mod method;
pub mod openapi;
pub mod operation;
pub mod request_context;
pub mod settings;
pub mod table;

pub use caller::Caller;
pub use method::Method;
pub use operation::{NumberedOperation, Operation};
pub use request_context::RequestContext;
pub use settings::ApiSettings;
pub use table::{TABLES, all};
