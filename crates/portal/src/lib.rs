//! The crate's front page: its modules, and the names most callers need.
#![doc = include_str!("../README.md")]
mod account;
mod attempt;
mod authorize;
pub mod console;
mod desk;
mod form;
mod guard;
mod openid;
pub mod pages;
mod portal;
mod ports;
mod request;
mod route;
mod session;
mod token;

pub use portal::{Parts, Portal, Settings};
pub use ports::{Acts, Busy, Keys, Passwords, Slot};
pub use request::Request;
pub use route::{Route, names};
