//! What people see of the authorization server.

pub mod pages;
