//! Memberships: creation of users, workspaces, teams, projects and sections, and joining and
//! leaving them.
use super::membership_roles::MembershipRole;
use super::sharing::PROJECTS;
use super::vacation_rules;
use crate::access::{Level, Role};
use crate::model::email_address::EmailAddress;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Type, rel};
use crate::model::resources::{
    membership, project, section, team, user, user_task_list, workspace,
};
use crate::model::time::Time;
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ChangeAction, Changes, ListPosition, alias};

/// Returns the changes that create a paid organization with its first members, and the gids of the organization and the
/// members. Each member is a name, an e-mail address that no other user of the store has, and a role. `mint` returns new
/// gids.
#[must_use]
pub fn first_workspace(
    name: &str,
    members: &[(&str, &EmailAddress, Role)],
    now: Time,
    mint: &dyn Fn() -> Gid,
) -> (Changes, Gid, Vec<Gid>) {
    let mut work = ChangeBuilder::new(None, now, mint);
    let workspace = create_workspace(&mut work, name, true, true);
    let mut users = Vec::with_capacity(members.len());
    for (member, email, role) in members {
        let user = create_user(&mut work, member, email);
        join_workspace(&mut work, user, workspace, name, *role);
        users.push(user);
    }
    (work.changes, workspace, users)
}

/// Creates a workspace. Organizations have teams.
pub fn create_workspace(
    work: &mut ChangeBuilder<'_>,
    name: &str,
    paid: bool,
    organization: bool,
) -> Gid {
    let mut draft = work.draft(Type::Workspace, None);
    draft.set(workspace::NAME, name);
    draft.set(workspace::IS_ORGANIZATION, organization);
    draft.set(workspace::PLAN, if paid { "paid" } else { "free" });
    work.create(&draft, None)
}

/// Creates a user; no other user may have the address.
pub fn create_user(work: &mut ChangeBuilder<'_>, name: &str, email: &EmailAddress) -> Gid {
    let mut draft = work.draft(Type::User, None);
    draft.set(user::NAME, name);
    draft.set(user::EMAIL, email.as_str());
    let gid = work.create(&draft, None);
    work.changes
        .add_aliases
        .push((alias::email(email.as_str()), gid));
    gid
}

/// Makes a user a member of a workspace: creates the membership, and a task list with its first
/// section.
pub fn join_workspace(
    work: &mut ChangeBuilder<'_>,
    user: Gid,
    workspace: Gid,
    workspace_name: &str,
    role: Role,
) -> Gid {
    let mut list = work.draft(Type::UserTaskList, Some(workspace));
    list.set(
        user_task_list::NAME,
        format!("My Tasks in {workspace_name}").as_str(),
    );
    list.set(user_task_list::OWNER, user);
    let list = work.create(&list, None);
    work.changes
        .add_aliases
        .push((alias::task_list(user, workspace), list));
    add_section(
        work,
        list,
        workspace,
        "Recently assigned",
        ListPosition::Last,
    );
    let role = MembershipRole::of(role);
    rejoin_workspace(work, user, workspace, list, role, &[])
}

/// Makes a user a member with an existing task list, as for users who return. The membership also gets their out-of-office
/// `entries` in the workspace, which were part of an earlier membership.
pub fn rejoin_workspace(
    work: &mut ChangeBuilder<'_>,
    user: Gid,
    workspace: Gid,
    list: Gid,
    role: MembershipRole,
    entries: &[&Node],
) -> Gid {
    let mut draft = work.draft(Type::WorkspaceMembership, Some(workspace));
    draft.set(membership::USER, user);
    draft.set(membership::TASK_LIST, list);
    draft.set(membership::IS_ADMIN, role.role == Role::Admin);
    draft.set(membership::IS_GUEST, role.role == Role::Guest);
    if role.view_only {
        draft.set(membership::IS_VIEW_ONLY, true);
    }
    draft.set(membership::CREATED_AT, work.now);
    vacation_rules::take_entries(work, &mut draft, entries);
    let gid = work.create(&draft, Some(workspace));
    work.require_unlinked(user, rel::WORKSPACES, workspace);
    work.link(
        user,
        rel::WORKSPACES,
        workspace,
        ListPosition::Rank(0),
        Some(gid),
    );
    work.unlink(user, rel::FORMER, workspace);
    gid
}

/// Ends a user's membership of a workspace, and stores the role in case the user returns.
pub fn leave_workspace(
    work: &mut ChangeBuilder<'_>,
    user: Gid,
    workspace: Gid,
    membership_gid: Option<Gid>,
    role: MembershipRole,
) {
    work.unlink(user, rel::WORKSPACES, workspace);
    if let Some(membership_gid) = membership_gid {
        work.trash(membership_gid, Type::WorkspaceMembership);
    }
    let rank = ListPosition::Rank(role.rank());
    work.link(user, rel::FORMER, workspace, rank, membership_gid);
}

/// Creates a team of an organization, with its first admin.
pub fn create_team(
    work: &mut ChangeBuilder<'_>,
    mut draft: crate::model::draft::Draft,
    admin: Option<Gid>,
) -> Gid {
    if draft.get(team::NAME).is_none_or(|n| n.is_empty()) {
        draft.set(team::NAME, "New team");
    }
    let workspace = draft.workspace;
    let gid = work.create(&draft, workspace);
    if let (Some(admin), Some(workspace)) = (admin, workspace) {
        join_team(work, admin, gid, workspace, TeamStanding::ADMIN);
    }
    gid
}

/// Role of a user in a team: admin, member or guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TeamStanding {
    /// True if the user administers the team.
    pub is_admin: bool,
    /// True if the user is a guest of the organization.
    pub is_guest: bool,
}

impl TeamStanding {
    /// Admin of the team.
    pub const ADMIN: Self = Self {
        is_admin: true,
        is_guest: false,
    };
    /// Member who is neither an admin nor a guest.
    pub const MEMBER: Self = Self {
        is_admin: false,
        is_guest: false,
    };
}

/// Makes a user a member of a team.
pub fn join_team(
    work: &mut ChangeBuilder<'_>,
    user: Gid,
    team: Gid,
    workspace: Gid,
    standing: TeamStanding,
) -> Gid {
    let mut draft = work.draft(Type::TeamMembership, Some(workspace));
    draft.set(membership::USER, user);
    draft.set(membership::TEAM, team);
    draft.set(membership::TEAM_IS_ADMIN, standing.is_admin);
    draft.set(membership::TEAM_IS_GUEST, standing.is_guest);
    let gid = work.create(&draft, Some(team));
    work.require_unlinked(team, rel::TEAM_MEMBERS, user);
    work.link(
        team,
        rel::TEAM_MEMBERS,
        user,
        ListPosition::Rank(i64::from(standing.is_admin)),
        Some(gid),
    );
    work.add_change_record(user, Type::User, ChangeAction::Added { parent: Some(team) });
    gid
}

/// Ends the membership of a user in a team.
pub fn leave_team(work: &mut ChangeBuilder<'_>, user: Gid, team: Gid, membership: Option<Gid>) {
    work.unlink(team, rel::TEAM_MEMBERS, user);
    if let Some(membership) = membership {
        work.trash(membership, Type::TeamMembership);
    }
    work.add_change_record(user, Type::User, ChangeAction::Removed { parent: team });
}

/// Shares a project with a user or team.
pub fn join_project(
    work: &mut ChangeBuilder<'_>,
    member: Gid,
    project: Gid,
    workspace: Gid,
    level: Level,
) -> Gid {
    PROJECTS.join(work, member, project, workspace, level)
}

/// Creates a project with its first section; the creator is its owner unless the draft names another.
pub fn create_project(
    work: &mut ChangeBuilder<'_>,
    draft: crate::model::draft::Draft,
    creator: Gid,
) -> Gid {
    let workspace = draft.workspace;
    let gid = create_empty_project(work, draft, creator);
    if let Some(workspace) = workspace {
        add_section(work, gid, workspace, "Untitled section", ListPosition::Last);
    }
    gid
}

/// Creates a project without a section.
pub fn create_empty_project(
    work: &mut ChangeBuilder<'_>,
    mut draft: crate::model::draft::Draft,
    creator: Gid,
) -> Gid {
    draft.set(project::CREATED_AT, work.now);
    draft.set(project::MODIFIED_AT, work.now);
    draft.set(project::CREATED_BY, creator);
    let workspace = draft.workspace;
    let gid = work.create(&draft, workspace);
    if let Some(workspace) = workspace {
        join_project(work, creator, gid, workspace, Level::Admin);
    }
    work.link(
        gid,
        rel::PROJECT_FOLLOWERS,
        creator,
        ListPosition::Rank(0),
        None,
    );
    gid
}

/// Adds a section to a project or task list.
pub fn add_section(
    work: &mut ChangeBuilder<'_>,
    container: Gid,
    workspace: Gid,
    name: &str,
    position: ListPosition,
) -> Gid {
    let mut draft = work.draft(Type::Section, Some(workspace));
    draft.set(section::NAME, name);
    draft.set(section::CREATED_AT, work.now);
    draft.set(section::PROJECT, container);
    let gid = work.create(&draft, Some(container));
    work.link(gid, rel::SECTION_OF, container, position, None);
    gid
}
