#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
pub mod memory_store;

pub use memory_store::MemoryStore;
#[cfg(feature = "models")]
pub use memory_store::WaveStore;
