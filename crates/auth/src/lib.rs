//! The crate's front page: its modules, and the names most callers need.
#![doc = include_str!("../README.md")]

pub mod bearer;
pub mod conformance;
pub mod grant;
pub mod introspect;
pub mod memory;
pub mod record;
pub mod scope;
pub mod store;
pub mod token;

pub use bearer::{BearerError, bearer};
pub use grant::{Grant, Refusal, check};
pub use introspect::{Introspection, introspect};
pub use memory::MemoryTokenStore;
pub use record::{Account, Login, Tier, TokenRecord};
pub use scope::{ScopeError, ScopeSet};
pub use store::{StoreError, TokenStore};
pub use token::{Digest, Secret, TokenKind, digest, mint};
