//! The crate's front page: its modules.
#![doc = include_str!("../README.md")]
mod chain;
mod checkpoint;
mod inspect;

pub use chain::{Digest, Mark};
pub use checkpoint::{BadKey, BadLine, Checkpoint, Key, PublicKey, read};
pub use inspect::{Finding, Inspector, Report};
