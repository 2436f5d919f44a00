//! The crate's front page: its modules, and the names most callers need.
#![doc = include_str!("../README.md")]

pub mod authorization;
pub mod authorize;
pub mod bearer;
pub mod client;
pub mod code;
pub mod conformance;
pub mod discovery;
pub mod endpoint;
pub mod grant;
pub mod id_token;
pub mod introspect;
mod json;
pub mod keys;
pub mod memory;
pub mod oauth;
mod params;
pub mod pkce;
pub mod record;
pub mod redirect;
pub mod respond;
pub mod scope;
pub mod session;
pub mod store;
pub mod token;

pub use authorization::Authorization;
pub use authorize::{AuthorizationRequest, Next, PlainError, Refused, Verified};
pub use bearer::{BearerError, bearer};
pub use client::{App, Registered};
pub use code::Code;
pub use endpoint::{Endpoints, Form, Fresh, People, Reply, TokenError};
pub use grant::{Grant, Refusal, check};
pub use id_token::{IdToken, Person};
pub use introspect::{Introspection, introspect};
pub use keys::{KeyRing, Rs256, Signer};
pub use memory::MemoryTokenStore;
pub use oauth::{Allow, OAuthStore, PasswordChange, Redeemed, Tokens};
pub use params::{Pair, encode};
pub use record::{Account, Login, PasswordLength, Tier, TokenRecord, check_password};
pub use redirect::{Loopback, RedirectUri};
pub use respond::{AuthorizeError, Delivery, ResponseMode, ResponseType};
pub use scope::{ScopeError, ScopeSet};
pub use session::Session;
pub use store::{StoreError, TokenStore};
pub use token::{Digest, Secret, TokenKind, digest, mint};
