//! The portal as browsers and apps' servers meet it, over the memory store and with a clock that the test sets.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that meets what it did not expect must end there"
)]

mod account;
mod browser;
mod consent;
mod counted;
mod endpoints;
mod errors;
mod fixtures;
mod front_door;
mod new_secrets;
mod refusals;
mod requests;
mod sessions;
mod silent;
