//! The crate's front page: its modules, and the names most callers need.
#![doc = include_str!("../README.md")]
mod attachment_redirect;
mod authorize;
mod carried_secret;
mod common_responses;
pub mod console;
mod cookies;
mod csrf;
mod endpoints;
mod form_decoding;
mod home;
mod icon;
mod login;
mod one_time_secrets;
pub mod pages;
mod password_change;
mod portal;
mod portal_request;
mod ports;
mod records;
pub mod reference;
mod route;
mod session;
mod throttle;
mod try_token;

pub use portal::{Portal, PortalDependencies, PortalSettings};
pub use portal_request::PortalRequest;
pub use ports::{
    AuditedStore, PasswordHashError, PasswordHasher, PasswordQueueFull, PasswordSlot, SigningKeys,
};
pub use route::{AUTHORIZE, Route, SIGN_IN, is_refusal_logged, names};
pub use session::SIGNED_IN;
