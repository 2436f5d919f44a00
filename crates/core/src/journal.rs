//! Journal of commits: the context of changed nodes that is stored with a commit, the form in which
//! both are stored, and the events that are rendered from it.
pub mod event_rendering;
pub(crate) mod node_context;
pub mod stored_form;
