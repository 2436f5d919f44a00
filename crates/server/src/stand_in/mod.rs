//! The stand-in: a server for tests of integrations. Its time moves when a test says so, and it has as many worlds as its
//! tests create. It answers requests with the same code as every server; only time, randomness and the interventions of
//! tests differ.
mod authorization_log;
mod client_grade;
mod client_history;
mod control;
mod control_access;
mod delivery_fault;
mod delivery_faults;
mod fault_action;
mod faults;
#[cfg(test)]
mod fixture_round_trips;
mod given_secrets;
mod inbox;
mod initial_files;
mod initial_state;
mod initial_states;
mod interception;
mod local_authority;
mod oauth_grant;
mod oauth_traffic;
mod receiver_rules;
mod recent_stores;
mod request_log;
mod request_notes;
mod request_rules;
mod rule_outcome;
mod seeded_entropy;
mod settling;
mod stand_in_folder;
mod stand_in_page;
mod stand_in_server;
mod test_sources;
mod test_world;
mod test_worlds;
mod timeline;
mod timeline_defect;
mod virtual_clock;
mod world_beginning;
mod world_options;
mod world_plan;
mod world_recording;

pub(crate) use self::interception::{Interception, intercept};
pub(crate) use self::stand_in_folder::{
    StandInFolder, allow_open_files, banner, check_is_real, sources,
};
pub(crate) use self::stand_in_server::StandIn;
pub(crate) use self::test_sources::TestSources;
pub(crate) use self::test_world::{TestWorld, WorldOrigin};
pub(crate) use self::test_worlds::TestWorlds;
pub(crate) use self::timeline::time_text;
pub(crate) use self::world_beginning::WorldBeginning;
