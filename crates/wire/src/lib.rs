//! The codec between bytes on the wire and values: envelopes, errors, queries, bodies and page tokens.
#![doc = include_str!("../README.md")]

pub mod batch;
pub mod cursor;
pub mod envelope;
pub mod error;
pub mod form;
pub mod json;
pub mod keyring;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
pub mod message;
pub mod multipart;
pub mod options;
pub mod phrase;
pub mod query;
pub mod secret;
pub mod ticket;

mod brackets;
mod percent;
mod words;

pub use cursor::{Cursor, CursorError, listing};
pub use envelope::Next;
pub use error::ErrorObject;
pub use form::{Form, FormError};
pub use json::{Body, JsonError};
pub use keyring::{KeyRing, KeyRingError};
pub use options::Options;
pub use query::{Query, QueryError};
pub use ticket::TicketError;
