//! Recordings of HTTP APIs, and their comparison with another server.
#![doc = include_str!("../README.md")]

mod api_address;
mod har_place;
mod har_reader;
mod har_writer;
mod recording;

pub use har_place::RecordingError;
pub use recording::{API_BASE_PATH, RecordedExchange, RecordedReply, RecordedRequest, Recording};
