//! Goals of workspaces and teams.
mod metric;

use self::metric::{SetCurrentValue, SetMetric, goal_needs, set_current_value, set_metric};
use super::project_people::{Followers, add_followers, followers_needs, remove_followers};
use super::projects::write_dates;
use super::record_family::{RecordChange, RecordFamily, RecordTexts, Rows, workspace_parent};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::access_gate::may_change_settings;
use crate::operation::inputs::path::PathGoal;
use crate::operation::inputs::{Input, InputType, Named, RecordUpdate, parse_gid, path};
use crate::operation::rows::action;
use crate::operation::steps::Steps;
use crate::operation::{ListDefinition, Operation, delete, list};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Direction, FieldSource, LinkOne, Type, TypedField, rel};
use workgraph_core::model::resources::goal;
use workgraph_core::model::resources::goal_relationship::SUPPORTER_TYPES;
use workgraph_core::model::validate::{CheckedInputs, InputValue, split};
use workgraph_core::rules::sharing::GOALS as SHARING;
use workgraph_core::storage::{EdgeEnd, RowFilter};

/// Operations on goals: a part of [`TABLES`](super::TABLES).
pub static GOALS: &[Operation] = &[
    Lists::<Goals>::list("getGoals", "/goals")
        .filtered_by(&[&IS_WORKSPACE_LEVEL, &TIME_PERIODS])
        .scope("goals:read")
        .paid_only(PREMIUM),
    Rows::<Goals>::create("createGoal", "/goals").paid_only(PREMIUM),
    Rows::<Goals>::get("getGoal", RECORD)
        .scope("goals:read")
        .paid_only(PREMIUM),
    Rows::<Goals>::update("updateGoal", RECORD),
    delete("deleteGoal", RECORD, Level::Admin).paid_only(PREMIUM),
    action(
        "addFollowers",
        "/goals/{goal_gid}/addFollowers",
        &Steps::<Followers<PathGoal>, _>::new(followers_needs, add_followers),
    )
    .responds_with(Type::Goal)
    .paid_only(PREMIUM),
    action(
        "removeFollowers",
        "/goals/{goal_gid}/removeFollowers",
        &Steps::<Followers<PathGoal>, _>::new(followers_needs, remove_followers),
    )
    .responds_with(Type::Goal)
    .paid_only(PREMIUM),
    action(
        "createGoalMetric",
        "/goals/{goal_gid}/setMetric",
        &Steps::<SetMetric, _>::new(goal_needs, set_metric),
    )
    .responds_with(Type::Goal)
    .paid_only(PREMIUM),
    action(
        "updateGoalMetric",
        "/goals/{goal_gid}/setMetricCurrentValue",
        &Steps::<SetCurrentValue, _>::new(goal_needs, set_current_value),
    )
    .responds_with(Type::Goal)
    .paid_only(PREMIUM),
    list(
        "getParentGoalsForGoal",
        "/goals/{goal_gid}/parentGoals",
        Type::Goal,
        SUPPORTED,
    )
    .scope("goals:read")
    .paid_only(PREMIUM),
];

const SUPPORTED: ListDefinition = ListDefinition::Edges {
    rel: rel::SUPPORTS,
    dir: Direction::Out,
    give: EdgeEnd::OtherEnd,
    open: false,
};

const RECORD: &str = "/goals/{goal_gid}";
/// Message for free workspaces.
pub(super) const PREMIUM: &str = "Goals are not available for free users.";

/// The family of goals; it is also their list.
struct Goals;

impl RecordFamily for Goals {
    const TYPE: Type = Type::Goal;
    const PATH: &'static Input<Named<Gid>> = &path::GOAL;
    const PARENT: &'static Input<Named<Gid>> =
        &workspace_parent("The workspace of the goal; a goal never moves to another.");
    const NEW: &'static Input<CheckedInputs> =
        &Input::new_record(Self::TYPE, &[], "The fields of the new goal.");
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the goal to change.");
    const TEXTS: Option<RecordTexts> = Some(RecordTexts {
        plain: goal::NOTES,
        html: goal::HTML_NOTES,
    });

    fn complete(change: &mut RecordChange<'_>, fields: &CheckedInputs) -> Result<(), DomainError> {
        write_dates(&mut change.draft, fields)?;
        choose_level(change, fields)?;
        change.require_new_parent(goal::TEAM)?;
        let draft = &mut change.draft;
        if draft.changed(goal::STATUS) && draft.raw(goal::METRIC.def.name).is_none() {
            return Err(DomainError::field(
                goal::STATUS.def.name,
                "A goal without a metric has the status of its newest status update; post one",
            ));
        }
        if draft.is_new() {
            if !fields.has("owner") {
                draft.set(goal::OWNER, change.call.user_gid());
            }
        } else if let Some(node) = change.view.node(draft.gid) {
            may_change_settings(change.view, node, draft)?;
        }
        Ok(())
    }

    /// Makes the creator and the followers members.
    fn created(change: &mut RecordChange<'_>) {
        let goal = &change.draft;
        let me = change.call.user_gid();
        let usual = goal.get(goal::DEFAULT_ACCESS);
        let usual = usual.and_then(|word| SHARING.level(&word));
        let links = change.work.changes.edge_writes.iter();
        let followers = links.filter(|link| link.rel == rel::PROJECT_FOLLOWERS);
        let followers = followers.map(|link| link.dst).filter(|user| *user != me);
        let mut members = vec![(me, Level::Admin)];
        members.extend(followers.map(|user| (user, usual.unwrap_or_default())));
        let workspace = goal.workspace.unwrap_or(goal.gid);
        for (user, level) in members {
            SHARING.join(&mut change.work, user, goal.gid, workspace, level);
        }
    }
}

/// Assigns the goal to the workspace or to a team, according to the body.
fn choose_level(change: &mut RecordChange<'_>, fields: &CheckedInputs) -> Result<(), DomainError> {
    let name = goal::IS_WORKSPACE_LEVEL.def.name;
    let Some(InputValue::Stored(raw)) = fields.get(name) else {
        return Ok(());
    };
    let named = matches!(fields.get(goal::TEAM.def.name), Some(InputValue::Ref(_)));
    match (raw == "true", change.draft.get(goal::TEAM)) {
        (true, _) if named => Err(DomainError::field(
            name,
            "A goal of a team is not one of the workspace; give one of team and is_workspace_level",
        )),
        (true, _) => {
            change.draft.set(goal::TEAM, None);
            Ok(())
        }
        (false, None) => Err(DomainError::field(
            name,
            "A goal without a team is one of the workspace; give a team, too",
        )),
        (false, Some(_)) => Ok(()),
    }
}

/// The supporters of a goal. Not part of the record.
const SUPPORTERS: TypedField<LinkOne> = {
    let mut field = TypedField::edge("supporters", SUPPORTER_TYPES, rel::SUPPORTS);
    field.def.source = FieldSource::Edges(rel::SUPPORTS, Direction::In);
    field
};

impl RecordList for Goals {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] = &[
        ListAnchor::of(
            SUPPORTERS,
            "task",
            &[Type::Task],
            "Only goals that this task supports.",
        ),
        ListAnchor::of(
            SUPPORTERS,
            "project",
            &[Type::Project],
            "Only goals that this project supports.",
        ),
        ListAnchor::of(
            SUPPORTERS,
            "portfolio",
            &[Type::Portfolio],
            "Only goals that this portfolio supports.",
        ),
        ListAnchor::of(
            goal::TEAM,
            "team",
            &[Type::Team],
            "Only goals of this team.",
        ),
        ListAnchor::workspace("Only goals in this workspace."),
    ];
}

const IS_WORKSPACE_LEVEL: Input<RowFilter> = Input::filter(
    "is_workspace_level",
    InputType::Flag,
    |input, inputs| {
        let key = goal::TEAM.def.name;
        Ok(inputs.query_flag(input)?.map(|on| match on {
            true => RowFilter::Unset(key),
            false => RowFilter::Set(key),
        }))
    },
    "Only goals of the workspace, or only those of teams.",
);
const TIME_PERIODS: Input<RowFilter> = Input::filter(
    "time_periods",
    InputType::Nodes(&[Type::TimePeriod]),
    |input, inputs| {
        let Some(text) = inputs.query_text(input)? else {
            return Ok(None);
        };
        let gids = split(text).into_iter();
        let gids = gids.map(|gid| Ok(format!("\"{}\"", parse_gid(input.name, &gid)?)));
        Ok(Some(RowFilter::OneOf {
            key: goal::TIME_PERIOD.def.name,
            default: goal::TIME_PERIOD.def.default,
            values: gids.collect::<Result<_, DomainError>>()?,
        }))
    },
    "Only goals of these time periods, separated by commas.",
);

#[cfg(test)]
mod tests;
