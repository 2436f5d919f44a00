//! The executor: load → decide → commit → project. Only this module calls the store; operations never do.
pub(crate) mod allowance_retry;
pub(crate) mod pagination;
pub(crate) mod record_response;
use crate::call::{RequestContext, is_known_user, require_level};
use crate::error::ApiError;
use crate::execute::pagination::PageBinding;
use crate::execute::record_response::{
    CostedResponse, load_and_respond, record_response, respond_with_stub, response_cost,
    write_records,
};
use crate::operation::{
    Handler, ListDefinition, ListRequest, ResponseKind, SearchRequest, parameter_type,
};
use crate::pipeline::Api;
use std::sync::Arc;
use workgraph_auth::Grant;
use workgraph_core::access::Level;
use workgraph_core::audit::has_audit_rows;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::resource;
use workgraph_core::projection::plan;
use workgraph_core::projection::plan::{FieldPaths, Plan};
use workgraph_core::storage::{
    GraphStoreError, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter,
};
use workgraph_core::{Gid, tasks_of_container};
use workgraph_wire::{NextPage, envelope, messages};

/// Attempts to decide a write again after conflicts, before it is an error of the server.
const ATTEMPTS: usize = 64;

pub(crate) async fn execute(
    api: &Api,
    call: &RequestContext<'_>,
    grant: &Grant,
    path: &str,
) -> Result<CostedResponse, ApiError> {
    let asked = response_plan(call, grant)?;
    match call.operation.handler {
        Handler::Get => {
            let Some((name, _)) = call.parameters.last() else {
                return Err(DomainError::missing("gid").into());
            };
            let target = call.path_ref(name)?;
            let view = load(
                api,
                &call.read_query().follow(target, Arc::clone(&asked.plan)),
            )
            .await?;
            let gid = call.path_node(&view, name, Level::Viewer)?.gid;
            record_response(api, call, &view, gid, &asked, None).await
        }
        Handler::Lookup(needs, choose) => {
            let mut want = needs(call)?;
            // The record is the node that the function chooses from those that were read.
            let all: Vec<usize> = (0..want.node_refs.len()).collect();
            want.plans
                .extend(all.into_iter().map(|at| (at, Arc::clone(&asked.plan))));
            let view = load(api, &want).await?;
            let gid = choose(call, &view)?;
            if call.operation.response == ResponseKind::Counts {
                return Box::pin(crate::features::task_counts::task_counts_response(
                    api, call, gid,
                ))
                .await;
            }
            record_response(api, call, &view, gid, &asked, None).await
        }
        // Each branch is boxed, so that the usual one does not need the memory of all.
        Handler::Page(lists) => {
            let listed = list_request(call, lists)?;
            Box::pin(list(api, call, grant, path, listed, &asked)).await
        }
        Handler::ComputedPage(describe) => {
            let listed = describe(call)?;
            Box::pin(list(api, call, grant, path, listed, &asked)).await
        }
        Handler::Search(describe) => {
            Box::pin(execute_search(api, call, grant, describe(call)?)).await
        }
        Handler::Delete(least) => {
            let Some((name, _)) = call.parameters.last() else {
                return Err(DomainError::missing("gid").into());
            };
            let want = call.read_query().node(call.path_ref(name)?);
            let needs = |_: &RequestContext<'_>| Ok(want.clone());
            let decide = |call: &RequestContext<'_>, view: &ReadView| {
                let node = call.path_node(view, name, least)?;
                let mut work = call.change_builder();
                work.trash(node.gid, node.ty);
                Ok(crate::operation::Decision::of(work.changes))
            };
            Box::pin(commit(api, call, &needs, &decide)).await?;
            Ok(CostedResponse::new(200, envelope::empty_envelope(), 1))
        }
        // A batch dispatches its actions instead.
        Handler::Batch => Err(ApiError::NoRoute),
        Handler::Webhooks(act) => {
            Box::pin(crate::features::webhooks::service::execute_webhook_action(
                api, call, grant, path, act, &asked,
            ))
            .await
        }
        Handler::Audit => {
            Box::pin(crate::features::audit_log::list_audit_log(
                api, call, grant, path,
            ))
            .await
        }
        Handler::Events(span) => {
            Box::pin(crate::features::events::list_events(
                api, call, grant, span, &asked,
            ))
            .await
        }
        Handler::Write(needs, decide) => {
            let subject = Box::pin(commit(api, call, &needs, &decide)).await?;
            Box::pin(write_response(api, call, subject, &asked)).await
        }
    }
}

/// The fields that a response shows, with the cost of naming them.
pub(crate) struct ResponsePlan {
    pub(crate) plan: Arc<Plan>,
    pub(crate) named_fields: u32,
    /// True if the response may contain download URLs. Only a token with full permissions gets them, as for making
    /// exports.
    pub(crate) with_download_urls: bool,
}

/// Returns the plan of the response, if the token may have it.
fn response_plan(call: &RequestContext<'_>, grant: &Grant) -> Result<ResponsePlan, ApiError> {
    response_plan_for(call, grant, call.operation.record().unwrap_or(Type::Task))
}

/// Returns the plan of a response with records of a type, if the token may have it.
fn response_plan_for(
    call: &RequestContext<'_>,
    grant: &Grant,
    ty: Type,
) -> Result<ResponsePlan, ApiError> {
    let by_name = call.operation.response == ResponseKind::Names;
    let files = grant.scopes.is_full();
    if let Some(fields) = &call.options.fields {
        let names = FieldPaths::parse(&fields.join(","))?;
        let asked = if by_name {
            plan::resolve_fields_of_lookup(ty, &names)
        } else {
            plan::resolve_fields(ty, &names)
        };
        if let Some((scope, field)) = asked
            .scopes
            .iter()
            .find(|(scope, _)| !grant.scopes.allows(scope))
        {
            return Err(ApiError::Scope(workgraph_wire::messages::missing_scope(
                field, scope,
            )));
        }
        return Ok(ResponsePlan {
            plan: asked.plan,
            named_fields: asked.cost,
            with_download_urls: files,
        });
    }
    let plan = match call.operation.response {
        ResponseKind::List(_) => plan::compact(ty),
        ResponseKind::Names => {
            plan::resolve_fields(ty, &FieldPaths::parse("name,resource_type")?).plan
        }
        _ => plan::full(ty),
    };
    Ok(ResponsePlan {
        plan,
        named_fields: 0,
        with_download_urls: files,
    })
}

pub(crate) async fn load(api: &Api, want: &ReadQuery) -> Result<ReadView, ApiError> {
    let view = allowance_retry::load(&*api.graph, want).await?;
    if view.viewer.memberships.is_empty() && view.viewer.service_workspace.is_none() {
        // A user who was removed from every workspace has no use for a token.
        let why = if view.viewer.excluded_workspaces.is_empty() {
            messages::NOT_AUTHORIZED
        } else {
            messages::APP_DISABLED
        };
        return Err(ApiError::Unauthorized(why, Some("invalid_token")));
    }
    if !view.viewer.excluded_workspaces.is_empty() {
        let gids = view.resolved_refs.iter().filter_map(|(_, gid)| *gid);
        let mut homes = gids.filter_map(|gid| match view.node(gid) {
            Some(node) if node.ty == Type::Workspace => Some(gid),
            node => node?.workspace,
        });
        if homes.any(|home| view.viewer.excluded_workspaces.contains(&home)) {
            return Err(ApiError::Unauthorized(
                messages::APP_DISABLED,
                Some("invalid_token"),
            ));
        }
    }
    Ok(view)
}

type DynReadQueryFn<'f> =
    &'f (dyn Fn(&RequestContext<'_>) -> Result<ReadQuery, DomainError> + Sync);
type DynDecisionFn<'f> = &'f (
        dyn Fn(&RequestContext<'_>, &ReadView) -> Result<crate::operation::Decision, DomainError>
            + Sync
    );

/// Decides and commits, again after each conflict; returns the node to respond with.
async fn commit(
    api: &Api,
    call: &RequestContext<'_>,
    needs: DynReadQueryFn<'_>,
    decide: DynDecisionFn<'_>,
) -> Result<Option<Gid>, ApiError> {
    for attempt in 0..ATTEMPTS {
        let want = needs(call)?;
        let view = load(api, &want).await?;
        let decision = decide(call, &view)?;
        if decision.changes.is_empty() {
            return Ok(decision.subject);
        }
        let mut changes = decision.changes;
        if has_audit_rows(&changes) {
            changes.actor_context = Some(Box::new(call.actor_context()));
        }
        // The changes start a job if they put it into the queue.
        let starts = changes.edge_writes.iter().any(|l| l.rel == rel::QUEUE);
        match api.graph.commit(changes).await {
            Ok(_) => {
                for user in decision.accounts {
                    api.refresh_account(user).await.map_err(ApiError::Server)?;
                }
                if let (true, Some(ring)) = (starts, api.job_notifier.get()) {
                    ring();
                }
                return Ok(decision.subject);
            }
            Err(GraphStoreError::Conflict) => {}
            // Another request may have taken the alias a moment ago: its node is found when deciding again.
            Err(GraphStoreError::AliasTaken(_)) if attempt == 0 => {}
            Err(GraphStoreError::AliasTaken(name)) => {
                let (kind, value) = name.split_once(':').unwrap_or(("name", &name));
                return Err(
                    DomainError::field(kind, format_args!("Already taken: {value}")).into(),
                );
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(ApiError::Server(format!(
        "{} conflicted {ATTEMPTS} times",
        call.operation.id
    )))
}

/// Returns the response of a write: the record after the change.
async fn write_response(
    api: &Api,
    call: &RequestContext<'_>,
    subject: Option<Gid>,
    asked: &ResponsePlan,
) -> Result<CostedResponse, ApiError> {
    let (ResponseKind::Record(_) | ResponseKind::Created(_), Some(gid)) =
        (call.operation.response, subject)
    else {
        return Ok(CostedResponse::new(200, envelope::empty_envelope(), 1));
    };
    let shown = match load_and_respond(api, call, gid, asked).await {
        Err(failure) if failure.is_render_failure() => {
            respond_with_stub(api, call, gid, asked).await
        }
        shown => shown,
    };
    let Some(mut answered) = shown? else {
        // The write removed the caller's own access; there is nothing left to show.
        return Ok(CostedResponse::new(200, envelope::empty_envelope(), 1));
    };
    answered.reply.headers.extend(change_header(call));
    if let ResponseKind::Created(ty) = call.operation.response {
        answered.reply.status = 201;
        let location = format!("{}/{}/{gid}", call.settings.base_url, resource(ty).path);
        answered.reply.headers.push(("Location", location));
    }
    Ok(answered)
}

/// Returns the header that names the changes of the contract that affect the inputs of a write.
fn change_header(call: &RequestContext<'_>) -> Option<(&'static str, String)> {
    let mut told: Vec<String> = Vec::new();
    for def in resource(call.operation.record()?).fields {
        // Few fields are deprecated; only these are looked for in the body.
        let Some(change) = def.deprecated else {
            continue;
        };
        let Some(given) = call.field(def.name) else {
            continue;
        };
        let (name, base, instead) = (change.name, &call.settings.base_url, change.instead);
        let line = format!("name={name};info={base}{instead};affected=true");
        if change.affects(given.as_str()) && !told.contains(&line) {
            told.push(line);
        }
    }
    (!told.is_empty()).then(|| ("Asana-Change", told.join(",")))
}

/// Returns the list that a row of the table describes.
fn list_request(
    call: &RequestContext<'_>,
    lists: ListDefinition,
) -> Result<ListRequest, DomainError> {
    let Some((name, _)) = call.parameters.first() else {
        return Err(DomainError::missing("gid"));
    };
    let mut want = call.read_query();
    let anchor = want.add_ref(call.path_ref(name)?);
    let anchor_type = parameter_type(name).unwrap_or(Type::Task);
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
        ListDefinition::Tasks if anchor_type == Type::Section => {
            let rel = rel::SECTION;
            (
                ListSource::Edges {
                    anchor,
                    rel,
                    dir: workgraph_core::model::registry::Direction::In,
                    give: workgraph_core::storage::EdgeEnd::OtherEnd,
                },
                true,
            )
        }
        ListDefinition::Tasks => (
            tasks_of_container(anchor, anchor_type == Type::UserTaskList),
            anchor_type == Type::Project,
        ),
    };
    Ok(ListRequest {
        query: want,
        page: page_query(from, open),
        computed: false,
        anchor: name,
        // A node of the path is checked by itself.
        anchor_types: &[],
    })
}

/// Returns a page query of a list, without its bounds.
pub(crate) fn page_query(from: ListSource, open: bool) -> PageQuery {
    PageQuery::of(from, open, 0)
}

/// Adds the filters that a row of the table names, from the query.
fn filters(call: &RequestContext<'_>, page: &mut PageQuery) -> Result<(), DomainError> {
    for name in call.operation.filters {
        match *name {
            "completed_since" => page
                .filters
                .extend(call.query_time(name)?.map(RowFilter::CompletedSince)),
            "modified_since" => page
                .filters
                .extend(call.query_time(name)?.map(RowFilter::ModifiedSince)),
            "archived" => {
                let wanted = call
                    .query
                    .flag(name)
                    .map_err(|e| DomainError::invalid(e.to_string()))?;
                page.filters
                    .extend(wanted.map(|on| RowFilter::Flag("archived", on)));
            }
            _ => {}
        }
    }
    Ok(())
}

async fn list(
    api: &Api,
    call: &RequestContext<'_>,
    grant: &Grant,
    path: &str,
    mut listed: ListRequest,
    asked: &ResponsePlan,
) -> Result<CostedResponse, ApiError> {
    filters(call, &mut listed.page)?;
    let bounds = PageBinding::of(call, grant, path)?;
    let position = bounds.decode_offset(api, call)?;
    let silent = matches!(listed.page.source, ListSource::Alphabetical { .. });
    position.bound(&mut listed.page, call.settings, listed.computed, silent);
    let mut want = listed.query;
    want.page = Some(listed.page);
    want.page_plan = Some(Arc::clone(&asked.plan));
    let view = load(api, &want).await?;
    let anchor = want.page.as_ref().and_then(|page| page.source.anchor());
    let anchor = anchor.and_then(|at| want.node_refs.get(at));
    require_anchor(call, &view, anchor, listed.anchor, listed.anchor_types)?;
    // This is about the size of a field with its name.
    let room = 64 + view.rows.gids.len() * (128 + 48 * asked.plan.steps.len());
    let (json, tally) = write_records(api, call, &view, &view.rows.gids, &asked.plan, room).await?;
    let body = pagination::finish_page(
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
    grant: &Grant,
    sought: SearchRequest,
) -> Result<CostedResponse, ApiError> {
    let asked = response_plan_for(call, grant, sought.ty)?;
    let mut want = sought.query;
    want.page_plan = Some(Arc::clone(&asked.plan));
    let view = load(api, &want).await?;
    if let Some((place, _)) = call.parameters.first() {
        call.path_node(&view, place, Level::Viewer)?;
    }
    for (field, name, types) in &sought.referenced {
        call.resolve_ref(&view, field, name, types, Level::Viewer)?;
    }
    let gids = &view.rows.gids;
    let room = 64 + gids.len() * (128 + 48 * asked.plan.steps.len());
    let (json, tally) = write_records(api, call, &view, gids, &asked.plan, room).await?;
    let body = envelope::close(json, NextPage::Absent);
    Ok(CostedResponse::new(
        200,
        body,
        response_cost(tally, asked.named_fields),
    ))
}

/// Checks that the anchor of a list exists and may be seen.
fn require_anchor(
    call: &RequestContext<'_>,
    view: &ReadView,
    anchor: Option<&NodeRef>,
    name: &str,
    types: &[Type],
) -> Result<(), DomainError> {
    if let Some((first, _)) = call.parameters.first() {
        if *first == name {
            return call.path_node(view, name, Level::Viewer).map(|_| ());
        }
        call.path_node(view, first, Level::Viewer)?;
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let node = view
        .resolve(anchor)
        .and_then(|g| view.node(g))
        .filter(|n| types.contains(&n.ty) && call.is_visible(view, n) && is_known_user(view, n));
    let node = node
        .ok_or_else(|| DomainError::reference_not_found(name, crate::call::format_ref(anchor)))?;
    require_level(view, node, Level::Viewer)
}
