//! Search: tasks and projects by any of their properties.
mod conditions;
mod custom;
mod filter;
mod filters;
mod inputs;

use self::inputs::{ProjectSearch, SearchInput, TaskSearch};
use crate::operation::rows::search;
use crate::operation::steps::Description;
use crate::operation::{Operation, SearchRequest};
use crate::request_context::RequestContext;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::search::{Search, SearchEffort};

/// Operations that search: a part of [`TABLES`](super::TABLES).
pub static SEARCH: &[Operation] = &[
    search(
        "searchTasksForWorkspace",
        "/workspaces/{workspace_gid}/tasks/search",
        Type::Task,
        &Description::new(tasks),
    )
    .scope("tasks:read")
    .paid_only(PREMIUM)
    .search(),
    search(
        "searchProjectsForWorkspace",
        "/workspaces/{workspace_gid}/projects/search",
        Type::Project,
        &Description::new(projects),
    )
    .scope("projects:read")
    .paid_only(PREMIUM)
    .search(),
];

const PREMIUM: &str = "Search is only available to premium users.";

/// Maximum number of matches of one request, and their number if the request has no `limit`.
const MATCHES_MAX: usize = 100;

fn tasks(call: &RequestContext<'_>, input: &TaskSearch) -> Result<SearchRequest, DomainError> {
    Ok(describe(call, &input.0))
}

fn projects(
    call: &RequestContext<'_>,
    input: &ProjectSearch,
) -> Result<SearchRequest, DomainError> {
    Ok(describe(call, &input.0))
}

fn describe(call: &RequestContext<'_>, input: &SearchInput) -> SearchRequest {
    let mut want = call.read_query();
    let workspace = want.add_ref(input.workspace.node);
    let nodes = input.nodes.iter();
    let refs: Vec<usize> = nodes
        .map(|named| want.add_ref(named.node.clone()))
        .collect();
    let query = input.query.renamed(&|at| refs.get(*at).copied());
    want.search = Some(Search {
        workspace,
        queries: query.into_iter().collect(),
        limit: call.options.limit.map_or(MATCHES_MAX, usize::from),
        cap: call.settings.candidates(),
        effort: SearchEffort::USUAL,
    });
    SearchRequest {
        query: want,
        referenced: input.nodes.clone(),
        ty: input.query.ty,
    }
}
