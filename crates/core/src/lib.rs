//! The domain graph.
