//! Templates of projects and tasks: creating them, and instantiating them.
use super::instantiation::{instantiate_project, instantiate_task, project_needs, task_needs};
use super::projects::places_allowed;
use super::template_copies::{full_copy, own_team, team};
use crate::method::Method;
use crate::operation::{
    Decision, ListDefinition, ListRequest, Operation, action, computed_list, create, delete, get,
    list,
};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::cleanup::{delete_template, template_deletion_needs};
use workgraph_core::jobs::duplication::{CopyKind, CopyPhase};
use workgraph_core::jobs::{self, JobKind};
use workgraph_core::model::registry::{Direction, Relation, Type, rel};
use workgraph_core::model::resources::{job, project, project_template};
use workgraph_core::model::validate::{flag, text};
use workgraph_core::rules::custom_field_rules;
use workgraph_core::storage::{
    EdgeEnd, ListPosition, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter,
};

/// Operations on templates.
pub static TEMPLATES: &[Operation] = &[
    computed_list(
        "getProjectTemplates",
        "/project_templates",
        Type::ProjectTemplate,
        project_templates,
    )
    .scope("project_templates:read"),
    get(
        "getProjectTemplate",
        "/project_templates/{project_template_gid}",
        Type::ProjectTemplate,
    )
    .scope("project_templates:read"),
    action(
        "deleteProjectTemplate",
        "/project_templates/{project_template_gid}",
        delete_needs,
        delete_project_template,
    )
    .with_method(Method::Delete)
    .paid_only("Project Templates are not available for free users."),
    list(
        "getProjectTemplatesForTeam",
        "/teams/{team_gid}/project_templates",
        Type::ProjectTemplate,
        ListDefinition::Edges {
            rel: rel::TEMPLATE_TEAM,
            dir: Direction::In,
            give: EdgeEnd::OtherEnd,
            open: false,
        },
    )
    .scope("project_templates:read"),
    create(
        "projectSaveAsTemplate",
        "/projects/{project_gid}/saveAsTemplate",
        Type::Job,
        save_needs,
        save,
    )
    .body(&["name", "public"]),
    create(
        "instantiateProject",
        "/project_templates/{project_template_gid}/instantiateProject",
        Type::Job,
        project_needs,
        instantiate_project,
    )
    .scope("projects:write")
    .body(&["name"]),
    computed_list(
        "getTaskTemplates",
        "/task_templates",
        Type::TaskTemplate,
        task_templates,
    )
    .scope("task_templates:read")
    .query(&["project"]),
    get(
        "getTaskTemplate",
        "/task_templates/{task_template_gid}",
        Type::TaskTemplate,
    )
    .scope("task_templates:read"),
    delete(
        "deleteTaskTemplate",
        "/task_templates/{task_template_gid}",
        Level::Editor,
    )
    .paid_only("Task Templates are not available for free users."),
    create(
        "instantiateTask",
        "/task_templates/{task_template_gid}/instantiateTask",
        Type::Job,
        task_needs,
        instantiate_task,
    ),
];

/// Lists the nodes at the other end of edges into the node that a query parameter names.
fn at(
    call: &RequestContext<'_>,
    name: &'static str,
    types: &'static [Type],
    rel: Relation,
    gid: Gid,
) -> ListRequest {
    let mut want = call.read_query();
    let anchor = want.add_ref(gid);
    let from = ListSource::Edges {
        anchor,
        rel,
        dir: Direction::In,
        give: EdgeEnd::OtherEnd,
    };
    ListRequest {
        query: want,
        page: PageQuery::of(from, false, 0),
        computed: false,
        anchor: name,
        anchor_types: types,
    }
}

fn project_templates(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
    let workspace = call.query_gid("workspace")?;
    if let Some(team) = call.query_gid("team")? {
        let mut listed = at(call, "team", &[Type::Team], rel::TEMPLATE_TEAM, team);
        listed
            .page
            .filters
            .extend(workspace.map(RowFilter::InWorkspace));
        return Ok(listed);
    }
    let mut want = call.read_query();
    let anchor = want.add_ref(workspace.ok_or_else(|| DomainError::missing("workspace"))?);
    let ty = Type::ProjectTemplate;
    Ok(ListRequest {
        query: want,
        page: PageQuery::of(ListSource::InWorkspace { anchor, ty }, false, 0),
        computed: false,
        anchor: "workspace",
        anchor_types: &[Type::Workspace],
    })
}

fn task_templates(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
    let project = call.query_gid("project")?;
    let project = project.ok_or_else(|| DomainError::missing("project"))?;
    Ok(at(
        call,
        "project",
        &[Type::Project],
        rel::TEMPLATE_OF,
        project,
    ))
}

fn delete_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let template = call.path_ref("project_template_gid")?;
    Ok(template_deletion_needs(call.read_query(), template))
}

fn delete_project_template(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    let template = call.path_node(view, "project_template_gid", Level::Editor)?;
    let mut work = call.change_builder();
    delete_template(&mut work, view, template.gid);
    Ok(Decision::of(work.changes))
}

fn save_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let old = call.path_ref("project_gid")?;
    let mut want = jobs::start_needs(call.read_query(), call.job_requester())
        .follow(old, custom_field_rules::settings())
        .node(own_team(call, "project_gid", rel::TEAM)?);
    for name in ["team", "workspace"] {
        if let Some(gid) = call.body_gid(name)? {
            want.add_ref(gid);
        }
    }
    Ok(want)
}

fn save(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let old = call.path_node(view, "project_gid", Level::Editor)?;
    let home = old.workspace.unwrap_or(old.gid);
    let name = text("name", call.required("name")?, 1024)?;
    let public = flag("public", call.required("public")?)?;
    if let Some(workspace) = call.body_gid("workspace")? {
        let types = &[Type::Workspace];
        call.resolve_ref(
            view,
            "workspace",
            &NodeRef::Gid(workspace),
            types,
            Level::Viewer,
        )?;
        if workspace != home {
            return Err(DomainError::field(
                "workspace",
                "Not the workspace of the project",
            ));
        }
    }
    places_allowed(view, home, "project templates")?;
    let team = team(call, view, home, "project_gid", rel::TEAM)?;
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::ProjectTemplate, Some(home));
    draft.set(project_template::NAME, name.as_str());
    draft.set(project_template::PUBLIC, public);
    draft.set(project_template::OWNER, call.user_gid());
    let notes = old.get(project::NOTES);
    draft.set(
        project_template::DESCRIPTION,
        notes.as_deref().unwrap_or(""),
    );
    let html = old.get(project::HTML_NOTES);
    let html = html.as_deref().unwrap_or("<body></body>");
    draft.set(project_template::HTML_DESCRIPTION, html);
    draft.set(project_template::COLOR, old.get(project::COLOR).as_deref());
    draft.take(project::NUMBERED_BY, old);
    let new = work.create(&draft, Some(home));
    let to = (new, Type::ProjectTemplate);
    custom_field_rules::copy_settings(&mut work, view, old.gid, to, home);
    if let Some(team) = team {
        work.link(new, rel::TEMPLATE_TEAM, team, ListPosition::Rank(0), None);
    }
    let mut plot = full_copy(CopyKind::ProjectToTemplate, old.gid, new);
    plot.phase = CopyPhase::Survey {
        after: None,
        span: Default::default(),
    };
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        home,
        "save_as_template",
        JobKind::Duplicate(plot),
        |draft| draft.set(job::NEW_PROJECT_TEMPLATE, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}
