//! The memory store and the harness of waves, and the documents made from the tests.

mod large_waves;
mod matrix;
mod memory;
mod waves;
