//! Templates of projects and tasks: making them, and making things from them.
use super::instantiation::{instantiate_project, instantiate_task, project_needs, task_needs};
use super::projects::{places_allowed, team_of};
use crate::call::Call;
use crate::driver::page;
use crate::operation::{
    Decision, Listed, Lists, Operation, act, create, delete, get, page as list, page_of,
};
use crate::request::Method;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::{flag, text};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Filter, Give, Listing, Place, Ref, View, Want};
use workgraph_core::jobs::dates::Shift;
use workgraph_core::jobs::duplication::{Duplication, Kind, Parts, Phase};
use workgraph_core::jobs::ended::{abandon, abandoning};
use workgraph_core::jobs::freezing::Frozen;
use workgraph_core::jobs::{self, Plot};
use workgraph_core::registry::{Dir, Rel, Type, rel};
use workgraph_core::resources::{job, project, project_template};
use workgraph_core::rules::fields;

/// The rows.
pub static TEMPLATES: &[Operation] = &[
    page_of(
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
    act(
        "deleteProjectTemplate",
        "/project_templates/{project_template_gid}",
        delete_needs,
        delete_project_template,
    )
    .by(Method::Delete)
    .premium("Project Templates are not available for free users."),
    list(
        "getProjectTemplatesForTeam",
        "/teams/{team_gid}/project_templates",
        Type::ProjectTemplate,
        Lists::Edges {
            rel: rel::TEMPLATE_TEAM,
            dir: Dir::In,
            give: Give::Far,
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
    page_of(
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
    .premium("Task Templates are not available for free users."),
    create(
        "instantiateTask",
        "/task_templates/{task_template_gid}/instantiateTask",
        Type::Job,
        task_needs,
        instantiate_task,
    ),
];

/// The things at the other end of edges into the node that a query parameter names.
fn at(call: &Call<'_>, name: &'static str, types: &'static [Type], rel: Rel, gid: Gid) -> Listed {
    let mut want = call.want();
    let anchor = want.add(gid);
    let from = Listing::Edges {
        anchor,
        rel,
        dir: Dir::In,
        give: Give::Far,
    };
    Listed {
        want,
        page: page(from, false),
        computed: false,
        anchor: name,
        anchor_types: types,
    }
}

fn project_templates(call: &Call<'_>) -> Result<Listed, Fault> {
    let workspace = call.query_gid("workspace")?;
    if let Some(team) = call.query_gid("team")? {
        let mut listed = at(call, "team", &[Type::Team], rel::TEMPLATE_TEAM, team);
        listed.page.filters.extend(workspace.map(Filter::Home));
        return Ok(listed);
    }
    let mut want = call.want();
    let anchor = want.add(workspace.ok_or_else(|| Fault::missing("workspace"))?);
    let ty = Type::ProjectTemplate;
    Ok(Listed {
        want,
        page: page(Listing::Home { anchor, ty }, false),
        computed: false,
        anchor: "workspace",
        anchor_types: &[Type::Workspace],
    })
}

fn task_templates(call: &Call<'_>) -> Result<Listed, Fault> {
    let project = call.query_gid("project")?;
    let project = project.ok_or_else(|| Fault::missing("project"))?;
    Ok(at(
        call,
        "project",
        &[Type::Project],
        rel::TEMPLATE_OF,
        project,
    ))
}

fn delete_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let template = call.path("project_template_gid")?;
    Ok(abandoning(call.want(), template))
}

fn delete_project_template(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let template = call.target(view, "project_template_gid", Level::Editor)?;
    let mut work = call.work();
    abandon(&mut work, view, template.gid);
    Ok(Decision::of(work.changes))
}

/// The team of what the path names, by a relation.
pub(super) fn own_team(call: &Call<'_>, parameter: &str, by: Rel) -> Result<Ref, Fault> {
    Ok(call.path(parameter)?.of(By::Edge(by)))
}

/// The team of the body, or else that of what the path names.
pub(super) fn team(
    call: &Call<'_>,
    view: &View,
    home: Gid,
    parameter: &str,
    by: Rel,
) -> Result<Option<Gid>, Fault> {
    let name = match call.body_gid("team")? {
        Some(team) => Some(Ref::Gid(team)),
        None => Some(own_team(call, parameter, by)?).filter(|r| view.resolve(r).is_some()),
    };
    team_of(call, view, home, name.as_ref())
}

fn save_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let old = call.path("project_gid")?;
    let mut want = jobs::starting(call.want(), call.starter())
        .follow(old, fields::settings())
        .node(own_team(call, "project_gid", rel::TEAM)?);
    for name in ["team", "workspace"] {
        if let Some(gid) = call.body_gid(name)? {
            want.add(gid);
        }
    }
    Ok(want)
}

/// All that a copy of a project can have, for templates keep it all.
pub(super) fn copying(kind: Kind, from: Gid, to: Gid) -> Duplication {
    Duplication {
        from,
        to,
        kind,
        roles: Vec::new(),
        frozen: Frozen::default(),
        parts: Parts::all(),
        shift: Shift::default(),
        anchor: None,
        copied: 0,
        phase: Phase::Sections { after: None },
    }
}

fn save(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let old = call.target(view, "project_gid", Level::Editor)?;
    let home = old.home.unwrap_or(old.gid);
    let name = text("name", call.required("name")?, 1024)?;
    let public = flag("public", call.required("public")?)?;
    if let Some(workspace) = call.body_gid("workspace")? {
        let types = &[Type::Workspace];
        call.named(
            view,
            "workspace",
            &Ref::Gid(workspace),
            types,
            Level::Viewer,
        )?;
        if workspace != home {
            return Err(Fault::field(
                "workspace",
                "Not the workspace of the project",
            ));
        }
    }
    places_allowed(view, home, "project templates")?;
    let team = team(call, view, home, "project_gid", rel::TEAM)?;
    let mut work = call.work();
    let mut draft = work.draft(Type::ProjectTemplate, Some(home));
    draft.set(project_template::NAME, name.as_str());
    draft.set(project_template::PUBLIC, public);
    draft.set(project_template::OWNER, call.me());
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
    fields::copy_settings(&mut work, view, old.gid, to, home);
    if let Some(team) = team {
        work.link(new, rel::TEMPLATE_TEAM, team, Place::Rank(0), None);
    }
    let mut plot = copying(Kind::Freeze, old.gid, new);
    plot.phase = Phase::Survey {
        after: None,
        span: Default::default(),
    };
    let gid = jobs::start(
        &mut work,
        view,
        call.starter(),
        home,
        "save_as_template",
        Plot::Duplicate(plot),
        |draft| draft.set(job::NEW_PROJECT_TEMPLATE, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}
