//! Journal of commits: the context of changed nodes that is stored with a commit, and the events
//! that are rendered from it.
pub mod event_rendering;
pub(crate) mod node_context;
