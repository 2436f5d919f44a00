//! What people see of the authorization server.

pub mod console;
pub mod pages;
