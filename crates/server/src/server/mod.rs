//! A server: its startup steps, the running server, its shutdown, and its builder for other programs.
pub(crate) mod addresses;
mod attachment_files;
mod background_work;
mod builder;
mod maintenance;
mod running_server;
mod start_options;
mod startup;
mod surroundings;
#[cfg(test)]
mod tests;

pub use builder::ServerBuilder;
pub use running_server::Server;
pub use start_options::StartOptions;
pub use startup::PreparedServer;
