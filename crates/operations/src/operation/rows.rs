//! Constructors for the rows of the operation table.
use super::inputs;
use super::inputs::OperationInput;
use super::requests::{BatchActions, ListAuditLog, ListEvents, WebhookRequest};
use super::steps::{Description, Steps};
use super::{
    Decision, Handler, ListDefinition, ListRequest, Operation, ResponseKind, SearchRequest,
};
use crate::method::Method;
use workgraph_core::model::registry::Type;
use workgraph_core::{Gid, Level};

const fn row(
    id: &'static str,
    method: Method,
    path: &'static str,
    answer: ResponseKind,
    run: Handler,
) -> Operation {
    Operation {
        id,
        method,
        path,
        alias_paths: &[],
        scope: None,
        inputs: &[],
        row_filters: &[],
        response: answer,
        paid_only: None,
        not_in_batch: false,
        time_dependent: false,
        search: false,
        query_token: false,
        takes_file: false,
        lists_variants: false,
        no_guests: false,
        handler: run,
    }
}

const fn with_inputs<T: OperationInput>(mut row: Operation) -> Operation {
    row.inputs = T::INPUTS;
    row
}

/// Responds with the record of the path parameter.
#[must_use]
pub const fn get(id: &'static str, path: &'static str, ty: Type) -> Operation {
    row(
        id,
        Method::Get,
        path,
        ResponseKind::Record(ty),
        Handler::Get(inputs::path::of(path)),
    )
}

/// Lists nodes at the node of the path parameter.
#[must_use]
pub const fn list(
    id: &'static str,
    path: &'static str,
    ty: Type,
    lists: ListDefinition,
) -> Operation {
    row(
        id,
        Method::Get,
        path,
        ResponseKind::List(ty),
        Handler::Page(inputs::path::of(path), lists),
    )
}

/// Trashes the node of the path parameter.
#[must_use]
pub const fn delete(id: &'static str, path: &'static str, level: Level) -> Operation {
    row(
        id,
        Method::Delete,
        path,
        ResponseKind::Empty,
        Handler::Delete(inputs::path::of(path), level),
    )
}

/// Responds with a record that is chosen from the read view.
#[must_use]
pub const fn read<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    ty: Type,
    steps: &'static Steps<T, Gid>,
) -> Operation {
    let run = Handler::Lookup(steps);
    with_inputs::<T>(row(id, Method::Get, path, ResponseKind::Record(ty), run))
}

/// Lists the nodes of a description.
#[must_use]
pub const fn computed_list<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    ty: Type,
    list: &'static Description<T, ListRequest>,
) -> Operation {
    let run = Handler::ComputedPage(list);
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
    let run = Handler::Search(search);
    with_inputs::<T>(row(id, Method::Get, path, ResponseKind::List(ty), run))
}

/// Lists the names of the matches of a search.
#[must_use]
pub const fn typeahead<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    search: &'static Description<T, SearchRequest>,
) -> Operation {
    let run = Handler::Search(search);
    with_inputs::<T>(row(id, Method::Get, path, ResponseKind::Names, run))
}

/// Makes the row of an operation that creates a node.
#[must_use]
pub const fn create<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    ty: Type,
    steps: &'static Steps<T, Decision>,
) -> Operation {
    let run = Handler::Write(steps);
    with_inputs::<T>(row(id, Method::Post, path, ResponseKind::Created(ty), run))
}

/// Makes the row of an operation that updates a node.
#[must_use]
pub const fn update<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    ty: Type,
    steps: &'static Steps<T, Decision>,
) -> Operation {
    let run = Handler::Write(steps);
    with_inputs::<T>(row(id, Method::Put, path, ResponseKind::Record(ty), run))
}

/// Performs the action that the path names.
#[must_use]
pub const fn action<T: OperationInput>(
    id: &'static str,
    path: &'static str,
    steps: &'static Steps<T, Decision>,
) -> Operation {
    let run = Handler::Write(steps);
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

/// Performs an action on webhooks.
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

/// Performs the actions in its body.
#[must_use]
pub const fn batch(id: &'static str, path: &'static str) -> Operation {
    let run = Handler::Batch;
    with_inputs::<BatchActions>(row(id, Method::Post, path, ResponseKind::Outcomes, run))
        .not_in_batch()
}
