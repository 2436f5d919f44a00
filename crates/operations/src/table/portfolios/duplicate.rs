//! Duplication of a portfolio, with its items.
use crate::operation::Decision;
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputReader, Named, OperationInput, path,
};
use crate::request_context::RequestContext;
use crate::table::projects::places_allowed;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::portfolio_duplication::PortfolioDuplication;
use workgraph_core::jobs::{self, JobKind};
use workgraph_core::model::registry::{NAME_MAX, Type, rel};
use workgraph_core::model::resources::{job, portfolio};
use workgraph_core::rules::sharing::PORTFOLIOS;
use workgraph_core::rules::{custom_field_rules, portfolio_rules};
use workgraph_core::storage::{ReadQuery, ReadView};

const PARTS: Input<Vec<&'static str>> = Input::words(
    "include",
    &[
        "description",
        "members",
        "permissions",
        "templates",
        "rules",
        "child_projects",
        "child_portfolios",
    ],
    "The parts of the portfolio that the copy has besides its custom fields.",
);
const NAME: Input<String> = Input::text("name", NAME_MAX, "The name of the copy.").required();

/// A portfolio, and the parts that its copy gets.
pub(super) struct DuplicatePortfolio {
    portfolio: Named<Gid>,
    parts: Deferred<Vec<&'static str>>,
    name: Deferred<String>,
}

impl OperationInput for DuplicatePortfolio {
    const INPUTS: &'static [&'static InputDef] = &[&path::PORTFOLIO.def, &PARTS.def, &NAME.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            portfolio: inputs.required(&path::PORTFOLIO)?,
            parts: Deferred::new(inputs.or_default(&PARTS)),
            name: inputs.deferred(&NAME),
        })
    }
}

pub(super) fn duplicate_needs(
    call: &RequestContext<'_>,
    input: &DuplicatePortfolio,
) -> Result<ReadQuery, DomainError> {
    let old = input.portfolio.node;
    let query = jobs::start_needs(call.read_query(), call.job_requester());
    Ok(query
        .edges(old, rel::MEMBERS)
        .follow(old, custom_field_rules::settings()))
}

pub(super) fn duplicate(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DuplicatePortfolio,
) -> Result<Decision, DomainError> {
    let old = call.named_node(view, &input.portfolio, Level::Viewer)?;
    let workspace = old.workspace.unwrap_or(old.gid);
    let parts = input.parts.get()?;
    let has = |name: &str| parts.contains(&name);
    let name = input.name.get()?;
    places_allowed(view, workspace, "portfolios")?;
    // As for new portfolios: guests have none.
    if !view.viewer.is_member(workspace) {
        return Err(DomainError::forbidden(
            "You do not have permission to create portfolios in this workspace.",
        ));
    }
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Portfolio, Some(workspace));
    draft.set(portfolio::NAME, name.as_str());
    draft.take(portfolio::COLOR, old);
    if has("permissions") {
        draft.take(portfolio::PRIVACY, old);
        draft.take(portfolio::DEFAULT_ACCESS, old);
    }
    let new = portfolio_rules::create_portfolio(&mut work, draft, call.user_gid());
    custom_field_rules::copy_settings(&mut work, view, old.gid, (new, Type::Portfolio), workspace);
    if has("members") {
        let members = view.links(old.gid, rel::MEMBERS).iter();
        for edge in members.filter(|edge| edge.dst != call.user_gid()) {
            let level = Level::from_rank(edge.rank);
            PORTFOLIOS.join(&mut work, edge.dst, new, workspace, level);
        }
    }
    let items = [
        ("child_projects", Type::Project),
        ("child_portfolios", Type::Portfolio),
    ];
    let types = items.into_iter().filter(|(part, _)| has(part));
    let items = PortfolioDuplication {
        source: old.gid,
        copy: new,
        types: types.map(|(_, ty)| ty).collect(),
        after: None,
    };
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        workspace,
        "duplicate_portfolio",
        JobKind::DuplicatePortfolio(items),
        |draft| draft.set(job::NEW_PORTFOLIO, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}

#[cfg(test)]
mod tests;
