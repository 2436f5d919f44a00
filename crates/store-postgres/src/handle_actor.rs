//! Actor of a store handle, for the audit log.
use std::sync::Arc;
use workgraph_core::audit::ActorContext;
use workgraph_core::model::time::Time;

/// Actor of a handle and the time of its acts; `None` means the service itself, at the time of the last commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandleActor(pub(crate) Option<Arc<(ActorContext, Time)>>);
