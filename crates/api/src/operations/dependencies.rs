//! Dependencies: tasks that wait for others.
use crate::call::Call;
use crate::operation::{Decision, Lists, Operation, act, page as list};
use workgraph_core::access::Level;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Give, Place, Ref, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::story;
use workgraph_core::rules::stories::tell;

/// The rows.
pub static DEPENDENCIES: &[Operation] = &[
    list(
        "getDependenciesForTask",
        "/tasks/{task_gid}/dependencies",
        Type::Task,
        OF_TASK,
    )
    .scope("tasks:read")
    .premium(PREMIUM),
    list(
        "getDependentsForTask",
        "/tasks/{task_gid}/dependents",
        Type::Task,
        WAITING,
    )
    .scope("tasks:read")
    .premium(PREMIUM),
    act(
        "addDependenciesForTask",
        "/tasks/{task_gid}/addDependencies",
        dependency_needs,
        add_dependencies,
    )
    .scope("tasks:write")
    .body(&["dependencies"])
    .premium(PREMIUM),
    act(
        "removeDependenciesForTask",
        "/tasks/{task_gid}/removeDependencies",
        dependency_needs,
        remove_dependencies,
    )
    .scope("tasks:write")
    .body(&["dependencies"])
    .premium(PREMIUM),
    act(
        "addDependentsForTask",
        "/tasks/{task_gid}/addDependents",
        dependency_needs,
        add_dependencies,
    )
    .scope("tasks:write")
    .body(&["dependents"])
    .premium(PREMIUM),
    act(
        "removeDependentsForTask",
        "/tasks/{task_gid}/removeDependents",
        dependency_needs,
        remove_dependencies,
    )
    .scope("tasks:write")
    .body(&["dependents"])
    .premium(PREMIUM),
];

const PREMIUM: &str = "Task dependencies are not available for free users.";
const OF_TASK: Lists = Lists::Edges {
    rel: rel::DEPENDS,
    dir: Dir::Out,
    give: Give::Far,
    open: false,
};
const WAITING: Lists = Lists::Edges {
    rel: rel::DEPENDS,
    dir: Dir::In,
    give: Give::Far,
    open: false,
};

/// The most dependencies and dependents a task may have together.
const DEPENDENCIES_MAX: usize = 30;
/// The body field of a dependency operation; dependents are the same edges from the other side.
fn side(call: &Call<'_>) -> &'static str {
    if call.operation.path.ends_with("Dependents") {
        "dependents"
    } else {
        "dependencies"
    }
}

fn dependency_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let on = call.path("task_gid")?;
    let mut want =
        call.want()
            .edges(on.clone(), rel::DEPENDS)
            .into(on, rel::DEPENDS, DEPENDENCIES_MAX + 1);
    for other in call.gids(side(call))? {
        want = want
            .edges(other, rel::DEPENDS)
            .into(other, rel::DEPENDS, DEPENDENCIES_MAX + 1);
    }
    Ok(want)
}

/// The other tasks of the request.
fn others<'v>(call: &Call<'_>, view: &'v View, on: &Node) -> Result<Vec<&'v Node>, Fault> {
    let field = side(call);
    let mut found = Vec::new();
    for (i, gid) in call.gids(field)?.into_iter().enumerate() {
        let other = call.named(
            view,
            &format!("{field}: [{i}]"),
            &Ref::Gid(gid),
            &[Type::Task],
            Level::Viewer,
        )?;
        if other.gid == on.gid {
            return Err(Fault::field(field, "A task cannot depend on itself"));
        }
        if other.home != on.home {
            return Err(Fault::field(field, "Not a task of the same workspace"));
        }
        if !found.iter().any(|n: &&Node| n.gid == other.gid) {
            found.push(other);
        }
    }
    Ok(found)
}

fn add_dependencies(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let on = call.target(view, "task_gid", Level::Editor)?;
    let forward = side(call) == "dependencies";
    let mut work = call.work();
    let held = |gid| view.links(gid, rel::DEPENDS).len() + view.sources(gid, rel::DEPENDS).len();
    let mut count = held(on.gid);
    for other in others(call, view, on)? {
        let (waits, for_it) = if forward {
            (on.gid, other.gid)
        } else {
            (other.gid, on.gid)
        };
        if view.link(waits, rel::DEPENDS, for_it).is_some() {
            continue;
        }
        if view.link(for_it, rel::DEPENDS, waits).is_some() {
            return Err(Fault::field(
                side(call),
                format_args!("Would make two tasks wait for each other: {}", other.gid),
            ));
        }
        count += 1;
        for (task, count) in [(on, count), (other, held(other.gid) + 1)] {
            if count > DEPENDENCIES_MAX {
                return Err(Fault::field(
                    side(call),
                    format_args!(
                        "Too many for {}: a task has at most {DEPENDENCIES_MAX} dependencies and dependents together",
                        task.gid
                    ),
                ));
            }
        }
        work.needs_live(other.gid);
        work.needs_unlinked(for_it, rel::DEPENDS, waits);
        work.link(waits, rel::DEPENDS, for_it, Place::Rank(0), None);
        work.gained(on.gid, Type::Task, side(call), other.gid);
        let kind = if forward {
            "dependency_added"
        } else {
            "dependent_added"
        };
        tell(&mut work, on.gid, on.home, kind, |d| {
            d.set(story::DEPENDENCY, other.gid);
        });
    }
    Ok(Decision::of(work.changes))
}

fn remove_dependencies(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let on = call.target(view, "task_gid", Level::Editor)?;
    let forward = side(call) == "dependencies";
    let mut work = call.work();
    for other in others(call, view, on)? {
        let (waits, for_it) = if forward {
            (on.gid, other.gid)
        } else {
            (other.gid, on.gid)
        };
        if view.link(waits, rel::DEPENDS, for_it).is_some() {
            work.unlink(waits, rel::DEPENDS, for_it);
            work.lost(on.gid, Type::Task, side(call), other.gid);
        }
    }
    Ok(Decision::of(work.changes))
}
