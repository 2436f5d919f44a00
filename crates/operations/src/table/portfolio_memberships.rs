//! Memberships of portfolios, under their old names.
use super::memberships::{at, list_memberships};
use super::portfolios::PREMIUM;
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, Named, OperationInput, path,
};
use crate::operation::rows::computed_list;
use crate::operation::steps::Description;
use crate::operation::{ListRequest, Operation, get};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Direction, Type};
use workgraph_core::storage::{NodeRef, RowFilter};

/// Operations on the memberships of portfolios: a part of [`TABLES`](super::TABLES).
pub static PORTFOLIO_MEMBERSHIPS: &[Operation] = &[
    computed_list(
        "getPortfolioMemberships",
        "/portfolio_memberships",
        Type::PortfolioMembership,
        &Description::new(list),
    )
    .paid_only(PREMIUM),
    get(
        "getPortfolioMembership",
        "/portfolio_memberships/{portfolio_membership_gid}",
        Type::PortfolioMembership,
    )
    .paid_only(PREMIUM),
    computed_list(
        "getPortfolioMembershipsForPortfolio",
        "/portfolios/{portfolio_gid}/portfolio_memberships",
        Type::PortfolioMembership,
        &Description::new(list),
    )
    .paid_only(PREMIUM),
];

const PORTFOLIO: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "portfolio",
    &[Type::Portfolio],
    "Lists the memberships in this portfolio; without it `workspace` and `user` are needed.",
)
.or_in_path(&path::PORTFOLIO.def);
const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "Lists the memberships of the user in portfolios of this workspace.",
);
const USER: Input<Named<NodeRef>> = Input::user(
    InputPlace::Query,
    "user",
    "Lists the memberships of this user alone.",
);

/// A portfolio, or a workspace and a user, whose memberships are listed.
struct ListOfPortfolios {
    portfolio: Option<Named<Gid>>,
    workspace: Option<Named<Gid>>,
    user: Option<Named<NodeRef>>,
}

impl OperationInput for ListOfPortfolios {
    const INPUTS: &'static [&'static InputDef] = &[&PORTFOLIO.def, &WORKSPACE.def, &USER.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            portfolio: inputs.optional(&PORTFOLIO)?,
            workspace: inputs.optional(&WORKSPACE)?,
            user: inputs.optional(&USER)?,
        })
    }
}

fn list(call: &RequestContext<'_>, input: &ListOfPortfolios) -> Result<ListRequest, DomainError> {
    let name = USER.def.name;
    if let Some(portfolio) = &input.portfolio {
        let anchor = portfolio.input;
        let anchor = (portfolio.node_ref(), anchor.name, anchor.types());
        let listed = list_memberships(call, anchor, input.user.as_ref(), name);
        return Ok(match &input.workspace {
            Some(workspace) => listed.with_reference(workspace),
            None => listed,
        });
    }
    let workspace = input.workspace.as_ref();
    let workspace = workspace.ok_or_else(|| DomainError::missing(PORTFOLIO.def.name))?;
    let user = input
        .user
        .as_ref()
        .ok_or_else(|| DomainError::missing(name))?;
    let anchor = (user.node.clone(), name, USER.def.types());
    let mut listed = at(call.read_query(), Direction::In, anchor);
    listed.page.filters = vec![
        RowFilter::Is(Type::PortfolioMembership),
        RowFilter::InWorkspace(workspace.node),
    ];
    Ok(listed.with_reference(workspace))
}

#[cfg(test)]
mod tests;
