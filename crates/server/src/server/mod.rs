//! A server: its startup steps, the running server, its shutdown, and its builder for other programs.
pub(crate) mod addresses;
mod background_work;
mod builder;
mod running_server;
mod startup;
mod surroundings;
#[cfg(test)]
mod tests;

pub use builder::ServerBuilder;
pub use running_server::Server;
pub use startup::PreparedServer;
