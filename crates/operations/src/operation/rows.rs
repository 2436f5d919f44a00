//! Constructors of rows that are alike.
use super::{
    DecisionFn, Handler, ListDefinition, ListRequest, Operation, ReadQueryFn, ResponseKind,
    SearchRequest, inputs,
};
use crate::method::Method;
use crate::request_context::RequestContext;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::ReadView;
use workgraph_core::{Gid, Level};

pub(super) const fn row(
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
        query: &[],
        filters: &[],
        body: &[],
        nullable: &[],
        response: answer,
        paid_only: None,
        not_in_batch: false,
        time_dependent: false,
        search: false,
        query_token: false,
        takes_file: false,
        no_guests: false,
        handler: run,
    }
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
/// Responds with the record that a function chooses.
#[must_use]
pub const fn read(
    id: &'static str,
    path: &'static str,
    ty: Type,
    needs: ReadQueryFn,
    choose: fn(&RequestContext<'_>, &ReadView) -> Result<Gid, DomainError>,
) -> Operation {
    row(
        id,
        Method::Get,
        path,
        ResponseKind::Record(ty),
        Handler::Lookup(needs, choose),
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
/// Lists the nodes that a function describes.
#[must_use]
pub const fn computed_list(
    id: &'static str,
    path: &'static str,
    ty: Type,
    list: fn(&RequestContext<'_>) -> Result<ListRequest, DomainError>,
) -> Operation {
    row(
        id,
        Method::Get,
        path,
        ResponseKind::List(ty),
        Handler::ComputedPage(list),
    )
}
/// Lists the matches of a search.
#[must_use]
pub const fn search(
    id: &'static str,
    path: &'static str,
    ty: Type,
    describe: fn(&RequestContext<'_>) -> Result<SearchRequest, DomainError>,
) -> Operation {
    row(
        id,
        Method::Get,
        path,
        ResponseKind::List(ty),
        Handler::Search(describe),
    )
}
/// Creates a node.
#[must_use]
pub const fn create(
    id: &'static str,
    path: &'static str,
    ty: Type,
    needs: ReadQueryFn,
    decide: DecisionFn,
) -> Operation {
    row(
        id,
        Method::Post,
        path,
        ResponseKind::Created(ty),
        Handler::Write(needs, decide),
    )
}
/// Updates the node of the last path parameter.
#[must_use]
pub const fn update(
    id: &'static str,
    path: &'static str,
    ty: Type,
    needs: ReadQueryFn,
    decide: DecisionFn,
) -> Operation {
    row(
        id,
        Method::Put,
        path,
        ResponseKind::Record(ty),
        Handler::Write(needs, decide),
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
/// Carries out the action that the path names.
#[must_use]
pub const fn action(
    id: &'static str,
    path: &'static str,
    needs: ReadQueryFn,
    decide: DecisionFn,
) -> Operation {
    row(
        id,
        Method::Post,
        path,
        ResponseKind::Empty,
        Handler::Write(needs, decide),
    )
}
