//! Projection: plans made from `opt_fields`, texts with the names of mentioned objects, and the writing of records as
//! JSON.
pub(crate) mod mentions;
pub mod plan;
pub mod projector;
