//! Templates of projects and tasks: creating them, and instantiating them.
use super::instantiation;
use super::projects::places_allowed;
use super::template_copies::{TEAM, copy_team, full_copy, original_team, original_workspace};
use crate::method::Method;
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, path,
};
use crate::operation::rows::{action, computed_list, create};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListDefinition, ListRequest, Operation, delete, get, list};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::cleanup::{delete_template, deletion_needs};
use workgraph_core::jobs::duplication::{CopyKind, CopyPhase};
use workgraph_core::jobs::{self, JobKind};
use workgraph_core::model::registry::{Direction, NAME_MAX, Relation, Type, rel};
use workgraph_core::model::resources::{job, project, project_template};
use workgraph_core::rules::{auto_id_rules, custom_field_rules};
use workgraph_core::storage::{
    EdgeEnd, ListPosition, ListSource, PageQuery, ReadQuery, ReadView, RowFilter,
};

/// Operations on templates: a part of [`TABLES`](super::TABLES).
pub static TEMPLATES: &[Operation] = &[
    computed_list(
        "getProjectTemplates",
        "/project_templates",
        Type::ProjectTemplate,
        &Description::new(project_templates),
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
        &Steps::new(delete_needs, delete_project_template),
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
        &Steps::new(save_needs, save),
    ),
    create(
        "instantiateProject",
        "/project_templates/{project_template_gid}/instantiateProject",
        Type::Job,
        instantiation::PROJECT,
    )
    .scope("projects:write"),
    computed_list(
        "getTaskTemplates",
        "/task_templates",
        Type::TaskTemplate,
        &Description::new(task_templates),
    )
    .scope("task_templates:read"),
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
        instantiation::TASK,
    ),
];

const OF_WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "Lists the project templates of this workspace. Beside `team`, only those of the team in it.",
);
const OF_TEAM: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "team",
    &[Type::Team],
    "Lists the project templates of this team.",
);
const OF_PROJECT: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "project",
    &[Type::Project],
    "Lists the task templates of this project.",
)
.required();
const NAME: Input<String> =
    Input::text("name", NAME_MAX, "The name of the new project template.").required();
const PUBLIC: Input<bool> = Input::flag(
    InputPlace::Body,
    "public",
    "True if all members of the team see the new project template.",
)
.required();
const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "workspace",
    &[Type::Workspace],
    "The workspace of the project; a template never has another.",
);

/// The workspace or team whose project templates are listed.
struct ListProjectTemplates {
    workspace: Option<Named<Gid>>,
    team: Option<Named<Gid>>,
}

impl OperationInput for ListProjectTemplates {
    const INPUTS: &'static [&'static InputDef] = &[&OF_WORKSPACE.def, &OF_TEAM.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.optional(&OF_WORKSPACE)?,
            team: inputs.optional(&OF_TEAM)?,
        })
    }
}

/// The project whose task templates are listed.
struct ListTaskTemplates {
    project: Named<Gid>,
}

impl OperationInput for ListTaskTemplates {
    const INPUTS: &'static [&'static InputDef] = &[&OF_PROJECT.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            project: inputs.required(&OF_PROJECT)?,
        })
    }
}

struct DeleteProjectTemplate {
    template: Named<Gid>,
}

impl OperationInput for DeleteProjectTemplate {
    const INPUTS: &'static [&'static InputDef] = &[&path::PROJECT_TEMPLATE.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            template: inputs.required(&path::PROJECT_TEMPLATE)?,
        })
    }
}

/// A project, and the template to save it as.
struct SaveAsTemplate {
    project: Named<Gid>,
    team: Option<Named<Gid>>,
    workspace: Option<Named<Gid>>,
    name: Deferred<String>,
    public: Deferred<bool>,
}

impl OperationInput for SaveAsTemplate {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::PROJECT.def,
        &NAME.def,
        &PUBLIC.def,
        &TEAM.def,
        &WORKSPACE.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            project: inputs.required(&path::PROJECT)?,
            team: inputs.optional(&TEAM)?,
            workspace: inputs.optional(&WORKSPACE)?,
            name: inputs.deferred(&NAME),
            public: inputs.deferred(&PUBLIC),
        })
    }
}

/// Lists the nodes at the other end of edges into the node that a query parameter names.
fn at(call: &RequestContext<'_>, anchor_node: &Named<Gid>, rel: Relation) -> ListRequest {
    let mut want = call.read_query();
    let anchor = want.add_ref(anchor_node.node);
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
        anchor: anchor_node.input.name,
        anchor_types: anchor_node.input.types(),
        referenced: Vec::new(),
    }
}

fn project_templates(
    call: &RequestContext<'_>,
    input: &ListProjectTemplates,
) -> Result<ListRequest, DomainError> {
    let workspace = input.workspace.as_ref();
    if let Some(team) = &input.team {
        let mut listed = at(call, team, rel::TEMPLATE_TEAM);
        if let Some(workspace) = workspace {
            let filter = RowFilter::InWorkspace(workspace.node);
            listed.page.filters.push(filter);
            listed = listed.with_reference(workspace);
        }
        return Ok(listed);
    }
    let workspace = workspace.ok_or_else(|| DomainError::missing(OF_WORKSPACE.def.name))?;
    let mut want = call.read_query();
    let anchor = want.add_ref(workspace.node);
    let ty = Type::ProjectTemplate;
    Ok(ListRequest {
        query: want,
        page: PageQuery::of(ListSource::InWorkspace { anchor, ty }, false, 0),
        computed: false,
        anchor: workspace.input.name,
        anchor_types: workspace.input.types(),
        referenced: Vec::new(),
    })
}

fn task_templates(
    call: &RequestContext<'_>,
    input: &ListTaskTemplates,
) -> Result<ListRequest, DomainError> {
    Ok(at(call, &input.project, rel::TEMPLATE_OF))
}

fn delete_needs(
    call: &RequestContext<'_>,
    input: &DeleteProjectTemplate,
) -> Result<ReadQuery, DomainError> {
    let template = input.template.node_ref();
    Ok(deletion_needs(call.read_query(), template))
}

fn delete_project_template(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DeleteProjectTemplate,
) -> Result<Decision, DomainError> {
    let template = call.named_node(view, &input.template, Level::Editor)?;
    let mut work = call.change_builder();
    delete_template(&mut work, view, template.gid);
    Ok(Decision::of(work.changes))
}

fn save_needs(call: &RequestContext<'_>, input: &SaveAsTemplate) -> Result<ReadQuery, DomainError> {
    let mut want = jobs::start_needs(call.read_query(), call.job_requester())
        .follow(input.project.node_ref(), custom_field_rules::settings())
        .node(original_team(&input.project, rel::TEAM))
        .node(original_workspace(&input.project));
    for named in [&input.team, &input.workspace].into_iter().flatten() {
        want.add_ref(named.node);
    }
    Ok(want)
}

fn save(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &SaveAsTemplate,
) -> Result<Decision, DomainError> {
    let old = call.named_node(view, &input.project, Level::Editor)?;
    let workspace = old.workspace.unwrap_or(old.gid);
    let name = input.name.get()?;
    let public = *input.public.get()?;
    if let Some(named) = &input.workspace {
        call.named_node(view, named, Level::Viewer)?;
        if named.node != workspace {
            return Err(DomainError::field(
                WORKSPACE.def.name,
                "Not the workspace of the project",
            ));
        }
    }
    places_allowed(view, workspace, "project templates")?;
    let original = (&input.project, rel::TEAM);
    let team = copy_team(call, view, workspace, input.team.as_ref(), original)?;
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::ProjectTemplate, Some(workspace));
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
    draft.set(project::NUMBERED_BY, auto_id_rules::copied(view, old));
    let new = work.create(&draft, Some(workspace));
    let to = (new, Type::ProjectTemplate);
    custom_field_rules::copy_settings(&mut work, view, old.gid, to, workspace);
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
        workspace,
        "save_as_template",
        JobKind::Duplicate(plot),
        |draft| draft.set(job::NEW_PROJECT_TEMPLATE, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}

#[cfg(test)]
mod tests;
