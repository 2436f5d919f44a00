//! Objects of which other nodes are parts: a service account, which sees everything, sees no part of a deleted one.
use super::access_lookup::AccessLookup;
use super::level::Level;
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::{custom_field_setting, membership, resource, section, status_update};

/// Returns the object that a node is a part of, `None` if a node of its type is part of none.
pub(super) fn part_of(
    node: &Node,
    facts: &mut dyn AccessLookup,
) -> Result<Option<Option<Gid>>, GraphStoreError> {
    let edges_to = match node.ty {
        Type::Story => Some(rel::STORY_OF),
        Type::Attachment => Some(rel::ATTACHED_TO),
        _ => None,
    };
    if let Some(rel) = edges_to {
        let edges = facts.lookup_edges(node.gid, rel)?;
        return Ok(Some(edges.first().map(|edge| edge.dst)));
    }
    let link = match node.ty {
        Type::ProjectMembership
        | Type::PortfolioMembership
        | Type::GoalMembership
        | Type::CustomFieldMembership => node.get(membership::PARENT),
        Type::Section => node.get(section::PROJECT),
        Type::StatusUpdate => node.get(status_update::PARENT),
        Type::CustomFieldSetting => node.get(custom_field_setting::PARENT),
        Type::TimeTrackingEntry
        | Type::ProjectBrief
        | Type::Allocation
        | Type::RuleTrigger
        | Type::Rate
        | Type::Budget
        | Type::AccessRequest => resource(node.ty).container.and_then(|key| node.link(key)),
        _ => return Ok(None),
    };
    Ok(Some(link))
}

/// Returns the level that a viewer needs on the container of a node of this type to see the node; `None` for types that have
/// their own privacy or belong to a user or the whole workspace, so that no container says who sees them.
#[must_use]
pub const fn level_on_container(ty: Type) -> Option<Level> {
    match ty {
        Type::TeamMembership
        | Type::ProjectMembership
        | Type::PortfolioMembership
        | Type::GoalMembership
        | Type::CustomFieldMembership
        | Type::Section
        | Type::Task
        | Type::TaskTemplate
        | Type::TemplateTask
        | Type::Story
        | Type::Attachment
        | Type::StatusUpdate
        | Type::EnumOption
        | Type::CustomFieldSetting
        | Type::CustomTypeStatusOption
        | Type::ProjectPortfolioSetting
        | Type::TimeTrackingEntry
        | Type::ProjectBrief
        | Type::Allocation
        | Type::RuleTrigger => Some(Level::Viewer),
        // Only the admins of a project see what its users' time costs, and only they decide about requests for access.
        Type::Rate | Type::Budget | Type::AccessRequest => Some(Level::Admin),
        Type::Workspace
        | Type::WorkspaceMembership
        | Type::User
        | Type::Team
        | Type::Project
        | Type::Portfolio
        | Type::Goal
        | Type::GoalRelationship
        | Type::Tag
        | Type::CustomField
        | Type::CustomType
        | Type::ProjectTemplate
        | Type::UserTaskList
        | Type::Role
        | Type::OooEntry
        | Type::TimesheetApprovalStatus
        | Type::TimeTrackingCategory
        | Type::TimePeriod
        | Type::Job
        | Type::GraphExport
        | Type::ResourceExport
        | Type::OrganizationExport
        | Type::ProjectTotals
        | Type::ProjectStatus
        | Type::Webhook
        | Type::Event
        | Type::Reaction
        | Type::Agent => None,
    }
}
