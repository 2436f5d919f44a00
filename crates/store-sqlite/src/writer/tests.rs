//! Batches of the writer.
