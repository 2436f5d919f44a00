//! Journal of commits: the contexts of changed nodes, the stored form of change records and contexts, and the events that
//! are rendered from them.
pub mod event_rendering;
pub(crate) mod node_context;
pub mod stored_form;
