#![doc = include_str!("../README.md")]
mod accounts;
mod batch;
mod body;
pub mod call;
mod counts;
mod driver;
mod events;
pub mod explain;
pub mod fault;
pub mod hooks;
pub mod limits;
pub mod operation;
pub mod operations;
mod paging;
mod pipeline;
mod replies;
pub mod request;
pub mod route;
pub mod runner;
pub mod seams;
pub mod settings;
mod uses;

pub use pipeline::{Api, Parts};
pub use request::{Reply, Request};
pub use seams::{Clock, Entropy};
pub use settings::Settings;
