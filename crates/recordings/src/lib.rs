//! Recordings of HTTP APIs, and their comparison with another server.
#![doc = include_str!("../README.md")]

mod api_address;
mod comparison;
mod difference;
mod field_kind;
mod har_place;
mod har_reader;
mod har_writer;
mod identifier_learning;
mod identifier_mapping;
mod recording;
mod reply_comparison;
mod report;
mod request_rewriting;
mod rich_text;
mod written_times;

pub use comparison::Comparison;
pub use difference::{Difference, DifferenceKind};
pub use har_place::RecordingError;
pub use recording::{API_BASE_PATH, RecordedExchange, RecordedReply, RecordedRequest, Recording};
pub use reply_comparison::Strictness;
pub use report::{DIFFERENCES_MAX, Report};
