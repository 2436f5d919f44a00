//! Settings of projects in portfolios: the access that a portfolio gives to its projects.
use super::portfolios::PREMIUM;
use crate::access_gate;
use crate::operation::inputs::{Input, InputDef, InputReader, Named, OperationInput, path};
use crate::operation::rows::update;
use crate::operation::steps::Steps;
use crate::operation::{Decision, ListDefinition, Operation, get, list};
use crate::request_context::{RequestContext, require_level};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{portfolio, project};
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::rules::portfolio_rules;
use workgraph_core::storage::{EdgeEnd, LinkSelector, ReadQuery, ReadView};

/// Operations on settings of projects in portfolios: a part of [`TABLES`](super::TABLES).
pub static PROJECT_PORTFOLIO_SETTINGS: &[Operation] = &[
    list(
        "getProjectPortfolioSettingsForPortfolio",
        "/portfolios/{portfolio_gid}/project_portfolio_settings",
        Type::ProjectPortfolioSetting,
        settings(Direction::In),
    )
    .scope("project_portfolio_settings:read")
    .paid_only(PREMIUM),
    get(
        "getProjectPortfolioSetting",
        "/project_portfolio_settings/{project_portfolio_setting_gid}",
        Type::ProjectPortfolioSetting,
    )
    .scope("project_portfolio_settings:read")
    .paid_only(PREMIUM),
    update(
        "updateProjectPortfolioSetting",
        "/project_portfolio_settings/{project_portfolio_setting_gid}",
        Type::ProjectPortfolioSetting,
        &Steps::new(update_needs, update_setting),
    )
    .scope("project_portfolio_settings:write")
    .paid_only(PREMIUM),
    list(
        "getProjectPortfolioSettingsForProject",
        "/projects/{project_gid}/project_portfolio_settings",
        Type::ProjectPortfolioSetting,
        settings(Direction::Out),
    )
    .scope("project_portfolio_settings:read")
    .paid_only(PREMIUM),
];

/// The settings of the edges between projects and portfolios.
const fn settings(dir: Direction) -> ListDefinition {
    ListDefinition::Edges {
        rel: rel::ITEM_OF,
        dir,
        give: EdgeEnd::Aux,
        open: false,
    }
}

const CHANGED: Input<CheckedInputs> = Input::changed_record(
    Type::ProjectPortfolioSetting,
    "The fields of the setting to change.",
);

/// A setting, and the fields to change.
struct UpdateSetting {
    setting: Named<Gid>,
    fields: CheckedInputs,
}

impl OperationInput for UpdateSetting {
    const INPUTS: &'static [&'static InputDef] =
        &[&path::PROJECT_PORTFOLIO_SETTING.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            setting: inputs.required(&path::PROJECT_PORTFOLIO_SETTING)?,
            fields: inputs.required(&CHANGED)?,
        })
    }
}

fn update_needs(
    call: &RequestContext<'_>,
    input: &UpdateSetting,
) -> Result<ReadQuery, DomainError> {
    let setting = input.setting.node_ref();
    let [project, portfolio] =
        ["project", "portfolio"].map(|key| setting.clone().of(LinkSelector::Key(key)));
    Ok(call
        .read_query()
        .node(setting)
        .node(project)
        .node(portfolio))
}

/// Changes a setting. Users who may share the project can give access to it through a portfolio that they may change, and can end
/// such access.
fn update_setting(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateSetting,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.setting, Level::Viewer)?;
    let party = |gid: Option<Gid>| {
        let found = gid.and_then(|gid| view.node(gid));
        found.ok_or_else(|| DomainError::not_found("project portfolio setting", node.gid))
    };
    let project = party(node.get(portfolio::SETTING_PROJECT))?;
    let portfolio = party(node.get(portfolio::SETTING_PORTFOLIO))?;
    access_gate::may_share(view, project)?;
    let mut draft = Draft::edit(node);
    input
        .fields
        .fill(&portfolio::PROJECT_PORTFOLIO_SETTING, &mut draft);
    let mut work = call.change_builder();
    let on = draft.get(portfolio::IS_INHERITED);
    let has_giver = node.get(portfolio::GIVEN_BY).is_some();
    if on && (draft.changed(portfolio::IS_INHERITED) || !has_giver) {
        require_level(view, portfolio, Level::Editor)?;
        // A service account is not a member; access that it gives lasts while the owner of the project may share it.
        let giver = match call.viewer.service {
            None => Some(call.user_gid()),
            Some(_) => project.get(project::OWNER),
        };
        draft.set(portfolio::GIVEN_BY, giver);
    }
    work.save_unrecorded(&draft);
    portfolio_rules::set_inherited(&mut work, project, portfolio.gid, on);
    Ok(Decision::about(work.changes, node.gid))
}

#[cfg(test)]
mod tests;
