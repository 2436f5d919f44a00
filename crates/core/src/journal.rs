//! Journal of commits: the context of changed nodes that is stored with a commit, the stored form of both, and the events that
//! are rendered from them.
pub mod event_rendering;
pub(crate) mod node_context;
pub mod stored_form;
