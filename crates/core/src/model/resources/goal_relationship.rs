//! Relationships of goals with their supporters: other goals, projects, portfolios and tasks.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{FieldSource, LinkOne, Opaque, Resource, Type, TypedField, ValueType};

/// Types of the objects that can support a goal.
pub const SUPPORTER_TYPES: &[Type] = &[Type::Goal, Type::Project, Type::Portfolio, Type::Task];
/// Maximum number of supporters of a goal.
pub const SUPPORTERS_MAX: usize = 500;
/// The subtypes: for goals, and for all other supporters.
pub const SUBTYPES: &[&str] = &["subgoal", "supporting_work"];

/// Kind of relationship.
pub const SUBTYPE: TypedField<str> =
    TypedField::word("resource_subtype", SUBTYPES, "\"supporting_work\"")
        .compact()
        .doc("The kind of relationship: subgoal if a goal supports the goal, or supporting_work.");
/// Goal, project, task or portfolio that supports the goal.
pub const SUPPORTING_RESOURCE: TypedField<LinkOne> =
    TypedField::inline("supporting_resource", SUPPORTER_TYPES)
        .compact()
        .doc("The goal, project, portfolio or task that supports the goal.");
/// Weight of the supporter in the progress of the goal.
pub const CONTRIBUTION_WEIGHT: TypedField<Opaque> = TypedField::other(
    "contribution_weight",
    ValueType::Number,
    FieldSource::Stored("contribution_weight"),
)
.default("1")
.compact()
.writable()
.doc("The weight of the supporter in the progress of a goal with custom weights, from 0 to 1.");
/// The goal that is supported.
pub const SUPPORTED_GOAL: TypedField<LinkOne> =
    TypedField::inline("supported_goal", &[Type::Goal]).doc("The goal that is supported.");

/// Declaration of goal relationships.
pub static GOAL_RELATIONSHIP: Resource = Resource {
    path: "goal_relationships",
    noun: "goal relationship",
    read_scope: "goals:read",
    title: None,
    subtype: true,
    container: Some("supported_goal"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        SUBTYPE.def,
        SUPPORTING_RESOURCE.def,
        CONTRIBUTION_WEIGHT.def,
        SUPPORTED_GOAL.def,
    ],
    ..Resource::of(Type::GoalRelationship, "goal_relationship")
};
