//! Constructors of rows with typed inputs.
use super::inputs::OperationInput;
use super::requests::{BatchActions, ListAuditLog, ListEvents, WebhookRequest};
use super::rows::row;
use super::steps::{Description, Steps};
use super::{Decision, Handler, ListRequest, Operation, ResponseKind, SearchRequest};
use crate::method::Method;
use workgraph_core::Gid;
use workgraph_core::model::registry::Type;

const fn with_inputs<T: OperationInput>(mut row: Operation) -> Operation {
    row.inputs = T::INPUTS;
    row
}

/// Responds with the record that is chosen from what was read.
#[must_use]
pub const fn read<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    ty: Type,
    steps: &'static Steps<T, Gid>,
) -> Operation {
    let run = Handler::PreparedLookup(steps);
    with_inputs::<T>(row(id, Method::Get, path, ResponseKind::Record(ty), run))
}

/// Lists the nodes that are described.
#[must_use]
pub const fn computed_list<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    ty: Type,
    list: &'static Description<T, ListRequest>,
) -> Operation {
    let run = Handler::DescribedPage(list);
    with_inputs::<T>(row(id, Method::Get, path, ResponseKind::List(ty), run))
}

/// Lists the matches of a search.
#[must_use]
pub const fn search<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    ty: Type,
    search: &'static Description<T, SearchRequest>,
) -> Operation {
    let run = Handler::DescribedSearch(search);
    with_inputs::<T>(row(id, Method::Get, path, ResponseKind::List(ty), run))
}

/// Lists the names of the matches of a search.
#[must_use]
pub const fn typeahead<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    search: &'static Description<T, SearchRequest>,
) -> Operation {
    let run = Handler::DescribedSearch(search);
    with_inputs::<T>(row(id, Method::Get, path, ResponseKind::Names, run))
}

/// Creates a node.
#[must_use]
pub const fn create<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    ty: Type,
    steps: &'static Steps<T, Decision>,
) -> Operation {
    let run = Handler::PreparedWrite(steps);
    with_inputs::<T>(row(id, Method::Post, path, ResponseKind::Created(ty), run))
}

/// Updates a node.
#[must_use]
pub const fn update<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    ty: Type,
    steps: &'static Steps<T, Decision>,
) -> Operation {
    let run = Handler::PreparedWrite(steps);
    with_inputs::<T>(row(id, Method::Put, path, ResponseKind::Record(ty), run))
}

/// Carries out the action that the path names.
#[must_use]
pub const fn action<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    steps: &'static Steps<T, Decision>,
) -> Operation {
    let run = Handler::PreparedWrite(steps);
    with_inputs::<T>(row(id, Method::Post, path, ResponseKind::Empty, run))
}

/// Lists the events since the last call.
#[must_use]
pub const fn events<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    list: &'static Description<T, ListEvents>,
) -> Operation {
    let run = Handler::Events(list);
    with_inputs::<T>(row(id, Method::Get, path, ResponseKind::Events, run))
}

/// Lists the audit log of a workspace.
#[must_use]
pub const fn audit_log<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    list: &'static Description<T, ListAuditLog>,
) -> Operation {
    let run = Handler::Audit(list);
    with_inputs::<T>(row(id, Method::Get, path, ResponseKind::AuditLog, run))
}

/// Carries out an action on webhooks.
#[must_use]
pub const fn webhooks<T: OperationInput>(
    id: &'static str,
    method: Method,
    path: &'static str,
    answer: ResponseKind,
    action: &'static Description<T, WebhookRequest>,
) -> Operation {
    let run = Handler::Webhooks(action);
    with_inputs::<T>(row(id, method, path, answer, run))
}

/// Carries out the actions of its body.
#[must_use]
pub const fn batch(id: &'static str, path: &'static str) -> Operation {
    let run = Handler::Batch;
    with_inputs::<BatchActions>(row(id, Method::Post, path, ResponseKind::Outcomes, run))
        .not_in_batch()
}
