//! How users, workspaces, teams and projects come to belong together.
use super::roles::Standing;
use super::sharing::PROJECTS;
use crate::access::{Level, Role};
use crate::address::EmailAddress;
use crate::gid::Gid;
use crate::graph::{Action, Place, alias};
use crate::registry::{Type, rel};
use crate::resources::{membership, project, section, team, user, user_task_list, workspace};
use crate::work::Work;

/// A new workspace. Organizations have teams.
pub fn found_workspace(work: &mut Work<'_>, name: &str, paid: bool, organization: bool) -> Gid {
    let mut draft = work.draft(Type::Workspace, None);
    draft.set(workspace::NAME, name);
    draft.set(workspace::IS_ORGANIZATION, organization);
    draft.set(workspace::PLAN, if paid { "paid" } else { "free" });
    work.create(&draft, None)
}

/// A new user; the address must not be another's.
pub fn create_user(work: &mut Work<'_>, name: &str, email: &EmailAddress) -> Gid {
    let mut draft = work.draft(Type::User, None);
    draft.set(user::NAME, name);
    draft.set(user::EMAIL, email.as_str());
    let gid = work.create(&draft, None);
    work.changes
        .aliases
        .push((alias::email(email.as_str()), gid));
    gid
}

/// Gives a user a seat in a workspace: the membership, and a task list with its first section.
pub fn join_workspace(
    work: &mut Work<'_>,
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
        .aliases
        .push((alias::task_list(who, place), list));
    add_section(work, list, place, "Recently assigned", Place::Last);
    rejoin_workspace(work, who, place, list, Standing::of(role))
}

/// Gives a user a seat with a task list that is there already, as it is for who comes back.
pub fn rejoin_workspace(
    work: &mut Work<'_>,
    who: Gid,
    place: Gid,
    list: Gid,
    standing: Standing,
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
    work.needs_unlinked(who, rel::WORKSPACES, place);
    work.link(who, rel::WORKSPACES, place, Place::Rank(0), Some(seat));
    work.unlink(who, rel::FORMER, place);
    seat
}

/// Ends a user's seat in a workspace, and keeps the standing it gave for when they come back.
pub fn leave_workspace(
    work: &mut Work<'_>,
    who: Gid,
    place: Gid,
    seat: Option<Gid>,
    standing: Standing,
) {
    work.unlink(who, rel::WORKSPACES, place);
    if let Some(seat) = seat {
        work.trash(seat, Type::WorkspaceMembership);
    }
    let rank = Place::Rank(standing.rank());
    work.link(who, rel::FORMER, place, rank, seat);
}

/// A new team of an organization, with its first admin.
pub fn found_team(work: &mut Work<'_>, mut draft: crate::draft::Draft, admin: Option<Gid>) -> Gid {
    if draft.get(team::NAME).is_none_or(|n| n.is_empty()) {
        draft.set(team::NAME, "New team");
    }
    let home = draft.home;
    let gid = work.create(&draft, home);
    if let (Some(admin), Some(home)) = (admin, home) {
        join_team(work, admin, gid, home, true);
    }
    gid
}

/// Puts a user into a team.
pub fn join_team(work: &mut Work<'_>, who: Gid, place: Gid, home: Gid, admin: bool) -> Gid {
    let mut draft = work.draft(Type::TeamMembership, Some(home));
    draft.set(membership::USER, who);
    draft.set(membership::TEAM, place);
    draft.set(membership::TEAM_IS_ADMIN, admin);
    let gid = work.create(&draft, Some(place));
    work.needs_unlinked(place, rel::TEAM_MEMBERS, who);
    work.link(
        place,
        rel::TEAM_MEMBERS,
        who,
        Place::Rank(i64::from(admin)),
        Some(gid),
    );
    work.fact(
        who,
        Type::User,
        Action::Added {
            parent: Some(place),
        },
    );
    gid
}

/// Shares a project with a user or team.
pub fn join_project(work: &mut Work<'_>, who: Gid, place: Gid, home: Gid, level: Level) -> Gid {
    PROJECTS.join(work, who, place, home, level)
}

/// A new project with its first section; the creator is its owner unless the draft names another.
pub fn found_project(work: &mut Work<'_>, draft: crate::draft::Draft, creator: Gid) -> Gid {
    let home = draft.home;
    let gid = found_bare_project(work, draft, creator);
    if let Some(home) = home {
        add_section(work, gid, home, "Untitled section", Place::Last);
    }
    gid
}

/// A new project without a section yet.
pub fn found_bare_project(
    work: &mut Work<'_>,
    mut draft: crate::draft::Draft,
    creator: Gid,
) -> Gid {
    draft.set(project::CREATED_AT, work.now);
    draft.set(project::MODIFIED_AT, work.now);
    draft.set(project::CREATED_BY, creator);
    let home = draft.home;
    let gid = work.create(&draft, home);
    if let Some(home) = home {
        join_project(work, creator, gid, home, Level::Admin);
    }
    work.link(gid, rel::PROJECT_FOLLOWERS, creator, Place::Rank(0), None);
    gid
}

/// A new section of a project or task list.
pub fn add_section(
    work: &mut Work<'_>,
    container: Gid,
    home: Gid,
    name: &str,
    place: Place,
) -> Gid {
    let mut draft = work.draft(Type::Section, Some(home));
    draft.set(section::NAME, name);
    draft.set(section::CREATED_AT, work.now);
    draft.set(section::PROJECT, container);
    let gid = work.create(&draft, Some(container));
    work.link(gid, rel::SECTION_OF, container, place, None);
    gid
}
