//! What connects a task: projects, sections, tags, followers, dependencies, its parent.
use super::my_tasks;
use super::placing::Anchor;
use super::projects::{leaver, member_of};
use super::subtasks::{parent_needs, set_parent};
use crate::call::{Call, allowed};
use crate::operation::{Decision, Operation, act};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Action, By, Place, Ref, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::task::PROJECTS_MAX;
use workgraph_core::resources::{section, story};
use workgraph_core::rules::ids;
use workgraph_core::rules::stories::tell;
use workgraph_core::work::Work;

/// The rows.
pub static TASK_LINKS: &[Operation] = &[
    act(
        "addTaskForSection",
        "/sections/{section_gid}/addTask",
        section_needs,
        add_to_section,
    )
    .also(&["/user_task_lists/{user_task_list_gid}/tasks/insert"])
    .scope("tasks:write")
    .body(&["task"]),
    act(
        "addProjectForTask",
        "/tasks/{task_gid}/addProject",
        project_needs,
        add_project,
    )
    .scope("tasks:write")
    .body(&["project"]),
    act(
        "removeProjectForTask",
        "/tasks/{task_gid}/removeProject",
        unproject_needs,
        remove_project,
    )
    .scope("tasks:write")
    .body(&["project"]),
    act(
        "addTagForTask",
        "/tasks/{task_gid}/addTag",
        tag_needs,
        add_tag,
    )
    .scope("tasks:write")
    .body(&["tag"]),
    act(
        "removeTagForTask",
        "/tasks/{task_gid}/removeTag",
        tag_needs,
        remove_tag,
    )
    .scope("tasks:write")
    .body(&["tag"]),
    act(
        "addFollowersForTask",
        "/tasks/{task_gid}/addFollowers",
        follower_needs,
        add_followers,
    )
    .scope("tasks:write")
    .body(&["followers"])
    .answers(Type::Task),
    act(
        "removeFollowerForTask",
        "/tasks/{task_gid}/removeFollowers",
        follower_needs,
        remove_followers,
    )
    .scope("tasks:write")
    .body(&["followers"])
    .answers(Type::Task),
    act(
        "setParentForTask",
        "/tasks/{task_gid}/setParent",
        parent_needs,
        set_parent,
    )
    .scope("tasks:write")
    .body(&["parent"])
    .answers(Type::Task),
];

fn section_needs(call: &Call<'_>) -> Result<Want, Fault> {
    if !call.parameter(my_tasks::LIST).is_empty() {
        return my_tasks::needs(call);
    }
    let place = call.path("section_gid")?;
    let on = call.required_gid("task")?;
    let container = place.clone().of(By::Key("project"));
    let mut want = call
        .want()
        .node(place.clone())
        .node(container)
        .edges(on, rel::SECTION)
        .edges(on, rel::MY_TASKS);
    if let Some(neighbour) = Anchor::read(call, "insert_before", "insert_after")?.neighbour() {
        want =
            want.edge(neighbour, rel::SECTION, place.clone())
                .edge(neighbour, rel::MY_TASKS, place);
    }
    Ok(want)
}

/// Without a position the task goes to the top of the section; other sections of the project lose it.
fn add_to_section(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    if !call.parameter(my_tasks::LIST).is_empty() {
        return my_tasks::insert(call, view);
    }
    let place = call.target(view, "section_gid", Level::Editor)?;
    let on = call.named(
        view,
        "task",
        &Ref::Gid(call.required_gid("task")?),
        &[Type::Task],
        Level::Editor,
    )?;
    let container = place
        .get(section::PROJECT)
        .and_then(|g| view.node(g))
        .ok_or_else(|| Fault::unknown("section", place.gid))?;
    let anchor = Anchor::read(call, "insert_before", "insert_after")?;
    let mut work = call.work();
    if container.ty == Type::UserTaskList {
        if view
            .links(on.gid, rel::MY_TASKS)
            .iter()
            .all(|e| e.aux != Some(container.gid))
        {
            return Err(Fault::field(
                "task",
                "Not assigned to the owner of this task list",
            ));
        }
        beside(view, rel::MY_TASKS, place.gid, anchor, on.gid)?;
        work.needs_links(view, on.gid, rel::MY_TASKS);
        for edge in view
            .links(on.gid, rel::MY_TASKS)
            .iter()
            .filter(|e| e.dst != place.gid)
        {
            work.unlink(on.gid, rel::MY_TASKS, edge.dst);
        }
        work.link(
            on.gid,
            rel::MY_TASKS,
            place.gid,
            anchor.place(Place::First),
            Some(container.gid),
        );
        return Ok(Decision::of(work.changes));
    }
    put(
        call,
        view,
        &mut work,
        on,
        container,
        place.gid,
        anchor,
        Place::First,
    )?;
    Ok(Decision::of(work.changes))
}

/// A neighbour must be in the same section, and not be the task itself.
fn beside(
    view: &View,
    rel: workgraph_core::registry::Rel,
    place: Gid,
    anchor: Anchor,
    on: Gid,
) -> Result<(), Fault> {
    match anchor.neighbour() {
        Some(gid) if gid == on => Err(Fault::invalid("A task cannot be placed next to itself")),
        Some(gid) if view.link(gid, rel, place).is_none() => Err(Fault::invalid(format!(
            "The task to insert next to is not in this section: {gid}"
        ))),
        _ => Ok(()),
    }
}

/// Puts a task into a section of a project, out of the project's other sections.
#[expect(
    clippy::too_many_arguments,
    reason = "each is a different thing; the two callers name them all"
)]
fn put(
    _call: &Call<'_>,
    view: &View,
    work: &mut Work<'_>,
    on: &Node,
    project: &Node,
    place: Gid,
    anchor: Anchor,
    otherwise: Place,
) -> Result<(), Fault> {
    if on.home != project.home {
        return Err(Fault::field(
            "project",
            "Not a project of the task's workspace",
        ));
    }
    beside(view, rel::SECTION, place, anchor, on.gid)?;
    let held = view.links(on.gid, rel::SECTION);
    let before = held.iter().find(|e| e.aux == Some(project.gid));
    if before.is_none() && held.len() >= PROJECTS_MAX {
        return Err(Fault::field(
            "project",
            format_args!("A task can be in at most {PROJECTS_MAX} projects"),
        ));
    }
    work.needs_live(place);
    // Two moves at once must not leave the task in two sections of one project.
    work.needs_links(view, on.gid, rel::SECTION);
    if let Some(edge) = before.filter(|e| e.dst != place) {
        work.unlink(on.gid, rel::SECTION, edge.dst);
    }
    work.link(
        on.gid,
        rel::SECTION,
        place,
        anchor.place(otherwise),
        Some(project.gid),
    );
    match before {
        None => {
            ids::number(work, Some(project), on.gid);
            work.fact(
                on.gid,
                Type::Task,
                Action::Added {
                    parent: Some(project.gid),
                },
            );
            tell(work, on.gid, on.home, "added_to_project", |d| {
                d.set(story::PROJECT, project.gid)
            });
        }
        Some(edge) if edge.dst != place => {
            let (old, new) = (edge.dst, place);
            work.fact(on.gid, Type::Task, Action::Added { parent: Some(new) });
            tell(work, on.gid, on.home, "section_changed", |d| {
                d.set(story::OLD_SECTION, old);
                d.set(story::NEW_SECTION, new);
                d.set(story::PROJECT, project.gid);
            });
        }
        Some(_) => {}
    }
    Ok(())
}

fn project_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let (on, project) = (call.path("task_gid")?, call.required_gid("project")?);
    let mut want = call
        .want()
        .edges(on, rel::SECTION)
        .into(project, rel::SECTION_OF, 1000);
    if let Some(section) = call.body_gid("section")? {
        want = want.edge(section, rel::SECTION_OF, project);
    }
    if let Some(neighbour) = Anchor::read(call, "insert_before", "insert_after")?.neighbour() {
        want = want.edges(neighbour, rel::SECTION);
    }
    Ok(want)
}

/// Without a position the task goes to the end of the project, or of the section that was named.
fn add_project(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let on = call.target(view, "task_gid", Level::Editor)?;
    let project = call.named(
        view,
        "project",
        &Ref::Gid(call.required_gid("project")?),
        &[Type::Project],
        Level::Editor,
    )?;
    let anchor = Anchor::read(call, "insert_before", "insert_after")?;
    let sections = view.sources(project.gid, rel::SECTION_OF);
    let named = match call.body_gid("section")? {
        Some(gid) if view.link(gid, rel::SECTION_OF, project.gid).is_none() => {
            return Err(Fault::field(
                "section",
                format_args!("Not a section of this project: {gid}"),
            ));
        }
        other => other,
    };
    let place = match (named, anchor) {
        (Some(section), _) => Some(section),
        (None, Anchor::Before(gid) | Anchor::After(gid)) => view
            .links(gid, rel::SECTION)
            .iter()
            .find(|e| e.aux == Some(project.gid))
            .map(|e| e.dst),
        (None, Anchor::First) => sections.first().map(|e| e.src),
        (None, Anchor::Last | Anchor::None) => sections.last().map(|e| e.src),
    };
    let Some(place) = place else {
        return Err(Fault::invalid(
            "The task to insert next to is not in this project",
        ));
    };
    let mut work = call.work();
    put(
        call,
        view,
        &mut work,
        on,
        project,
        place,
        anchor,
        Place::Last,
    )?;
    Ok(Decision::of(work.changes))
}

fn unproject_needs(call: &Call<'_>) -> Result<Want, Fault> {
    Ok(call
        .want()
        .edges(call.path("task_gid")?, rel::SECTION)
        .node(call.required_gid("project")?))
}

fn remove_project(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let on = call.target(view, "task_gid", Level::Editor)?;
    let project = call.named(
        view,
        "project",
        &Ref::Gid(call.required_gid("project")?),
        &[Type::Project],
        Level::Editor,
    )?;
    let mut work = call.work();
    if let Some(edge) = view
        .links(on.gid, rel::SECTION)
        .iter()
        .find(|e| e.aux == Some(project.gid))
    {
        work.unlink(on.gid, rel::SECTION, edge.dst);
        work.fact(
            on.gid,
            Type::Task,
            Action::Removed {
                parent: project.gid,
            },
        );
        tell(&mut work, on.gid, on.home, "removed_from_project", |d| {
            d.set(story::PROJECT, project.gid);
        });
    }
    Ok(Decision::of(work.changes))
}

fn tag_needs(call: &Call<'_>) -> Result<Want, Fault> {
    Ok(call
        .want()
        .edge(call.path("task_gid")?, rel::TAGS, call.required_gid("tag")?))
}

/// The task and the tag of the request, and whether they are linked.
fn tagged<'v>(call: &Call<'_>, view: &'v View) -> Result<(&'v Node, &'v Node, bool), Fault> {
    let on = call.target(view, "task_gid", Level::Editor)?;
    let gid = call.required_gid("tag")?;
    let linked = view.link(on.gid, rel::TAGS, gid).is_some();
    let tag = match view.node(gid).filter(|_| linked) {
        // Who sees the task sees its tags.
        Some(tag) => tag,
        None => call.named(view, "tag", &Ref::Gid(gid), &[Type::Tag], Level::Viewer)?,
    };
    if tag.home != on.home {
        return Err(Fault::field("tag", "Not a tag of the task's workspace"));
    }
    Ok((on, tag, linked))
}

fn add_tag(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let (on, tag, linked) = tagged(call, view)?;
    let mut work = call.work();
    if !linked {
        work.needs_live(tag.gid);
        work.link(on.gid, rel::TAGS, tag.gid, Place::Rank(0), None);
        work.fact(
            on.gid,
            Type::Task,
            Action::Added {
                parent: Some(tag.gid),
            },
        );
        tell(&mut work, on.gid, on.home, "added_to_tag", |d| {
            d.set(story::TAG, tag.gid)
        });
    }
    Ok(Decision::of(work.changes))
}

fn remove_tag(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let (on, tag, linked) = tagged(call, view)?;
    let mut work = call.work();
    if linked {
        work.unlink(on.gid, rel::TAGS, tag.gid);
        work.fact(on.gid, Type::Task, Action::Removed { parent: tag.gid });
        tell(&mut work, on.gid, on.home, "removed_from_tag", |d| {
            d.set(story::TAG, tag.gid)
        });
    }
    Ok(Decision::of(work.changes))
}

fn follower_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let on = call.path("task_gid")?;
    let mut want = call.want().node(on.clone());
    for who in call.users("followers")? {
        want = want
            .edges(who.clone(), rel::WORKSPACES)
            .edge(on.clone(), rel::FOLLOWERS, who);
    }
    Ok(want)
}

fn add_followers(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let on = call.target(view, "task_gid", Level::Commenter)?;
    let mut work = call.work();
    work.needs_live(on.gid);
    for name in call.users("followers")? {
        let who = member_of(call, view, "followers", &name, on.home.unwrap_or(on.gid))?;
        let joining = work.changes.links.iter().any(|l| l.dst == who);
        if joining || view.link(on.gid, rel::FOLLOWERS, who).is_some() {
            continue;
        }
        work.link(on.gid, rel::FOLLOWERS, who, Place::Rank(0), None);
        work.gained(on.gid, Type::Task, "followers", who);
        tell(&mut work, on.gid, on.home, "follower_added", |d| {
            d.set(story::FOLLOWER, who)
        });
    }
    Ok(Decision::about(work.changes, on.gid))
}

fn remove_followers(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let on = call.target(view, "task_gid", Level::Viewer)?;
    let mut work = call.work();
    for name in call.users("followers")? {
        let who = leaver(call, view, "followers", &name, on.gid, rel::FOLLOWERS)?;
        if who != call.me() {
            allowed(view, on, Level::Commenter)?;
        }
        if view.link(on.gid, rel::FOLLOWERS, who).is_some() {
            work.unlink(on.gid, rel::FOLLOWERS, who);
            work.lost(on.gid, Type::Task, "followers", who);
        }
    }
    Ok(Decision::about(work.changes, on.gid))
}
