//! Memberships: creation of users, workspaces, teams, projects and sections, and joining and
//! leaving them.
use super::membership_roles::MembershipRole;
use super::sharing::PROJECTS;
use crate::access::{Level, Role};
use crate::model::email_address::EmailAddress;
use crate::model::gid::Gid;
use crate::model::registry::{Type, rel};
use crate::model::resources::{
    membership, project, section, team, user, user_task_list, workspace,
};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ChangeAction, ListPosition, alias};

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
    who: Gid,
    place: Gid,
    place_name: &str,
    role: Role,
) -> Gid {
    let mut list = work.draft(Type::UserTaskList, Some(place));
    list.set(
        user_task_list::NAME,
        format!("My Tasks in {place_name}").as_str(),
    );
    list.set(user_task_list::OWNER, who);
    let list = work.create(&list, None);
    work.changes
        .add_aliases
        .push((alias::task_list(who, place), list));
    add_section(work, list, place, "Recently assigned", ListPosition::Last);
    rejoin_workspace(work, who, place, list, MembershipRole::of(role))
}

/// Makes a user a member with a task list that exists already, as for users who come back.
pub fn rejoin_workspace(
    work: &mut ChangeBuilder<'_>,
    who: Gid,
    place: Gid,
    list: Gid,
    standing: MembershipRole,
) -> Gid {
    let mut seat = work.draft(Type::WorkspaceMembership, Some(place));
    seat.set(membership::USER, who);
    seat.set(membership::TASK_LIST, list);
    seat.set(membership::IS_ADMIN, standing.role == Role::Admin);
    seat.set(membership::IS_GUEST, standing.role == Role::Guest);
    if standing.view_only {
        seat.set(membership::IS_VIEW_ONLY, true);
    }
    seat.set(membership::CREATED_AT, work.now);
    let seat = work.create(&seat, Some(place));
    work.require_unlinked(who, rel::WORKSPACES, place);
    work.link(
        who,
        rel::WORKSPACES,
        place,
        ListPosition::Rank(0),
        Some(seat),
    );
    work.unlink(who, rel::FORMER, place);
    seat
}

/// Ends a user's membership of a workspace, and stores its role for the case that they come back.
pub fn leave_workspace(
    work: &mut ChangeBuilder<'_>,
    who: Gid,
    place: Gid,
    seat: Option<Gid>,
    standing: MembershipRole,
) {
    work.unlink(who, rel::WORKSPACES, place);
    if let Some(seat) = seat {
        work.trash(seat, Type::WorkspaceMembership);
    }
    let rank = ListPosition::Rank(standing.rank());
    work.link(who, rel::FORMER, place, rank, seat);
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
    let home = draft.workspace;
    let gid = work.create(&draft, home);
    if let (Some(admin), Some(home)) = (admin, home) {
        join_team(work, admin, gid, home, true);
    }
    gid
}

/// Makes a user a member of a team.
pub fn join_team(
    work: &mut ChangeBuilder<'_>,
    who: Gid,
    place: Gid,
    home: Gid,
    admin: bool,
) -> Gid {
    let mut draft = work.draft(Type::TeamMembership, Some(home));
    draft.set(membership::USER, who);
    draft.set(membership::TEAM, place);
    draft.set(membership::TEAM_IS_ADMIN, admin);
    let gid = work.create(&draft, Some(place));
    work.require_unlinked(place, rel::TEAM_MEMBERS, who);
    work.link(
        place,
        rel::TEAM_MEMBERS,
        who,
        ListPosition::Rank(i64::from(admin)),
        Some(gid),
    );
    work.add_change_record(
        who,
        Type::User,
        ChangeAction::Added {
            parent: Some(place),
        },
    );
    gid
}

/// Shares a project with a user or team.
pub fn join_project(
    work: &mut ChangeBuilder<'_>,
    who: Gid,
    place: Gid,
    home: Gid,
    level: Level,
) -> Gid {
    PROJECTS.join(work, who, place, home, level)
}

/// Creates a project with its first section; the creator is its owner unless the draft names another.
pub fn create_project(
    work: &mut ChangeBuilder<'_>,
    draft: crate::model::draft::Draft,
    creator: Gid,
) -> Gid {
    let home = draft.workspace;
    let gid = create_empty_project(work, draft, creator);
    if let Some(home) = home {
        add_section(work, gid, home, "Untitled section", ListPosition::Last);
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
    let home = draft.workspace;
    let gid = work.create(&draft, home);
    if let Some(home) = home {
        join_project(work, creator, gid, home, Level::Admin);
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
    home: Gid,
    name: &str,
    place: ListPosition,
) -> Gid {
    let mut draft = work.draft(Type::Section, Some(home));
    draft.set(section::NAME, name);
    draft.set(section::CREATED_AT, work.now);
    draft.set(section::PROJECT, container);
    let gid = work.create(&draft, Some(container));
    work.link(gid, rel::SECTION_OF, container, place, None);
    gid
}
