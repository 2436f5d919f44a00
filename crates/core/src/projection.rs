//! Projection: plans from `opt_fields`, texts with the names of mentioned objects, and the writing of records as JSON.
pub(crate) mod mentions;
mod projection_context;
pub mod projector;
