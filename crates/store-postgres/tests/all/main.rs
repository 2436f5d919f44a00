//! Tests of the PostgreSQL store, on a server of their own.
mod conformance;
mod model;
mod open;
mod support;
