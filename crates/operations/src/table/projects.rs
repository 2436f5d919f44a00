//! Projects: creating, changing, sharing and listing them.
mod deletion;
mod inputs;
mod places;

use self::inputs::{
    CreateProject, LISTED_WORKSPACE, ListProjects, OneProject, UpdateProject, WORKSPACE,
};
pub(super) use self::places::{is_organization, places_allowed, team_of};
use self::places::{require_content, team_takes};
use super::list_filters::ARCHIVED;
use super::named_users::{member_of, named_member};
use super::project_people::{
    Followers, Members, add_followers, add_members, follow, followers_needs, members_needs,
    remove_followers, remove_members,
};
use super::status_updates::{add_linked, draft_status, status_in_project};
use super::task_values;
use crate::access_gate;
use crate::method::Method;
use crate::operation::inputs::path::PathProject;
use crate::operation::rows::{action, computed_list, create, read, update};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListDefinition, ListRequest, Operation, get, list};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::project;
use workgraph_core::model::schedule::{
    Patch, ProjectDates, ProjectDatesPatch, apply_project_dates,
};
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::rules::sharing::PROJECTS as PROJECT_SHARING;
use workgraph_core::rules::{membership_rules, rich_texts, status_rules};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{
    EdgeEnd, ListPosition, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter,
};

/// Operations on projects: a part of [`TABLES`](super::TABLES).
pub static PROJECTS: &[Operation] = &[
    computed_list(
        "getProjects",
        "/projects",
        Type::Project,
        &Description::new(projects),
    )
    .scope("projects:read")
    .filtered_by(&[&ARCHIVED]),
    create(
        "createProject",
        "/projects",
        Type::Project,
        &Steps::new(create_needs, create_project),
    )
    .scope("projects:write"),
    get("getProject", "/projects/{project_gid}", Type::Project).scope("projects:read"),
    update(
        "updateProject",
        "/projects/{project_gid}",
        Type::Project,
        &Steps::new(needs, change),
    )
    .scope("projects:write"),
    action(
        "deleteProject",
        "/projects/{project_gid}",
        &Steps::new(deletion::needs, deletion::delete),
    )
    .with_method(Method::Delete)
    .scope("projects:delete"),
    action(
        "addFollowersForProject",
        "/projects/{project_gid}/addFollowers",
        &Steps::<Followers<PathProject>, _>::new(followers_needs, add_followers),
    )
    .responds_with(Type::Project),
    action(
        "removeFollowersForProject",
        "/projects/{project_gid}/removeFollowers",
        &Steps::<Followers<PathProject>, _>::new(followers_needs, remove_followers),
    )
    .responds_with(Type::Project),
    action(
        "addMembersForProject",
        "/projects/{project_gid}/addMembers",
        &Steps::<Members<false>, _>::new(members_needs, add_members),
    )
    .responds_with(Type::Project),
    action(
        "removeMembersForProject",
        "/projects/{project_gid}/removeMembers",
        &Steps::<Members<false>, _>::new(members_needs, remove_members),
    )
    .responds_with(Type::Project),
    read(
        "getTaskCountsForProject",
        "/projects/{project_gid}/task_counts",
        Type::Project,
        &Steps::new(counted_needs, counted),
    )
    .scope("projects:read")
    .counts(),
    list(
        "getProjectsForTask",
        "/tasks/{task_gid}/projects",
        Type::Project,
        OF_TASK,
    )
    .scope("projects:read"),
    list(
        "getProjectsForTeam",
        "/teams/{team_gid}/projects",
        Type::Project,
        OF_TEAM,
    )
    .scope("projects:read")
    .filtered_by(&[&ARCHIVED]),
    create(
        "createProjectForTeam",
        "/teams/{team_gid}/projects",
        Type::Project,
        &Steps::new(create_needs, create_project),
    )
    .scope("projects:write"),
    list(
        "getProjectsForWorkspace",
        "/workspaces/{workspace_gid}/projects",
        Type::Project,
        ListDefinition::InWorkspace(Type::Project),
    )
    .scope("projects:read")
    .filtered_by(&[&ARCHIVED]),
    create(
        "createProjectForWorkspace",
        "/workspaces/{workspace_gid}/projects",
        Type::Project,
        &Steps::new(create_needs, create_project),
    )
    .scope("projects:write"),
];

const OF_TASK: ListDefinition = ListDefinition::Edges {
    rel: rel::SECTION,
    dir: Direction::Out,
    give: EdgeEnd::Aux,
    open: false,
};
const OF_TEAM: ListDefinition = ListDefinition::Edges {
    rel: rel::TEAM,
    dir: Direction::In,
    give: EdgeEnd::OtherEnd,
    open: false,
};

fn projects(call: &RequestContext<'_>, input: &ListProjects) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    let ty = Type::Project;
    let (source, anchor) = match (&input.workspace, &input.team) {
        (_, Some(team)) => {
            let source = ListSource::Edges {
                anchor: want.add_ref(team.node),
                rel: rel::TEAM,
                dir: Direction::In,
                give: EdgeEnd::OtherEnd,
            };
            (source, team.input)
        }
        (Some(workspace), None) => {
            let anchor = want.add_ref(workspace.node);
            (ListSource::InWorkspace { anchor, ty }, workspace.input)
        }
        (None, None) => (ListSource::InViewerWorkspaces { ty }, &LISTED_WORKSPACE.def),
    };
    let mut listed = ListRequest {
        query: want,
        page: PageQuery::of(source, false, 0),
        computed: false,
        anchor: anchor.name,
        anchor_types: anchor.types(),
        referenced: Vec::new(),
    };
    if let (Some(workspace), Some(_)) = (&input.workspace, &input.team) {
        let filter = RowFilter::InWorkspace(workspace.node);
        listed.page.filters.push(filter);
        listed = listed.with_reference(workspace);
    }
    Ok(listed)
}

fn counted_needs(call: &RequestContext<'_>, input: &OneProject) -> Result<ReadQuery, DomainError> {
    Ok(call.read_query().node(input.project.node))
}

fn counted(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &OneProject,
) -> Result<Gid, DomainError> {
    call.named_node(view, &input.project, Level::Viewer)
        .map(|n| n.gid)
}

fn create_needs(
    call: &RequestContext<'_>,
    input: &CreateProject,
) -> Result<ReadQuery, DomainError> {
    let mut want = call.read_query();
    for named in [&input.workspace, &input.team].into_iter().flatten() {
        want.add_ref(named.node);
    }
    for follower in &input.followers {
        want = want.edges(follower.node.clone(), rel::WORKSPACES);
    }
    add_node_refs(call, want, &input.fields)
}

/// Adds the nodes that the body refers to: owner, followers, links in the description.
fn add_node_refs(
    call: &RequestContext<'_>,
    mut want: ReadQuery,
    inputs: &CheckedInputs,
) -> Result<ReadQuery, DomainError> {
    if let Some(InputValue::Ref(owner)) = inputs.get("owner") {
        want = want.edges(call.parse_user_ref("owner", owner)?, rel::WORKSPACES);
    }
    if let Some(InputValue::Ref(team)) = inputs.get("team") {
        want.add_ref(crate::request_context::parse_gid("team", team)?);
    }
    for gid in rich_texts::referenced(inputs, project::HTML_NOTES) {
        want.add_ref(gid);
    }
    if let Some(status) = status_in_project(inputs)? {
        add_linked(&mut want, &status);
    }
    Ok(want)
}

fn create_project(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateProject,
) -> Result<Decision, DomainError> {
    let team = input.team.as_ref();
    let shared = team
        .map(|team| call.named_node(view, team, Level::Viewer))
        .transpose()?;
    let workspace = match (&input.workspace, shared) {
        (Some(named), _) => call.named_node(view, named, Level::Viewer)?.gid,
        (None, Some(team)) => team
            .workspace
            .ok_or_else(|| DomainError::missing(WORKSPACE.def.name))?,
        (None, None) => return Err(DomainError::missing(WORKSPACE.def.name)),
    };
    if let Some(team) = shared {
        team_takes(view, workspace, team)?;
    }
    if view
        .viewer
        .membership(workspace)
        .is_none_or(|s| s.view_only)
        && view.viewer.service_workspace != Some(workspace)
    {
        return Err(DomainError::no_access("workspace"));
    }
    if shared.is_none() && is_organization(view, Some(workspace)) {
        return Err(DomainError::invalid(workgraph_wire::messages::MISSING_TEAM));
    }
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Project, Some(workspace));
    draft.set(project::OWNER, call.user_gid());
    write(call, view, &mut draft, &input.fields)?;
    // A new project is in no portfolio that could give it a custom field.
    task_values::write(call, view, &mut draft, &input.fields, None, &[])?;
    let status = new_status(call, view, &work, &mut draft, &input.fields)?;
    let usual = access_gate::usual_level(&draft, &PROJECT_SHARING);
    let gid = membership_rules::create_project(&mut work, draft, call.user_gid());
    if let Some(status) = status {
        status_rules::add_status(&mut work, &status, gid);
    }
    if let Some(team) = shared {
        work.link(gid, rel::TEAM, team.gid, ListPosition::Rank(0), None);
    }
    for follower in &input.followers {
        let follower = named_member(call, view, follower, workspace)?;
        let to = (gid, &PROJECT_SHARING);
        follow(&mut work, view, to, workspace, (follower, usual));
    }
    Ok(Decision::about(work.changes, gid))
}

/// Returns the new status update of the project from the body, after making it the current one.
fn new_status(
    call: &RequestContext<'_>,
    view: &ReadView,
    work: &ChangeBuilder<'_>,
    draft: &mut Draft,
    inputs: &CheckedInputs,
) -> Result<Option<Draft>, DomainError> {
    let Some(status) = status_in_project(inputs)? else {
        return Ok(None);
    };
    let form = (Type::ProjectStatus, &status);
    draft_status(call, view, work, draft, form).map(Some)
}

/// Writes the body's fields into a draft.
fn write(
    call: &RequestContext<'_>,
    view: &ReadView,
    draft: &mut Draft,
    inputs: &CheckedInputs,
) -> Result<(), DomainError> {
    inputs.fill(&project::PROJECT, draft);
    rich_texts::write(
        draft,
        inputs,
        project::NOTES,
        project::HTML_NOTES,
        &project::PROJECT,
        view,
        call.base_url(),
    )?;
    if inputs.get("privacy_setting").is_none() {
        match inputs.get("public") {
            Some(InputValue::Stored(on)) if on == "true" => {
                draft.set(project::PRIVACY, "public_to_workspace")
            }
            Some(InputValue::Stored(_)) => draft.set(project::PRIVACY, "private"),
            _ => {}
        }
    }
    if let Some(InputValue::Ref(owner)) = inputs.get("owner") {
        let workspace = draft.workspace.unwrap_or(draft.gid);
        let owner = member_of(
            call,
            view,
            "owner",
            &call.parse_user_ref("owner", owner)?,
            workspace,
        )?;
        draft.set(project::OWNER, owner);
    } else if inputs.has("owner") {
        draft.set(project::OWNER, None);
    }
    write_dates(draft, inputs)
}

/// Writes the days of a project or portfolio into a draft.
pub(super) fn write_dates(draft: &mut Draft, inputs: &CheckedInputs) -> Result<(), DomainError> {
    let day = |name: &str| match inputs.get(name) {
        None => Patch::Absent,
        Some(InputValue::Stored(raw)) => {
            Date::parse(raw.trim_matches('"')).map_or(Patch::Null, Patch::Set)
        }
        Some(_) => Patch::Null,
    };
    let due_on = if inputs.has("due_on") {
        day("due_on")
    } else {
        day("due_date")
    };
    let current = ProjectDates {
        start_on: draft.before(project::START_ON),
        due_on: draft.before(project::DUE_ON),
    };
    let days = apply_project_dates(
        current,
        ProjectDatesPatch {
            start_on: day("start_on"),
            due_on,
        },
    )
    .map_err(|e| DomainError::invalid(e.to_string()))?;
    draft.set(project::START_ON, days.start_on);
    draft.set(project::DUE_ON, days.due_on);
    Ok(())
}

fn needs(call: &RequestContext<'_>, input: &UpdateProject) -> Result<ReadQuery, DomainError> {
    let on = input.project.node_ref();
    let want = call.read_query().edges(on.clone(), rel::TEAM);
    let want = input.fields.with_unchanged(&on, want);
    let inputs = input.fields.written()?;
    let want = task_values::needs(call, want, inputs, on)?;
    add_node_refs(call, want, inputs)
}

fn change(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateProject,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.project, Level::Editor)?;
    let mut draft = Draft::edit(node);
    let inputs = input.fields.checked(view, node)?;
    write(call, view, &mut draft, inputs)?;
    let values = task_values::write_to(call, view, &mut draft, inputs, node)?;
    access_gate::may_change_settings(view, node, &draft)?;
    let mut work = call.change_builder();
    if let Some(status) = new_status(call, view, &work, &mut draft, inputs)? {
        status_rules::add_status(&mut work, &status, node.gid);
    }
    if let Some(given) = inputs.get("team") {
        let name = match given {
            InputValue::Ref(team) => Some(crate::request_context::parse_gid("team", team)?),
            _ => None,
        };
        let teams = view.links(node.gid, rel::TEAM).iter().map(|edge| edge.dst);
        let moved = teams.clone().ne(name);
        if moved {
            access_gate::may_share(view, node)?;
        }
        if moved && name.is_none() && is_organization(view, node.workspace) {
            return Err(DomainError::invalid(workgraph_wire::messages::MISSING_TEAM));
        }
        for team in teams.filter(|_| moved) {
            work.unlink(node.gid, rel::TEAM, team);
        }
        if let Some(name) = name.filter(|_| moved) {
            let name = NodeRef::Gid(name);
            let team = call.resolve_ref(view, "team", &name, &[Type::Team], Level::Editor)?;
            if team.workspace != node.workspace {
                return Err(DomainError::field(
                    "team",
                    "Not a team of the project's workspace",
                ));
            }
            require_content(view, team)?;
            work.link(node.gid, rel::TEAM, team.gid, ListPosition::Rank(0), None);
        }
    }
    if draft.changed_keys().next().is_some() || !work.changes.is_empty() {
        draft.set(project::MODIFIED_AT, work.now);
    }
    work.save(&draft);
    task_values::record(&mut work, view, node, &values);
    Ok(Decision::about(work.changes, node.gid))
}

#[cfg(test)]
mod tests;
