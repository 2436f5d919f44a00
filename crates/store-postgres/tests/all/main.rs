//! Tests of the PostgreSQL store, on a server of their own.
mod open;
mod support;
