//! Access rules: one pure function over viewer, node and the edges around the node.
mod access_lookup;
mod follower;
pub mod gate;
mod inherited;
mod level;
mod part_of;
mod privacy;
mod viewer;

pub use access_lookup::AccessLookup;
pub use follower::{follower_level, follower_rank};
pub use level::Level;
pub use part_of::level_on_container;
pub use viewer::{Role, UsersKnownToGuest, Viewer, WorkspaceMembership};

use self::part_of::part_of;
use self::privacy::{by_visibility, in_portfolio, in_project};
use crate::graph_store_error::GraphStoreError;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::{
    access_request, custom_field, custom_field_setting, custom_type, enum_option, goal,
    goal_relationship, job, membership, ooo_entry, portfolio, project_template, reaction, resource,
    section, status_update, task, task_template, time_tracking, timesheet, user_task_list,
};

/// Maximum length of a chain of parents that is followed; subtasks are nested at most five levels deep.
const MAX_DEPTH: u8 = 8;

/// Returns the viewer's level of access to the node.
///
/// # Errors
/// Returns an error if the nodes and edges can't be read.
pub fn access_level(
    viewer: &Viewer,
    node: &Node,
    facts: &mut dyn AccessLookup,
) -> Result<Level, GraphStoreError> {
    at_depth(viewer, node, facts, 0)
}

fn at_depth(
    viewer: &Viewer,
    node: &Node,
    facts: &mut dyn AccessLookup,
    depth: u8,
) -> Result<Level, GraphStoreError> {
    if depth > MAX_DEPTH {
        return Ok(Level::None);
    }
    let workspace = if node.ty == Type::Workspace {
        Some(node.gid)
    } else {
        node.workspace
    };
    if matches!(
        node.ty,
        Type::Job | Type::GraphExport | Type::ResourceExport
    ) {
        // Not even a service account reads the job of another user.
        let own = node.get(job::CREATED_BY) == Some(viewer.user);
        return Ok(if own { Level::Viewer } else { Level::None });
    }
    if viewer.service_workspace.is_some() && viewer.service_workspace == workspace {
        // What is part of a deleted object is gone for a service account, too.
        return match part_of(node, facts)? {
            Some(whole) => of_link(viewer, whole, facts, depth),
            None => Ok(Level::Admin),
        };
    }
    if node.ty == Type::User {
        return user(viewer, node, facts);
    }
    if node.ty == Type::Role && workspace.is_none() {
        // The admins of any workspace see the standard roles.
        let admin = viewer.workspaces().iter().any(|w| viewer.is_admin(*w));
        return Ok(if admin { Level::Viewer } else { Level::None });
    }
    if node.ty == Type::Reaction {
        return of_link(viewer, node.get(reaction::USER), facts, depth);
    }
    if node.ty == Type::TimePeriod {
        return Ok(Level::Viewer);
    }
    let Some(seat) = workspace.and_then(|w| viewer.membership(w)) else {
        return Ok(Level::None);
    };
    let full = seat.role >= Role::Member;
    let by_role = |member: Level| match seat.role {
        Role::Admin => Level::Admin,
        Role::Member => member,
        Role::Guest => Level::None,
    };
    let found = match node.ty {
        Type::Workspace => by_role(Level::Editor).max(Level::Viewer),
        // Guests see the tags of the tasks that they see, but only in those tasks; in lists of tags they see the tags that
        // they follow.
        Type::Tag if full => by_role(Level::Editor),
        Type::Tag if facts.is_linked(node.gid, rel::TAG_FOLLOWERS, viewer.user)? => Level::Viewer,
        Type::Tag => Level::None,
        Type::Team => by_visibility(viewer, node, full),
        Type::WorkspaceMembership => {
            let own = if node.get(membership::USER) == Some(viewer.user) {
                Level::Viewer
            } else {
                Level::None
            };
            by_role(Level::Viewer).max(own)
        }
        Type::TeamMembership => {
            let own = if node.get(membership::USER) == Some(viewer.user) {
                Level::Viewer
            } else {
                Level::None
            };
            of_link(viewer, node.get(membership::TEAM), facts, depth)?.max(own)
        }
        Type::ProjectMembership
        | Type::PortfolioMembership
        | Type::GoalMembership
        | Type::CustomFieldMembership => {
            of_link(viewer, node.get(membership::PARENT), facts, depth)?
        }
        Type::Project => in_project(viewer, node, full, facts)?,
        Type::Section => in_container(viewer, node.get(section::PROJECT), facts, depth)?,
        Type::UserTaskList if node.get(user_task_list::OWNER) == Some(viewer.user) => Level::Admin,
        Type::UserTaskList => by_role(Level::Viewer).min(Level::Viewer),
        Type::Task | Type::TemplateTask => of_task(viewer, node, facts, depth)?,
        Type::Story => match facts.lookup_edges(node.gid, rel::STORY_OF)?.first() {
            Some(edge) => of_link(viewer, Some(edge.dst), facts, depth)?,
            None => Level::None,
        },
        Type::Portfolio => in_portfolio(viewer, node, full),
        Type::Goal => in_goal(viewer, node, full, facts, depth)?,
        Type::ProjectPortfolioSetting => {
            let project = node.get(portfolio::SETTING_PROJECT);
            let on_project = of_link(viewer, project, facts, depth)?;
            if on_project == Level::Admin && node.get(portfolio::IS_INHERITED) {
                // Project admins see each setting that lets the members of a portfolio into the project, and may remove it.
                on_project
            } else {
                let portfolio = node.get(portfolio::SETTING_PORTFOLIO);
                on_project.min(of_link(viewer, portfolio, facts, depth)?)
            }
        }
        Type::GoalRelationship => in_relationship(viewer, node, facts, depth)?,
        Type::StatusUpdate => of_link(viewer, node.get(status_update::PARENT), facts, depth)?,
        Type::Attachment => match facts.lookup_edges(node.gid, rel::ATTACHED_TO)?.first() {
            Some(edge) => of_link(viewer, Some(edge.dst), facts, depth)?,
            None => Level::None,
        },
        Type::CustomField => of_custom_field(viewer, node, seat.role, facts)?,
        Type::EnumOption => of_link(viewer, node.get(enum_option::CUSTOM_FIELD), facts, depth)?,
        Type::CustomFieldSetting => {
            in_container(viewer, node.get(custom_field_setting::PARENT), facts, depth)?
        }
        Type::ProjectTemplate => of_template(viewer, node, full, facts)?,
        Type::Role => by_role(Level::None),
        Type::TimeTrackingCategory | Type::Agent => by_role(Level::Viewer),
        Type::TimeTrackingEntry => {
            let found = of_container(viewer, node, facts, depth)?;
            of_author(
                viewer,
                node.get(time_tracking::CREATED_BY),
                seat.role,
                found,
            )
        }
        Type::ProjectBrief | Type::Allocation | Type::RuleTrigger => {
            of_container(viewer, node, facts, depth)?
        }
        // Only the admins of a project see what its users' time costs.
        Type::Rate | Type::Budget => match of_container(viewer, node, facts, depth)? {
            Level::Admin => Level::Admin,
            _ => Level::None,
        },
        // The admins of the target decide; the requester sees the decision.
        Type::AccessRequest => {
            let own = node.get(access_request::REQUESTER) == Some(viewer.user);
            match of_container(viewer, node, facts, depth)? {
                Level::Admin => Level::Admin,
                _ if own => Level::Viewer,
                _ => Level::None,
            }
        }
        Type::OooEntry if node.get(ooo_entry::USER) == Some(viewer.user) => {
            by_role(Level::Editor).max(Level::Editor)
        }
        Type::OooEntry => by_role(Level::Viewer),
        Type::TimesheetApprovalStatus if node.get(timesheet::USER) == Some(viewer.user) => {
            by_role(Level::Editor).max(Level::Editor)
        }
        Type::TimesheetApprovalStatus => by_role(Level::None),
        Type::CustomType => {
            let mut best = by_role(Level::None).min(Level::Viewer);
            for edge in facts.lookup_edges(node.gid, rel::CUSTOM_TYPE_ON)? {
                let found = of_link(viewer, Some(edge.dst), facts, depth)?;
                best = best.max(found.min(Level::Viewer));
            }
            best
        }
        Type::CustomTypeStatusOption => {
            of_link(viewer, node.get(custom_type::OPTION_OF), facts, depth)?
        }
        Type::TaskTemplate => of_link(viewer, node.get(task_template::PROJECT), facts, depth)?,
        // Only the organization's service account sees its exports. Nodes of the last types are never stored.
        Type::User
        | Type::ProjectTotals
        | Type::TimePeriod
        | Type::Job
        | Type::GraphExport
        | Type::ResourceExport
        | Type::OrganizationExport
        | Type::Webhook
        | Type::Event
        | Type::ProjectStatus
        | Type::Reaction => Level::None,
    };
    Ok(if seat.view_only {
        found.min(Level::Viewer)
    } else {
        found
    })
}

/// Returns the level on a user. Users see themselves and everyone in a workspace that they share; as guests, they see only
/// users in a project or team that they share.
fn user(
    viewer: &Viewer,
    node: &Node,
    facts: &mut dyn AccessLookup,
) -> Result<Level, GraphStoreError> {
    if node.gid == viewer.user {
        return Ok(Level::Admin);
    }
    // A user who left is still visible in their former workspaces: objects that they created or owned still name them.
    let mut seats = facts.lookup_edges(node.gid, rel::WORKSPACES)?;
    if !seats.iter().any(|seat| viewer.is_member(seat.dst)) {
        seats.extend(facts.lookup_edges(node.gid, rel::FORMER)?);
    }
    if seats.iter().any(|seat| viewer.is_member(seat.dst)) {
        return Ok(Level::Viewer);
    }
    for seat in seats {
        // A guest may know a user in one workspace, but not in another.
        let known = viewer.known_users.get(&seat.dst);
        if let Some(known) = known.filter(|_| viewer.membership(seat.dst).is_some())
            && known.include(node.gid, facts)?
        {
            return Ok(Level::Viewer);
        }
    }
    Ok(Level::None)
}

/// Returns the level on the node that a link leads to.
fn of_link(
    viewer: &Viewer,
    gid: Option<Gid>,
    facts: &mut dyn AccessLookup,
    depth: u8,
) -> Result<Level, GraphStoreError> {
    match gid.map(|g| facts.lookup_node(g)).transpose()?.flatten() {
        Some(node) => at_depth(viewer, &node, facts, depth + 1),
        None => Ok(Level::None),
    }
}

/// Returns the level on the node that contains this one.
fn of_container(
    viewer: &Viewer,
    node: &Node,
    facts: &mut dyn AccessLookup,
    depth: u8,
) -> Result<Level, GraphStoreError> {
    let container = resource(node.ty).container;
    let container = container.and_then(|key| node.link(key));
    of_link(viewer, container, facts, depth)
}

/// Returns the level on a record that only its author and admins change, from the level on its container.
fn of_author(viewer: &Viewer, author: Option<Gid>, role: Role, found: Level) -> Level {
    match found {
        Level::None | Level::Admin => found,
        _ if author == Some(viewer.user) || role == Role::Admin => found.max(Level::Editor),
        _ => Level::Viewer,
    }
}

/// Returns the highest level on a goal that ownership, a membership or the privacy setting gives. A public goal of a team is
/// open to everyone who sees the team, and the team's members edit it. Any other public goal is open to the full members of
/// the workspace. Everyone to whom a public goal is open may comment.
fn in_goal(
    viewer: &Viewer,
    node: &Node,
    full: bool,
    facts: &mut dyn AccessLookup,
    depth: u8,
) -> Result<Level, GraphStoreError> {
    if node.get(goal::OWNER) == Some(viewer.user) {
        return Ok(Level::Admin);
    }
    let shared = viewer.shared_levels.get(&node.gid).copied();
    let shared = shared.unwrap_or_default();
    if node.get(goal::PRIVACY).as_deref() != Some(goal::PUBLIC) {
        return Ok(shared);
    }
    let open = match node.get(goal::TEAM) {
        Some(team) => match of_link(viewer, Some(team), facts, depth)? {
            Level::None => Level::None,
            level => level.clamp(Level::Commenter, Level::Editor),
        },
        None if full => Level::Commenter,
        None => Level::None,
    };
    Ok(shared.max(open))
}

/// Returns the level on a relationship: the level on the goal, for viewers who see the supporter.
fn in_relationship(
    viewer: &Viewer,
    node: &Node,
    facts: &mut dyn AccessLookup,
    depth: u8,
) -> Result<Level, GraphStoreError> {
    let supporter = node.get(goal_relationship::SUPPORTING_RESOURCE);
    match of_link(viewer, supporter, facts, depth)? {
        Level::None => Ok(Level::None),
        _ => {
            let goal = node.get(goal_relationship::SUPPORTED_GOAL);
            of_link(viewer, goal, facts, depth)
        }
    }
}

/// Returns the level on a custom field. Its creator and the admins own it; others have the level of its settings. Memberships of
/// teams and users raise that level. The user's own membership also lowers it; a team's does not, since a user can leave the
/// team. Guests can never do more than set values.
fn of_custom_field(
    viewer: &Viewer,
    node: &Node,
    role: Role,
    facts: &mut dyn AccessLookup,
) -> Result<Level, GraphStoreError> {
    if role == Role::Admin || node.get(custom_field::CREATED_BY) == Some(viewer.user) {
        return Ok(Level::Admin);
    }
    let open = match (node.get(custom_field::PRIVACY).as_deref(), role) {
        (Some("private"), _) => Level::None,
        (Some("public"), Role::Guest) => Level::None,
        (_, Role::Guest) => Level::Viewer,
        _ => match node.get(custom_field::DEFAULT_ACCESS).as_deref() {
            Some("user") => Level::Viewer,
            Some("admin") => Level::Admin,
            _ => Level::Editor,
        },
    };
    let found = match viewer.shared_levels.get(&node.gid) {
        Some(given) if *given > open => *given,
        Some(given) if facts.is_linked(node.gid, rel::MEMBERS, viewer.user)? => *given,
        _ => open,
    };
    Ok(if role == Role::Guest {
        found.min(Level::Viewer)
    } else {
        found
    })
}

/// Returns the level on a template: its owner has all access, its team edits it, and the workspace sees it if it is public.
fn of_template(
    viewer: &Viewer,
    node: &Node,
    full: bool,
    facts: &mut dyn AccessLookup,
) -> Result<Level, GraphStoreError> {
    if node.get(project_template::OWNER) == Some(viewer.user) {
        return Ok(Level::Admin);
    }
    let teams = facts.lookup_edges(node.gid, rel::TEMPLATE_TEAM)?;
    if teams.iter().any(|e| viewer.teams.contains_key(&e.dst)) {
        return Ok(Level::Editor);
    }
    Ok(if full && node.get(project_template::PUBLIC) {
        Level::Viewer
    } else {
        Level::None
    })
}

/// Returns the level on a part of a project or task list: the level on the project; only the owner has access to a task list.
fn in_container(
    viewer: &Viewer,
    container: Option<Gid>,
    facts: &mut dyn AccessLookup,
    depth: u8,
) -> Result<Level, GraphStoreError> {
    let Some(container_node) = container
        .map(|g| facts.lookup_node(g))
        .transpose()?
        .flatten()
    else {
        return Ok(Level::None);
    };
    // The level does not show the owner: with a view-only seat, the owner has the same level as other users.
    let own = container_node.get(user_task_list::OWNER) == Some(viewer.user);
    if container_node.ty == Type::UserTaskList && !own {
        return Ok(Level::None);
    }
    at_depth(viewer, &container_node, facts, depth + 1)
}

/// Returns the level on a task. It is open to its creator and assignee, to everyone with access to one of its projects or its
/// parent, and to followers whom somebody added. Followers edit it only if no project or parent gives them less.
fn of_task(
    viewer: &Viewer,
    node: &Node,
    facts: &mut dyn AccessLookup,
    depth: u8,
) -> Result<Level, GraphStoreError> {
    let me = Some(viewer.user);
    let mut best = Level::None;
    // The creator comes early in every body, the assignee late or not at all.
    if node.get(task::CREATED_BY) == me || node.get(task::ASSIGNEE) == me {
        return Ok(Level::Editor);
    }
    for edge in facts.lookup_edges(node.gid, rel::SECTION)? {
        best = best.max(of_link(viewer, edge.aux, facts, depth)?);
    }
    if best < Level::Editor
        && let Some(parent) = facts.lookup_edges(node.gid, rel::PARENT)?.first()
    {
        best = best.max(of_link(viewer, Some(parent.dst), facts, depth)?);
    }
    if best < Level::Editor
        && let Some(edge) = facts.lookup_edge(node.gid, rel::FOLLOWERS, viewer.user)?
    {
        let given = follower_level(edge.rank);
        // A follower may comment on a task that a project only shows them, but may not edit it.
        best = match best {
            Level::None => given,
            left => left.max(given.min(Level::Commenter)),
        };
    }
    Ok(best)
}
