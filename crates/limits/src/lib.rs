//! The limiters.
