//! Portfolios: lists of projects and other portfolios.
mod duplicate;
mod inputs;
mod items;

use self::duplicate::{duplicate, duplicate_needs};
use self::inputs::{CreatePortfolio, LISTED_IN, ListPortfolios, OWNER, UpdatePortfolio};
use self::items::{add_item, add_item_needs, remove_item, remove_item_needs};
use super::project_people::{Members, add_members, members_needs, remove_members};
use super::projects::write_dates;
use super::task_values;
use crate::access_gate;
use crate::operation::rows::{action, computed_list, create, update};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListDefinition, ListRequest, Operation, delete, get, list};
use crate::request_context::RequestContext;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::portfolio;
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::rules::portfolio_rules;
use workgraph_core::storage::{
    EdgeEnd, LinkFilter, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter, RowLink,
};

/// Operations on portfolios: a part of [`TABLES`](super::TABLES).
pub static PORTFOLIOS: &[Operation] = &[
    computed_list(
        "getPortfolios",
        "/portfolios",
        Type::Portfolio,
        &Description::new(portfolios),
    )
    .scope("portfolios:read")
    .paid_only(PREMIUM),
    create(
        "createPortfolio",
        "/portfolios",
        Type::Portfolio,
        &Steps::new(create_needs, create_portfolio),
    )
    .scope("portfolios:write")
    .paid_only(PREMIUM),
    get(
        "getPortfolio",
        "/portfolios/{portfolio_gid}",
        Type::Portfolio,
    )
    .scope("portfolios:read")
    .paid_only(PREMIUM),
    update(
        "updatePortfolio",
        "/portfolios/{portfolio_gid}",
        Type::Portfolio,
        &Steps::new(update_needs, update_portfolio),
    )
    .scope("portfolios:write")
    .paid_only(PREMIUM),
    delete(
        "deletePortfolio",
        "/portfolios/{portfolio_gid}",
        Level::Admin,
    )
    .paid_only(PREMIUM),
    action(
        "addItemForPortfolio",
        "/portfolios/{portfolio_gid}/addItem",
        &Steps::new(add_item_needs, add_item),
    )
    .scope("portfolios:write")
    .paid_only(PREMIUM),
    action(
        "removeItemForPortfolio",
        "/portfolios/{portfolio_gid}/removeItem",
        &Steps::new(remove_item_needs, remove_item),
    )
    .scope("portfolios:write")
    .paid_only(PREMIUM),
    list(
        "getItemsForPortfolio",
        "/portfolios/{portfolio_gid}/items",
        Type::Portfolio,
        ITEMS,
    )
    .lists_variants()
    .scope("portfolios:read")
    .paid_only(PREMIUM),
    action(
        "addMembersForPortfolio",
        "/portfolios/{portfolio_gid}/addMembers",
        &Steps::<Members<true>, _>::new(members_needs, add_members),
    )
    .responds_with(Type::Portfolio)
    .paid_only(PREMIUM),
    action(
        "removeMembersForPortfolio",
        "/portfolios/{portfolio_gid}/removeMembers",
        &Steps::<Members<true>, _>::new(members_needs, remove_members),
    )
    .responds_with(Type::Portfolio)
    .paid_only(PREMIUM),
    create(
        "duplicatePortfolio",
        "/portfolios/{portfolio_gid}/duplicate",
        Type::Job,
        &Steps::new(duplicate_needs, duplicate),
    )
    .scope("portfolios:write")
    .paid_only(PREMIUM),
];

/// Message for free workspaces.
pub(super) const PREMIUM: &str = "Portfolios are not available for free users.";

const ITEMS: ListDefinition = ListDefinition::Edges {
    rel: rel::ITEM_OF,
    dir: Direction::In,
    give: EdgeEnd::OtherEnd,
    open: false,
};

/// Lists the portfolios that the caller owns. A service account lists the portfolios of any user.
fn portfolios(
    call: &RequestContext<'_>,
    input: &ListPortfolios,
) -> Result<ListRequest, DomainError> {
    let mut query = call.read_query();
    let anchor = query.add_ref(input.workspace.node);
    let ty = Type::Portfolio;
    let mut page = PageQuery::of(ListSource::InWorkspace { anchor, ty }, false, 0);
    if call.viewer.service.is_none() {
        let own = NodeRef::Gid(call.user_gid());
        let other = |owner: &NodeRef| matches!(owner, NodeRef::Gid(_)) && *owner != own;
        if input.owner.as_ref().is_some_and(|owner| other(&owner.node)) {
            return Err(DomainError::forbidden(
                "You may only list your own portfolios.",
            ));
        }
        page.filters.push(owned_by(&mut query, own));
    }
    if let Some(owner) = &input.owner {
        page.filters.push(owned_by(&mut query, owner.node.clone()));
    }
    Ok(ListRequest {
        query,
        page,
        computed: false,
        anchor: LISTED_IN.def.name,
        anchor_types: LISTED_IN.def.types(),
        referenced: Vec::new(),
    })
}

/// Returns the filter for the portfolios of an owner.
fn owned_by(query: &mut ReadQuery, owner: NodeRef) -> RowFilter {
    query.add_ref(owner.clone());
    RowFilter::LinksTo(LinkFilter {
        parameter: OWNER.def.name,
        types: OWNER.def.types(),
        node: owner,
        by: RowLink::Key(portfolio::OWNER.def.name),
        unseen: false,
    })
}

fn create_needs(
    call: &RequestContext<'_>,
    input: &CreatePortfolio,
) -> Result<ReadQuery, DomainError> {
    Ok(call.read_query().node(input.workspace.node))
}

fn create_portfolio(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreatePortfolio,
) -> Result<Decision, DomainError> {
    let workspace = call.named_node(view, &input.workspace, Level::Editor)?;
    call.require_plan(view, workspace)?;
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Portfolio, Some(workspace.gid));
    let inputs = input.fields.get()?;
    write(&mut draft, inputs)?;
    task_values::write(call, view, &mut draft, inputs, None, &[])?;
    let gid = portfolio_rules::create_portfolio(&mut work, draft, call.user_gid());
    Ok(Decision::about(work.changes, gid))
}

/// Writes the body's fields into a draft.
fn write(draft: &mut Draft, inputs: &CheckedInputs) -> Result<(), DomainError> {
    inputs.fill(&portfolio::PORTFOLIO, draft);
    if let (false, Some(InputValue::Stored(on))) =
        (inputs.has("privacy_setting"), inputs.get("public"))
    {
        let word = if on == "true" {
            portfolio::PUBLIC_TO_DOMAIN
        } else {
            "members_only"
        };
        draft.set(portfolio::PRIVACY, word);
    }
    write_dates(draft, inputs)
}

fn update_needs(
    call: &RequestContext<'_>,
    input: &UpdatePortfolio,
) -> Result<ReadQuery, DomainError> {
    let portfolio = input.portfolio.node_ref();
    let query = call.read_query().node(portfolio.clone());
    let query = input.fields.with_unchanged(&portfolio, query);
    task_values::needs(call, query, input.fields.written()?, portfolio)
}

fn update_portfolio(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdatePortfolio,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.portfolio, Level::Editor)?;
    let mut draft = Draft::edit(node);
    let inputs = input.fields.checked(view, node)?;
    write(&mut draft, inputs)?;
    access_gate::may_change_settings(view, node, &draft)?;
    let values = task_values::write_to(call, view, &mut draft, inputs, node)?;
    let mut work = call.change_builder();
    work.save(&draft);
    task_values::record(&mut work, view, node, &values);
    Ok(Decision::about(work.changes, node.gid))
}

#[cfg(test)]
mod tests;
