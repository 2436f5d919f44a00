//! Tests of the PostgreSQL store, on a server of their own.
mod audit;
mod auth;
mod broken_connections;
mod check;
mod conformance;
mod cutting_proxy;
mod model;
mod nodes;
mod open;
mod rows;
mod support;
mod tampering;
mod trips;
mod webhooks;
