//! New tasks: what they are made in, and what that takes.
use super::projects::member_of;
use super::task_fields::{assign, like, write};
use super::tasks::shallow;
use super::{task_external, task_values};
use crate::call::{Call, gid};
use crate::operation::Decision;
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::{Given, Inputs, reference};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Action, Place, Ref, View, Want};
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::custom_field::FIELDS_MAX;
use workgraph_core::resources::task::{self, PROJECTS_MAX};
use workgraph_core::rules::{fields, ids, stories, text};
use workgraph_core::work::Work;

/// A project that a new task goes into, and the section if one was named.
struct Spot {
    project: Gid,
    section: Option<Gid>,
    field: &'static str,
}

/// The projects of the body: from `projects` and from `memberships`.
fn spots(call: &Call<'_>) -> Result<Vec<Spot>, Fault> {
    let mut spots: Vec<Spot> = Vec::new();
    if let Some(value) = call.field("memberships") {
        let Value::Array(items) = value else {
            return Err(Fault::field(
                "memberships",
                "Value is not an array; it must be an array of {project, section}",
            ));
        };
        for (i, item) in items.iter().enumerate() {
            let part = |name: &str| -> Result<Option<Gid>, Fault> {
                let field = format!("memberships: [{i}]: {name}");
                item.get(name)
                    .filter(|v| !v.is_null())
                    .map(|v| gid(&field, &reference(&field, v)?))
                    .transpose()
            };
            let project = part("project")?;
            let project = project.ok_or_else(|| {
                Fault::field(
                    "memberships",
                    format_args!("[{i}]: project: Missing required field"),
                )
            })?;
            if spots.iter().any(|s| s.project == project) {
                return Err(Fault::field(
                    "memberships",
                    format_args!("[{i}]: project: given twice"),
                ));
            }
            spots.push(Spot {
                project,
                section: part("section")?,
                field: "memberships",
            });
        }
    }
    for project in call.gids("projects")? {
        if !spots.iter().any(|s| s.project == project) {
            spots.push(Spot {
                project,
                section: None,
                field: "projects",
            });
        }
    }
    if spots.len() > PROJECTS_MAX {
        return Err(Fault::field(
            "projects",
            format_args!("Too many: a task can be in at most {PROJECTS_MAX} projects"),
        ));
    }
    Ok(spots)
}

/// Reads the workspace of a new task, from path or body.
fn workspace_of(call: &Call<'_>) -> Result<Option<Ref>, Fault> {
    if call.parameter("workspace_gid").is_empty() {
        return Ok(call.body_gid("workspace")?.map(Ref::Gid));
    }
    call.path("workspace_gid").map(Some)
}

/// The parent of a new task, from path or body.
fn parent_of(call: &Call<'_>) -> Result<Option<Ref>, Fault> {
    if call.parameter("task_gid").is_empty() {
        return Ok(call.body_gid("parent")?.map(Ref::Gid));
    }
    call.path("task_gid").map(Some)
}

pub(super) fn create_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let inputs = call.inputs(Type::Task, true)?;
    let mut want = call.want();
    let (workspace, parent, spots) = (workspace_of(call)?, parent_of(call)?, spots(call)?);
    let near = workspace
        .or_else(|| spots.first().map(|s| Ref::Gid(s.project)))
        .or_else(|| parent.clone());
    let Some(near) = near else {
        return Err(Fault::invalid(workgraph_wire::message::TASK_HOME));
    };
    want.add(near.clone());
    if let Some(parent) = parent {
        let at = want.add(parent);
        want.ancestors.push(at);
    }
    for spot in &spots {
        want = match spot.section {
            Some(section) => want
                .node(spot.project)
                .edge(section, rel::SECTION_OF, spot.project),
            None => want.into(spot.project, rel::SECTION_OF, 1),
        };
        if inputs.has("custom_fields") {
            want = want.into(spot.project, rel::FIELD_ON, FIELDS_MAX);
        }
    }
    for tag in call.gids("tags")? {
        want.add(tag);
    }
    for who in call.users("followers")? {
        want = want.edges(who, rel::WORKSPACES);
    }
    refer(call, want, &inputs, &near)
}

/// Adds what create and update both refer to: the assignee with their list, and links in the notes.
pub(super) fn refer(
    call: &Call<'_>,
    mut want: Want,
    inputs: &Inputs,
    near: &Ref,
) -> Result<Want, Fault> {
    if let Some(Given::Ref(who)) = inputs.get("assignee") {
        let who = call.user("assignee", who)?;
        let list = Ref::TaskList {
            user: Box::new(who.clone()),
            near: Box::new(near.clone()),
        };
        want = want
            .edges(who, rel::WORKSPACES)
            .into(list, rel::SECTION_OF, 1);
    }
    if let Some(Given::Ref(place)) = inputs.get("assignee_section") {
        want.add(gid("assignee_section", place)?);
    }
    for linked in text::referenced(inputs, task::HTML_NOTES) {
        want.add(linked);
    }
    task_values::refer(call, want, inputs)
}

pub(super) fn create_task(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let inputs = call.inputs(Type::Task, true)?;
    let (workspace, spots) = (workspace_of(call)?, spots(call)?);
    let parent = match parent_of(call)? {
        Some(_) if !call.parameter("task_gid").is_empty() => {
            Some(call.target(view, "task_gid", Level::Editor)?)
        }
        Some(name) => Some(call.named(view, "parent", &name, &[Type::Task], Level::Editor)?),
        None => None,
    };
    let mut home = match workspace {
        Some(_) if !call.parameter("workspace_gid").is_empty() => {
            Some(call.target(view, "workspace_gid", Level::Viewer)?.gid)
        }
        Some(workspace) => Some(
            call.named(
                view,
                "workspace",
                &workspace,
                &[Type::Workspace],
                Level::Viewer,
            )?
            .gid,
        ),
        None => parent.and_then(|p| p.home),
    };
    for (i, spot) in spots.iter().enumerate() {
        let field = format!("{}: [{i}]", spot.field);
        let project = call.named(
            view,
            &field,
            &Ref::Gid(spot.project),
            &[Type::Project],
            Level::Editor,
        )?;
        if home.is_some() && project.home != home {
            return Err(Fault::field(&field, "Not a project of that workspace"));
        }
        home = project.home;
    }
    let Some(home) = home else {
        return Err(Fault::invalid(workgraph_wire::message::TASK_HOME));
    };
    if view.viewer.seat(home).is_none_or(|s| s.view_only) && view.viewer.service != Some(home) {
        return Err(Fault::forbidden(
            "You do not have permission to create tasks in this workspace.",
        ));
    }
    if let Some(parent) = parent {
        shallow(view, parent.gid, 0)?;
    }

    let mut work = call.work();
    let mut draft = work.draft(Type::Task, Some(home));
    draft.set(task::CREATED_BY, call.me());
    draft.set(task::CREATED_AT, work.now);
    draft.set(task::MODIFIED_AT, work.now);
    write(call, view, &mut draft, &inputs)?;
    task_external::write(call, &mut work, &mut draft, None, &inputs, home)?;
    let projects: Vec<Gid> = spots.iter().map(|s| s.project).collect();
    let values = task_values::write(call, view, &mut draft, &inputs, None, &projects)?;
    fields::index(&mut work, draft.gid, view, &values);
    let mut followers = vec![call.me()];
    let assignee = assign(call, view, &mut work, &mut draft, &inputs, home)?;
    followers.extend(assignee.map(|n| n.gid));
    for name in call.users("followers")? {
        followers.push(member_of(call, view, "followers", &name, home)?);
    }
    let on = draft.gid;
    work.create(
        &draft,
        parent
            .map(|p| p.gid)
            .or_else(|| spots.first().map(|s| s.project)),
    );
    for (i, who) in followers.iter().enumerate() {
        if !followers.iter().take(i).any(|w| w == who) {
            work.link(on, rel::FOLLOWERS, *who, Place::Rank(0), None);
        }
    }
    if let Some(parent) = parent {
        work.needs_live(parent.gid);
        work.link(on, rel::PARENT, parent.gid, Place::Last, None);
    }
    let into = |work: &mut Work<'_>, place| {
        let parent = Some(place);
        work.fact(on, Type::Task, Action::Added { parent });
    };
    for (i, spot) in spots.iter().enumerate() {
        enter(view, &mut work, on, home, spot)?;
        // The first one is told as the creation.
        if i > 0 || parent.is_some() {
            into(&mut work, spot.project);
        }
    }
    for name in call.gids("tags")? {
        let tag = call.named(view, "tags", &Ref::Gid(name), &[Type::Tag], Level::Viewer)?;
        work.link(on, rel::TAGS, tag.gid, Place::Rank(0), None);
        into(&mut work, tag.gid);
    }
    like(call, view, &mut work, on, &inputs);
    stories::of_task(&mut work, &draft);
    Ok(Decision::about(work.changes, on))
}

/// Puts a new task into a project: the named section, or the end of the first one.
fn enter(view: &View, work: &mut Work<'_>, on: Gid, home: Gid, spot: &Spot) -> Result<(), Fault> {
    let section = match spot.section {
        Some(section) if view.link(section, rel::SECTION_OF, spot.project).is_none() => {
            return Err(Fault::field(
                "memberships",
                format_args!("section: Not a section of this project: {section}"),
            ));
        }
        Some(section) => section,
        None => match view.sources(spot.project, rel::SECTION_OF).first() {
            Some(edge) => edge.src,
            None => return Err(Fault::field("projects", "The project has no section")),
        },
    };
    work.needs_live(section);
    work.link(on, rel::SECTION, section, Place::Last, Some(spot.project));
    ids::number(work, view.node(spot.project), on);
    stories::tell(work, on, Some(home), "added_to_project", |d| {
        d.set(workgraph_core::resources::story::PROJECT, spot.project);
    });
    Ok(())
}
