//! Worlds for tests of integrations: a Workgraph server whose time, limits and faults the test controls.
//!
//! A [`StandIn`] runs in the process of the test, or elsewhere. Each test creates a [`World`] with its own data, tokens,
//! clock, limits and faults, and gives the world's address and token to the client under test.
//!
//! ```no_run
//! # async fn test() -> Result<(), workgraph_stand_in::StandInError> {
//! let stand_in = workgraph_stand_in::StandIn::start().await?;
//! let world = stand_in.world().seed(7).now("2026-03-01T09:30:00Z").await?;
//! world.clock().advance("25h").await?;
//! assert_eq!(world.clock().now().await?, "2026-03-02T10:30:00.000Z");
//! # Ok(())
//! # }
//! ```
//!
//! Requests, options and replies are those of the control routes, which `docs/STAND-IN.md` of the repository describes.
#[cfg(feature = "commands")]
pub mod commands;
mod control_client;
mod inbox;
mod stand_in;
mod world;
mod world_address;
mod world_builder;
mod world_clock;
mod world_controls;

pub use control_client::StandInError;
pub use inbox::Inbox;
pub use stand_in::StandIn;
pub use world::World;
pub use world_builder::WorldBuilder;
pub use world_clock::WorldClock;
pub use world_controls::{WorldFaults, WorldLimits};

/// Builder of the server of a stand-in, for its settings.
#[cfg(feature = "in-process")]
pub use workgraph_server::ServerBuilder;
