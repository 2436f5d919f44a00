//! Portfolios: their creation, their items, and the access to projects that they give.
use super::sharing::PORTFOLIOS;
use crate::access::Level;
use crate::model::custom_field_values::{gids, with_gid};
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::portfolio::ITEMS_MAX;
use crate::model::resources::{portfolio, project};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ChangeAction, Guard, ListPosition, NodeWrite};

/// Creates a portfolio. Its owner is its first member.
pub fn create_portfolio(work: &mut ChangeBuilder<'_>, mut draft: Draft, owner: Gid) -> Gid {
    draft.set(portfolio::CREATED_AT, work.now);
    draft.set(portfolio::CREATED_BY, owner);
    draft.set(portfolio::OWNER, owner);
    let gid = work.create(&draft, draft.workspace);
    if let Some(workspace) = draft.workspace {
        PORTFOLIOS.join(work, owner, gid, workspace, Level::Admin);
    }
    gid
}

/// Adds an item to a portfolio that does not have it; a project gets a setting for it.
pub fn add_item(
    work: &mut ChangeBuilder<'_>,
    item: (Gid, Type),
    portfolio: (Gid, Option<Gid>),
    position: ListPosition,
) {
    let ((item, ty), (portfolio, workspace)) = (item, portfolio);
    let setting = (ty == Type::Project).then(|| {
        let mut draft = work.draft(Type::ProjectPortfolioSetting, workspace);
        draft.set(portfolio::SETTING_PROJECT, item);
        draft.set(portfolio::SETTING_PORTFOLIO, portfolio);
        draft.set(portfolio::ADDED_AT, work.now);
        let node = draft.finish();
        work.changes.node_writes.push(NodeWrite { node });
        draft.gid
    });
    work.require_live(item);
    work.require_live(portfolio);
    work.require_unlinked(item, rel::ITEM_OF, portfolio);
    let room = Guard::Below(portfolio, rel::ITEM_OF, ITEMS_MAX as u64);
    work.changes.guards.push(room);
    work.link(item, rel::ITEM_OF, portfolio, position, setting);
    let parent = Some(portfolio);
    work.add_change_record(item, ty, ChangeAction::Added { parent });
}

/// Removes an item from a portfolio, with its setting.
pub fn remove_item(
    work: &mut ChangeBuilder<'_>,
    item: &Node,
    portfolio: Gid,
    setting: Option<Gid>,
) {
    work.unlink(item.gid, rel::ITEM_OF, portfolio);
    work.changes.trashed.extend(setting);
    set_inherited(work, item, portfolio, false);
    let parent = portfolio;
    work.add_change_record(item.gid, item.ty, ChangeAction::Removed { parent });
}

/// Gives the members of a portfolio access to a project, or takes it away.
pub fn set_inherited(work: &mut ChangeBuilder<'_>, project: &Node, portfolio: Gid, on: bool) {
    let portfolios = project.raw(project::ACCESS_FROM.def.name);
    let portfolios = portfolios.into_iter().flat_map(gids);
    let mut draft = Draft::edit(project);
    draft.set(project::ACCESS_FROM, with_gid(portfolios, portfolio, on));
    work.save_unrecorded(&draft);
}
