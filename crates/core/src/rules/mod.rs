//! Rules of the domain that more than one operation needs.
pub mod fields;
pub mod ids;
pub mod invitations;
pub mod membership;
pub mod roles;
pub mod sharing;
pub mod stories;
pub mod text;
