//! The stand-in over sockets: time, worlds, faults, and who may control it.
#[path = "stand_in/client.rs"]
mod client;
#[path = "stand_in/commands.rs"]
mod commands;
#[path = "stand_in/control.rs"]
mod control;
#[path = "stand_in/delivery_faults.rs"]
mod delivery_faults;
#[path = "stand_in/faults.rs"]
mod faults;
#[path = "stand_in/fixture_export.rs"]
mod fixture_export;
#[path = "stand_in/fixtures.rs"]
mod fixtures;
#[path = "stand_in/grades.rs"]
mod grades;
#[path = "stand_in/grants.rs"]
mod grants;
#[path = "stand_in/helpers.rs"]
mod helpers;
#[path = "stand_in/interception.rs"]
mod interception;
#[path = "stand_in/page.rs"]
mod page;
#[path = "stand_in/recordings.rs"]
mod recordings;
#[path = "stand_in/repetition.rs"]
mod repetition;
#[path = "stand_in/strictness.rs"]
mod strictness;
#[path = "stand_in/time.rs"]
mod time;
#[path = "stand_in/time_programs.rs"]
mod time_programs;
#[path = "stand_in/time_receivers.rs"]
mod time_receivers;
#[path = "stand_in/worlds.rs"]
mod worlds;
