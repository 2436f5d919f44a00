//! Rules for goals and their supporters.
use crate::model::gid::Gid;
use crate::model::registry::{Type, rel};
use crate::model::resources::goal_relationship::{
    CONTRIBUTION_WEIGHT, SUBTYPE, SUPPORTED_GOAL, SUPPORTING_RESOURCE,
};
use crate::storage::ListPosition;
use crate::storage::change_builder::ChangeBuilder;

/// Adds a supporter to a goal that does not have it; returns the relationship.
pub fn add_supporter(
    work: &mut ChangeBuilder<'_>,
    (supporter, ty): (Gid, Type),
    (goal, workspace): (Gid, Option<Gid>),
    weight: Option<String>,
    position: ListPosition,
) -> Gid {
    let mut draft = work.draft(Type::GoalRelationship, workspace);
    let subtype = match ty {
        Type::Goal => "subgoal",
        _ => "supporting_work",
    };
    draft.set(SUBTYPE, subtype);
    draft.set(SUPPORTING_RESOURCE, supporter);
    draft.set(SUPPORTED_GOAL, goal);
    if let Some(weight) = weight {
        draft.set(CONTRIBUTION_WEIGHT, weight);
    }
    let gid = work.create(&draft, Some(goal));
    work.link(supporter, rel::SUPPORTS, goal, position, Some(gid));
    gid
}

/// Removes a supporter from a goal, with its relationship.
pub fn remove_supporter(
    work: &mut ChangeBuilder<'_>,
    supporter: Gid,
    goal: Gid,
    relationship: Option<Gid>,
) {
    work.unlink(supporter, rel::SUPPORTS, goal);
    if let Some(relationship) = relationship {
        work.trash(relationship, Type::GoalRelationship);
    }
}
