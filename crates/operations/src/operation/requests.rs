//! Requests that the API handles itself: they use stores other than the graph, or consist of separate requests.
use super::inputs::{Deferred, Named};
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::audit::AuditQuery;
use workgraph_wire::batch_actions::{BatchAction, BatchActionError};

/// A request about webhooks.
#[derive(Clone, Debug)]
pub enum WebhookRequest {
    /// Lists the webhooks of the caller.
    List(ListWebhooks),
    /// Creates a webhook for the caller.
    Create(CreateWebhook),
    /// Returns one webhook.
    Get(Named<Gid>),
    /// Replaces the filters of a webhook.
    Update(UpdateWebhook),
    /// Deletes a webhook of the caller.
    Delete(Named<Gid>),
}

/// The scope of a list of webhooks.
#[derive(Clone, Debug)]
pub struct ListWebhooks {
    /// The workspace of the webhooks.
    pub workspace: Named<Gid>,
    /// The resource that the webhooks watch; `None` for any.
    pub resource: Option<Named<Gid>>,
}

/// Inputs for creating a webhook.
#[derive(Clone, Debug)]
pub struct CreateWebhook {
    /// The resource that it watches.
    pub resource: Named<Gid>,
    /// The URL that events are delivered to.
    pub target: String,
    /// The filters of events, as JSON; `None` for no filters.
    pub filters: Option<Value>,
}

/// Inputs for changing a webhook.
#[derive(Clone, Debug)]
pub struct UpdateWebhook {
    /// Webhook to change.
    pub webhook: Named<Gid>,
    /// The new filters, as JSON; `None` if they do not change.
    pub filters: Option<Value>,
}

/// The scope of a list of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventScope {
    /// Events of one task or project, and of the nodes in it.
    Resource,
    /// Events of a whole workspace, for its service accounts.
    Workspace,
}

/// A request for the events since the last call.
#[derive(Clone, Debug)]
pub struct ListEvents {
    /// Nodes whose events are listed.
    pub scope: EventScope,
    /// The node of the events.
    pub resource: Named<Gid>,
    /// The token of the last call.
    pub sync: Deferred<Option<String>>,
}

/// A request for the audit log of a workspace.
#[derive(Clone, Debug)]
pub struct ListAuditLog {
    /// The workspace.
    pub workspace: Named<Gid>,
    /// The query of the log, as far as the request determines it; its page has no limit yet.
    pub query: Deferred<AuditQuery>,
}

/// The actions of a batch. A malformed action is an outcome of the batch, not an error of the whole batch.
#[derive(Clone, Debug)]
pub struct BatchActions(pub Vec<Result<BatchAction, BatchActionError>>);
