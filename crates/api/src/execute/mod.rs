//! The executor: load → decide → commit → project. Only this module calls the store; operations never do.
pub(crate) mod allowance_retry;
pub(crate) mod load_view;
pub(crate) mod page_position;
pub(crate) mod record_response;
pub(crate) mod response_plan;
mod write;
use crate::budget::ResponseBudget;
use crate::error::ApiError;
use crate::execute::load_view::load;
use crate::execute::page_position::PageBinding;
use crate::execute::record_response::{
    CostedResponse, record_response, response_cost, write_records,
};
use crate::execute::response_plan::{ResponsePlan, response_plan, response_plan_for};
use crate::execute::write::{Deletion, commit, read_and_decide, write_response};
use crate::features::{audit_log, events, task_counts, webhooks};
use crate::state::Api;
use std::sync::Arc;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{is_one_of, resource};
use workgraph_core::storage::{EdgeEnd, ListSource, NodeRef, PageQuery, ReadView, RowFilter};
use workgraph_core::tasks_of_container;
use workgraph_operations::operation::inputs::{InputDef, InputReader, path};
use workgraph_operations::operation::{
    Handler, ListDefinition, ListRequest, ReferencedNode, ResponseKind, SearchRequest,
};
use workgraph_operations::request_context::{RequestContext, is_known_user, require_level};
use workgraph_wire::{NextPage, envelope};

/// Carries out the operation of a request.
///
/// # Errors
/// Fails when the operation refuses the request, or a store fails.
pub(crate) async fn execute(
    api: &Api,
    call: &RequestContext<'_>,
    path: &str,
    budget: &ResponseBudget,
) -> Result<CostedResponse, ApiError> {
    if let Handler::Search(search) = call.operation.handler {
        // Only the search knows the type of its matches, and so the scopes that their fields need.
        return Box::pin(execute_search(api, call, budget, search.describe(call)?)).await;
    }
    let asked = response_plan(call, budget)?;
    match call.operation.handler {
        Handler::Get(input) => {
            let target = InputReader::new(&call.raw).node_of_path(input)?;
            let want = call.read_query();
            let want = want.follow(target.node.clone(), Arc::clone(&asked.plan));
            let view = load(api, &want).await?;
            let gid = call.named_node(&view, &target, Level::Viewer)?.gid;
            record_response(api, &view, gid, &asked, None).await
        }
        Handler::Lookup(steps) => {
            let steps = steps.prepare(&InputReader::new(&call.raw))?;
            let mut want = steps.needs(call)?;
            // The record is chosen among the nodes that were read.
            let plan = Some(&asked.plan);
            let (gid, view) = read_and_decide(api, call, &*steps, &mut want, plan).await?;
            if call.operation.response == ResponseKind::Counts {
                return Box::pin(task_counts::task_counts_response(api, call, gid)).await;
            }
            record_response(api, &view, gid, &asked, None).await
        }
        // Each branch is boxed, so that the usual one does not need the memory of all branches.
        Handler::ComputedPage(list_of) => {
            let listed = list_of.describe(call)?;
            Box::pin(list(api, call, path, listed, &asked)).await
        }
        Handler::Write(steps) => {
            let steps = steps.prepare(&InputReader::new(&call.raw))?;
            let written = Box::pin(commit(api, call, &*steps)).await?;
            Box::pin(write_response(api, call, written, &asked)).await
        }
        Handler::Page(input, lists) => {
            let listed = list_request(call, input, lists)?;
            Box::pin(list(api, call, path, listed, &asked)).await
        }
        Handler::Delete(input, least) => {
            let target = InputReader::new(&call.raw).node_of_path(input)?;
            Box::pin(commit(api, call, &Deletion { target, least })).await?;
            Ok(CostedResponse::new(200, envelope::empty_envelope(), 1))
        }
        // Batches are not executed: they dispatch their actions. Searches were executed above.
        Handler::Batch | Handler::Search(_) => Err(ApiError::NoRoute),
        Handler::Webhooks(action) => {
            Box::pin(webhooks::service::execute_webhook_action(
                api, call, path, action, &asked,
            ))
            .await
        }
        Handler::Audit(list) => Box::pin(audit_log::list_audit_log(api, call, path, list)).await,
        Handler::Events(list) => Box::pin(events::list_events(api, call, list, &asked)).await,
    }
}

/// Returns the list that a row of the table describes.
fn list_request(
    call: &RequestContext<'_>,
    input: &'static InputDef,
    lists: ListDefinition,
) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    let target = InputReader::new(&call.raw).node_of_path(input)?;
    let anchor = want.add_ref(target.node);
    let is_at = |ty| input.types().first() == Some(&ty);
    let (from, open) = match lists {
        ListDefinition::Edges {
            rel,
            dir,
            give,
            open,
        } => (
            ListSource::Edges {
                anchor,
                rel,
                dir,
                give,
            },
            open,
        ),
        ListDefinition::Alphabetical(rel, dir) => {
            (ListSource::Alphabetical { anchor, rel, dir }, true)
        }
        ListDefinition::InWorkspace(ty) => (ListSource::InWorkspace { anchor, ty }, false),
        ListDefinition::Tasks if is_at(Type::Section) => {
            let rel = rel::SECTION;
            (
                ListSource::Edges {
                    anchor,
                    rel,
                    dir: Direction::In,
                    give: EdgeEnd::OtherEnd,
                },
                true,
            )
        }
        ListDefinition::Tasks => (
            tasks_of_container(anchor, is_at(Type::UserTaskList)),
            is_at(Type::Project),
        ),
    };
    Ok(ListRequest {
        query: want,
        page: PageQuery::of(from, open, 0),
        computed: false,
        anchor: input.name,
        // A node in the path is checked separately.
        anchor_types: &[],
        referenced: Vec::new(),
    })
}

/// Adds the filters in a row of the table, from the query. The nodes that a filter names must exist and be visible.
fn filters(call: &RequestContext<'_>, listed: &mut ListRequest) -> Result<(), DomainError> {
    for input in call.operation.row_filters {
        let Some(filter) = InputReader::new(&call.raw).optional(input)? else {
            continue;
        };
        let (name, types) = (input.def.name, input.def.types());
        if let (RowFilter::OneOf { values, .. }, false) = (&filter, types.is_empty()) {
            for value in values {
                let gid = Gid::parse(value.trim_matches('"'));
                let node = NodeRef::Gid(gid.ok_or_else(|| DomainError::missing(name))?);
                listed.query.add_ref(node.clone());
                listed.referenced.push(ReferencedNode {
                    parameter: name.to_owned(),
                    node,
                    types,
                    linked_to: None,
                });
            }
        }
        listed.page.filters.push(filter);
    }
    Ok(())
}

async fn list(
    api: &Api,
    call: &RequestContext<'_>,
    path: &str,
    mut listed: ListRequest,
    asked: &ResponsePlan<'_>,
) -> Result<CostedResponse, ApiError> {
    filters(call, &mut listed)?;
    let bounds = PageBinding::of(call, path)?;
    let position = bounds.open_page_token(api, call)?;
    let silent = matches!(listed.page.source, ListSource::Alphabetical { .. });
    position.bound(&mut listed.page, call.settings, listed.computed, silent);
    let mut want = listed.query;
    want.page = Some(listed.page);
    want.page_plan = Some(Arc::clone(&asked.plan));
    let view = load(api, &want).await?;
    let anchor = want.page.as_ref().and_then(|page| page.source.anchor());
    let anchor = anchor.and_then(|at| want.node_refs.get(at));
    require_anchor(call, &view, anchor, listed.anchor, listed.anchor_types)?;
    require_references(call, &view, &listed.referenced)?;
    for filter in want.page.iter().flat_map(|page| &page.filters) {
        if let RowFilter::LinksTo(link) = filter {
            let node = if link.unseen {
                call.resolve_unseen(&view, link.parameter, &link.node, link.types)?
            } else {
                call.resolve_ref(&view, link.parameter, &link.node, link.types, Level::Viewer)?
            };
            call.require_plan(&view, node)?;
        }
    }
    // This is approximately the size of a field with its name.
    let room = 64 + view.rows.gids.len() * (128 + 48 * asked.plan.steps.len());
    let (json, tally) = write_records(api, &view, &view.rows.gids, asked, room).await?;
    let body = page_position::finish_page(
        api,
        call,
        &bounds,
        &position,
        &view.rows,
        json,
        listed.computed,
        silent,
    )?;
    Ok(CostedResponse::new(
        200,
        body,
        response_cost(tally, asked.named_fields),
    ))
}

/// Responds with the matches of a search.
async fn execute_search(
    api: &Api,
    call: &RequestContext<'_>,
    budget: &ResponseBudget,
    sought: SearchRequest,
) -> Result<CostedResponse, ApiError> {
    let asked = response_plan_for(call, budget, sought.ty)?;
    let mut want = sought.query;
    want.page_plan = Some(Arc::clone(&asked.plan));
    let view = load(api, &want).await?;
    if let Some(input) = call.operation.path_input() {
        let target = InputReader::new(&call.raw).node_of_path(input)?;
        call.named_node(&view, &target, Level::Viewer)?;
    }
    require_references(call, &view, &sought.referenced)?;
    let gids = &view.rows.gids;
    let room = 64 + gids.len() * (128 + 48 * asked.plan.steps.len());
    let (json, tally) = write_records(api, &view, gids, &asked, room).await?;
    let body = envelope::close(json, NextPage::Absent);
    Ok(CostedResponse::new(
        200,
        body,
        response_cost(tally, asked.named_fields),
    ))
}

/// Checks that the nodes that a list or search names exist and are visible.
fn require_references(
    call: &RequestContext<'_>,
    view: &ReadView,
    referenced: &[ReferencedNode],
) -> Result<(), DomainError> {
    for named in referenced {
        let (field, types) = (&named.parameter, named.types);
        let node = call.resolve_ref(view, field, &named.node, types, Level::Viewer)?;
        if let Some((key, of)) = named.linked_to
            && node.link(key) != Some(of)
        {
            let of = view.node(of).map_or("object", |of| resource(of.ty).noun);
            let noun = resource(node.ty).noun;
            let reason = format_args!("Not a {noun} of this {of}: {}", node.gid);
            return Err(DomainError::field(field, reason));
        }
    }
    Ok(())
}

/// Checks that the anchor of a list exists and is visible.
fn require_anchor(
    call: &RequestContext<'_>,
    view: &ReadView,
    anchor: Option<&NodeRef>,
    name: &str,
    types: &[Type],
) -> Result<(), DomainError> {
    // Other paths of the same operation may have a parameter that its own path lacks.
    let first = call.raw.parameters.first();
    let of_alias = || first.and_then(|(name, _)| path::declaration(name));
    if let Some(input) = call.operation.path_input().or_else(of_alias) {
        let target = InputReader::new(&call.raw).node_of_path(input)?;
        call.named_node(view, &target, Level::Viewer)?;
        if input.name == name {
            return Ok(());
        }
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let node = view
        .resolve(anchor)
        .and_then(|g| view.node(g))
        .filter(|n| is_one_of(n, types) && call.is_visible(view, n) && is_known_user(view, n));
    let node = node.ok_or_else(|| {
        DomainError::reference_not_found(
            name,
            workgraph_operations::request_context::format_ref(anchor),
        )
    })?;
    require_level(view, node, Level::Viewer)?;
    call.require_plan(view, node)
}
