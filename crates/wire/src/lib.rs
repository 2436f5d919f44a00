//! The codec between bytes on the wire and values: envelopes, errors, queries, bodies and page tokens.
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod batch_actions;
#[cfg(any(test, feature = "laws"))]
pub mod codec_laws;
pub mod cursor;
pub mod envelope;
pub mod error_envelope;
pub mod error_reply;
pub mod form_body;
pub mod json_body;
pub mod keyring;
pub mod messages;
pub mod page;
pub mod page_tokens;
pub mod percent;
pub mod phrase;
pub mod query_params;
pub mod request_options;
pub mod sealed_secret;
pub mod signed_ticket;

#[cfg(feature = "axum")]
mod axum_support;
mod bracket_fields;
mod cipher;
mod json_error;
mod json_numbers;
mod phrase_words;

pub use cursor::{Cursor, CursorError, listing_digest};
pub use envelope::NextPage;
pub use error_envelope::ErrorObject;
pub use error_reply::ErrorReply;
pub use form_body::{FormBody, FormError};
pub use json_body::{JsonBody, JsonError};
pub use keyring::{KeyRing, KeyRingError};
pub use page::{Envelope, NextLink, Page, PageParams};
pub use page_tokens::{PageTokenError, PageTokens, SealError};
pub use query_params::{QueryError, QueryParams};
pub use request_options::RequestOptions;
pub use signed_ticket::TicketError;
