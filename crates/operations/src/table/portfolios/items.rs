//! Items of portfolios: projects and other portfolios, in the order chosen by their editors.
use crate::operation::Decision;
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, Named, OperationInput, path,
};
use crate::request_context::RequestContext;
use crate::table::list_position::{InsertInputs, InsertPosition, RequestedPosition, insert_beside};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::portfolio::{ITEM_TYPES, ITEMS_MAX};
use workgraph_core::rules::portfolio_rules;
use workgraph_core::storage::Ring;
use workgraph_core::storage::{ListPosition, ReadQuery, ReadView};

const ITEM: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "item",
    ITEM_TYPES,
    "The item: a project or another portfolio.",
)
.required();
const BESIDE: InsertInputs = insert_beside(ITEM_TYPES);

/// A portfolio, an item, and its position among the others.
pub(super) struct AddItem {
    portfolio: Named<Gid>,
    item: Named<Gid>,
    position: RequestedPosition,
}

impl OperationInput for AddItem {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::PORTFOLIO.def,
        &ITEM.def,
        &BESIDE.before.def,
        &BESIDE.after.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            portfolio: inputs.required(&path::PORTFOLIO)?,
            item: inputs.required(&ITEM)?,
            position: BESIDE.read(inputs)?,
        })
    }
}

/// A portfolio, and one of its items.
pub(super) struct RemoveItem {
    portfolio: Named<Gid>,
    item: Named<Gid>,
}

impl OperationInput for RemoveItem {
    const INPUTS: &'static [&'static InputDef] = &[&path::PORTFOLIO.def, &ITEM.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            portfolio: inputs.required(&path::PORTFOLIO)?,
            item: inputs.required(&ITEM)?,
        })
    }
}

pub(super) fn add_item_needs(
    call: &RequestContext<'_>,
    input: &AddItem,
) -> Result<ReadQuery, DomainError> {
    let portfolio = input.portfolio.node;
    let mut query = call
        .read_query()
        .edge(input.item.node, rel::ITEM_OF, portfolio)
        .count(portfolio, rel::ITEM_OF)
        .reachable(portfolio, rel::ITEM_OF);
    if let Some(neighbour) = input.position.position.neighbour() {
        query = query.edge(neighbour, rel::ITEM_OF, portfolio);
    }
    Ok(query)
}

pub(super) fn add_item(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &AddItem,
) -> Result<Decision, DomainError> {
    let portfolio = call.named_node(view, &input.portfolio, Level::Editor)?;
    let item = call.named_node(view, &input.item, Level::Viewer)?;
    let refused = |reason: &str| DomainError::field(ITEM.def.name, reason);
    if item.workspace != portfolio.workspace {
        return Err(refused("Not an object of the portfolio's workspace"));
    }
    let mut work = call.change_builder();
    let ring = view.require_no_ring(portfolio.gid, rel::ITEM_OF, item.gid);
    ring.map_err(|ring| match ring {
        Ring::Closed => refused("A portfolio cannot be an item of itself, or of one of its items"),
        Ring::TooLong => refused("The portfolio is in too many others"),
    })?;
    let position = input.position.position;
    if let Some(neighbour) = position.neighbour() {
        let found = view.link(neighbour, rel::ITEM_OF, portfolio.gid);
        if found.is_none() || view.visible(neighbour).is_none() {
            return Err(DomainError::reference_not_found(
                input.position.field,
                neighbour,
            ));
        }
    }
    let rank = position.list_position(ListPosition::Last);
    let edge = view.link(item.gid, rel::ITEM_OF, portfolio.gid);
    match edge {
        // An item that the portfolio already has only moves.
        Some(_) if position == InsertPosition::None || position.neighbour() == Some(item.gid) => {}
        Some(edge) => work.link(item.gid, rel::ITEM_OF, portfolio.gid, rank, edge.aux),
        None if view.count(portfolio.gid, rel::ITEM_OF) >= ITEMS_MAX as u64 => {
            let reason = format!("Too many: a portfolio has at most {ITEMS_MAX} items");
            return Err(refused(&reason));
        }
        None => {
            let to = (portfolio.gid, portfolio.workspace);
            portfolio_rules::add_item(&mut work, (item.gid, item.ty), to, rank);
        }
    }
    Ok(Decision::of(work.changes))
}

pub(super) fn remove_item_needs(
    call: &RequestContext<'_>,
    input: &RemoveItem,
) -> Result<ReadQuery, DomainError> {
    let query = call.read_query();
    Ok(query.edge(input.item.node, rel::ITEM_OF, input.portfolio.node))
}

pub(super) fn remove_item(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &RemoveItem,
) -> Result<Decision, DomainError> {
    let portfolio = call.named_node(view, &input.portfolio, Level::Editor)?;
    let item = call.named_node(view, &input.item, Level::Viewer)?;
    let Some(edge) = view.link(item.gid, rel::ITEM_OF, portfolio.gid) else {
        return Err(DomainError::field(
            ITEM.def.name,
            format_args!("Not an item of the portfolio: {}", item.gid),
        ));
    };
    let mut work = call.change_builder();
    portfolio_rules::remove_item(&mut work, item, portfolio.gid, edge.aux);
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
