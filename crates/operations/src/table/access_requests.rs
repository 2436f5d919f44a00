//! Requests of users for access to projects and portfolios that they do not see.
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, path,
};
use crate::operation::rows::{action, computed_list, create};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListRequest, Operation};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::{Level, gate};
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, TEXT_MAX, Type, rel};
use workgraph_core::model::resources::access_request::{
    MESSAGE, REQUESTER, STATUS, TARGET, TARGET_LINK, TARGET_TYPES,
};
use workgraph_core::model::resources::resource;
use workgraph_core::rules::sharing::Sharing;
use workgraph_core::storage::{
    EdgeEnd, LinkFilter, LinkSelector, ListPosition, ListSource, NodeRef, PageQuery, ReadQuery,
    ReadView, RowFilter, RowLink,
};

/// Operations on access requests: a part of [`TABLES`](super::TABLES).
pub static ACCESS_REQUESTS: &[Operation] = &[
    computed_list(
        "getAccessRequests",
        "/access_requests",
        Type::AccessRequest,
        &Description::new(list),
    )
    .full()
    .paid_only(PREMIUM),
    create(
        "createAccessRequest",
        "/access_requests",
        Type::AccessRequest,
        &Steps::new(create_needs, create_request),
    )
    .paid_only(PREMIUM),
    action(
        "approveAccessRequest",
        "/access_requests/{access_request_gid}/approve",
        &Steps::new(decision_needs, approve),
    ),
    action(
        "rejectAccessRequest",
        "/access_requests/{access_request_gid}/reject",
        &Steps::new(decision_needs, reject),
    ),
];

const PREMIUM: &str = "Access requests are not available for free users.";

const LISTED_TARGET: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "target",
    TARGET_TYPES,
    "Lists the pending requests for access to this project or portfolio: all to those who administer it, their own to others.",
)
.required();
const USER: Input<Named<NodeRef>> = Input::user(
    InputPlace::Query,
    "user",
    "Only requests of this user. With `me` the caller need not see the target.",
);
const NEW_TARGET: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "target",
    TARGET_TYPES,
    "The project or portfolio that the caller asks to see.",
)
.required();
const NEW_MESSAGE: Input<String> = Input::text(
    "message",
    TEXT_MAX,
    "The message to those who administer the target.",
);

/// A project or portfolio, and optionally a user.
struct ListRequests {
    target: Named<Gid>,
    user: Option<Named<NodeRef>>,
}

impl OperationInput for ListRequests {
    const INPUTS: &'static [&'static InputDef] = &[&LISTED_TARGET.def, &USER.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            target: inputs.required(&LISTED_TARGET)?,
            user: inputs.optional(&USER)?,
        })
    }
}

fn list(call: &RequestContext<'_>, input: &ListRequests) -> Result<ListRequest, DomainError> {
    let mut query = call.read_query();
    let target = query.add_ref(input.target.node);
    // If a user is given, the rows come from the user, whose own requests are shown without access to the target.
    let (anchor, dir, named) = match &input.user {
        None => (target, Direction::Out, input.target.input),
        Some(user) => (query.add_ref(user.node.clone()), Direction::In, user.input),
    };
    let source = ListSource::Edges {
        anchor,
        rel: rel::ACCESS_REQUESTS,
        dir,
        give: EdgeEnd::Aux,
    };
    let mut page = PageQuery::of(source, false, 0);
    if let Some(user) = &input.user {
        page.filters.push(RowFilter::LinksTo(LinkFilter {
            parameter: LISTED_TARGET.def.name,
            types: TARGET_TYPES,
            node: input.target.node_ref(),
            by: RowLink::Key(TARGET_LINK.def.name),
            unseen: user.node == NodeRef::Gid(call.user_gid()),
        }));
    }
    Ok(ListRequest {
        query,
        page,
        computed: false,
        anchor: named.name,
        anchor_types: named.types(),
        referenced: Vec::new(),
    })
}

/// Inputs of a new request.
struct CreateRequest {
    target: Named<Gid>,
    message: Deferred<Option<String>>,
}

impl OperationInput for CreateRequest {
    const INPUTS: &'static [&'static InputDef] = &[&NEW_TARGET.def, &NEW_MESSAGE.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            target: inputs.required(&NEW_TARGET)?,
            message: inputs.deferred_optional(&NEW_MESSAGE),
        })
    }
}

fn create_needs(
    call: &RequestContext<'_>,
    input: &CreateRequest,
) -> Result<ReadQuery, DomainError> {
    let query = call.read_query();
    Ok(query.edge(input.target.node, rel::ACCESS_REQUESTS, call.user_gid()))
}

fn create_request(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateRequest,
) -> Result<Decision, DomainError> {
    let parameter = NEW_TARGET.def.name;
    let target = call.resolve_unseen(view, parameter, &input.target.node_ref(), TARGET_TYPES)?;
    call.require_plan(view, target)?;
    let of = resource(target.ty);
    if view.level(target.gid) > Level::None {
        let reason = format_args!("You have access to this {} already", of.noun);
        return Err(DomainError::field(parameter, reason));
    }
    let message = input.message.get()?;
    let me = call.user_gid();
    let mut work = call.change_builder();
    let pending = view.link(target.gid, rel::ACCESS_REQUESTS, me);
    if let Some(pending) = pending.and_then(|edge| edge.aux) {
        return Ok(Decision::about(work.changes, pending));
    }
    let mut draft = work.draft(Type::AccessRequest, target.workspace);
    draft.set(MESSAGE, message.as_deref().unwrap_or_default());
    draft.set(REQUESTER, me);
    draft.set(TARGET_LINK, target.gid);
    let shown = format!(
        "{{\"gid\":\"{}\",\"resource_type\":\"{}\"}}",
        target.gid, of.name
    );
    draft.set(TARGET, shown);
    let gid = work.create(&draft, Some(target.gid));
    let position = ListPosition::Rank(0);
    work.link(target.gid, rel::ACCESS_REQUESTS, me, position, Some(gid));
    Ok(Decision::about(work.changes, gid))
}

/// A request for access, to approve or deny.
struct DecideRequest {
    request: Named<Gid>,
}

impl OperationInput for DecideRequest {
    const INPUTS: &'static [&'static InputDef] = &[&path::ACCESS_REQUEST.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            request: inputs.required(&path::ACCESS_REQUEST)?,
        })
    }
}

fn decision_needs(
    call: &RequestContext<'_>,
    input: &DecideRequest,
) -> Result<ReadQuery, DomainError> {
    let request = input.request.node_ref();
    let linked = |key| request.clone().of(LinkSelector::Key(key));
    let requester = linked(REQUESTER.def.name);
    let query = call.read_query().node(request.clone());
    Ok(query.edges(requester.clone(), rel::WORKSPACES).edge(
        linked(TARGET_LINK.def.name),
        rel::MEMBERS,
        requester,
    ))
}

fn approve(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DecideRequest,
) -> Result<Decision, DomainError> {
    decide(call, view, input, true)
}

fn reject(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DecideRequest,
) -> Result<Decision, DomainError> {
    decide(call, view, input, false)
}

fn decide(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DecideRequest,
    approved: bool,
) -> Result<Decision, DomainError> {
    let request = call.named_node(view, &input.request, Level::Admin)?;
    let target = request.get(TARGET_LINK).and_then(|gid| view.node(gid));
    let (Some(target), Some(requester)) = (target, request.get(REQUESTER)) else {
        return Err(DomainError::not_found("access request", request.gid));
    };
    let state = request.get(STATUS).unwrap_or_default();
    if state != "pending" {
        let message = format!("This access request was {state} already.");
        return Err(DomainError::invalid(message));
    }
    let mut draft = Draft::edit(request);
    draft.set(STATUS, if approved { "approved" } else { "denied" });
    let mut work = call.change_builder();
    work.save(&draft);
    work.unlink(target.gid, rel::ACCESS_REQUESTS, requester);
    if !approved {
        return Ok(Decision::of(work.changes));
    }
    let workspace = target.workspace.unwrap_or(target.gid);
    if view.link(requester, rel::WORKSPACES, workspace).is_none() {
        return Err(DomainError::invalid(
            "The user does not belong to the workspace any more; reject the access request.",
        ));
    }
    if let Some(sharing) = Sharing::of(target.ty)
        && view.link(target.gid, rel::MEMBERS, requester).is_none()
    {
        let word = target.get(sharing.default).unwrap_or_default();
        let usual = sharing.level(&word).unwrap_or(Level::Viewer);
        let level = gate::approved_level(usual, view.level(target.gid));
        sharing.join(&mut work, requester, target.gid, workspace, level);
    }
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
