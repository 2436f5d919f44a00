//! The authorization server's HTTP face and the pages people see, without an HTTP library.
//!
//! [`Portal::route`] says whether a request is the portal's, [`Portal::answer`] answers it. What it
//! decides is decided in `workgraph-auth`; here are forms, cookies, headers and redirects.
//!
//! - `route`: the table of paths
//! - `token`, `openid`: what apps' servers call
//! - `authorize`: the browser's way to an app and back
//! - `session`: cookies, who asks, signing in and out
//! - `guard`: where a form came from, and how often somebody tries
//! - `pages`: pure functions from small views to HTML
//! - `console`: what its forms do. Its handlers get a [`console::Visitor`], whose session is live, and
//!   check [`session::csrf`](workgraph_auth::session::csrf) of [`console::PURPOSE`] themselves; the
//!   store is in [`console::Console`]. `desk` leads requests there.
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
pub use ports::{Busy, Keys, Passwords};
pub use request::Request;
pub use route::{Route, names};
