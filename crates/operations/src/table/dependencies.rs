//! Dependencies: tasks that wait for others.
use crate::operation::{Decision, ListDefinition, Operation, action, list};
use crate::request_context::RequestContext;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::story;
use workgraph_core::rules::story_rules::add_system_story;
use workgraph_core::storage::{EdgeEnd, ListPosition, NodeRef, ReadQuery, ReadView};

/// Operations on dependencies and dependents.
pub static DEPENDENCIES: &[Operation] = &[
    list(
        "getDependenciesForTask",
        "/tasks/{task_gid}/dependencies",
        Type::Task,
        OF_TASK,
    )
    .scope("tasks:read")
    .paid_only(PREMIUM),
    list(
        "getDependentsForTask",
        "/tasks/{task_gid}/dependents",
        Type::Task,
        WAITING,
    )
    .scope("tasks:read")
    .paid_only(PREMIUM),
    action(
        "addDependenciesForTask",
        "/tasks/{task_gid}/addDependencies",
        dependency_needs,
        add_dependencies,
    )
    .scope("tasks:write")
    .body(&["dependencies"])
    .paid_only(PREMIUM),
    action(
        "removeDependenciesForTask",
        "/tasks/{task_gid}/removeDependencies",
        dependency_needs,
        remove_dependencies,
    )
    .scope("tasks:write")
    .body(&["dependencies"])
    .paid_only(PREMIUM),
    action(
        "addDependentsForTask",
        "/tasks/{task_gid}/addDependents",
        dependency_needs,
        add_dependencies,
    )
    .scope("tasks:write")
    .body(&["dependents"])
    .paid_only(PREMIUM),
    action(
        "removeDependentsForTask",
        "/tasks/{task_gid}/removeDependents",
        dependency_needs,
        remove_dependencies,
    )
    .scope("tasks:write")
    .body(&["dependents"])
    .paid_only(PREMIUM),
];

const PREMIUM: &str = "Task dependencies are not available for free users.";
const OF_TASK: ListDefinition = ListDefinition::Edges {
    rel: rel::DEPENDS,
    dir: Direction::Out,
    give: EdgeEnd::OtherEnd,
    open: false,
};
const WAITING: ListDefinition = ListDefinition::Edges {
    rel: rel::DEPENDS,
    dir: Direction::In,
    give: EdgeEnd::OtherEnd,
    open: false,
};

/// The most dependencies and dependents a task may have together.
const DEPENDENCIES_MAX: usize = 30;
/// Returns the body field of a dependency operation; dependents are the same edges from the other side.
fn side(call: &RequestContext<'_>) -> &'static str {
    if call.operation.path.ends_with("Dependents") {
        "dependents"
    } else {
        "dependencies"
    }
}

fn dependency_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let on = call.path_ref("task_gid")?;
    let mut want = call.read_query().edges(on.clone(), rel::DEPENDS).into(
        on,
        rel::DEPENDS,
        DEPENDENCIES_MAX + 1,
    );
    for other in call.gids(side(call))? {
        want = want
            .edges(other, rel::DEPENDS)
            .into(other, rel::DEPENDS, DEPENDENCIES_MAX + 1);
    }
    Ok(want)
}

/// Returns the other tasks of the request.
fn others<'v>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
    on: &Node,
) -> Result<Vec<&'v Node>, DomainError> {
    let field = side(call);
    let mut found = Vec::new();
    for (i, gid) in call.gids(field)?.into_iter().enumerate() {
        let other = call.resolve_ref(
            view,
            &format!("{field}: [{i}]"),
            &NodeRef::Gid(gid),
            &[Type::Task],
            Level::Viewer,
        )?;
        if other.gid == on.gid {
            return Err(DomainError::field(field, "A task cannot depend on itself"));
        }
        if other.workspace != on.workspace {
            return Err(DomainError::field(
                field,
                "Not a task of the same workspace",
            ));
        }
        if !found.iter().any(|n: &&Node| n.gid == other.gid) {
            found.push(other);
        }
    }
    Ok(found)
}

fn add_dependencies(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let on = call.path_node(view, "task_gid", Level::Editor)?;
    let forward = side(call) == "dependencies";
    let mut work = call.change_builder();
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
            return Err(DomainError::field(
                side(call),
                format_args!("Would make two tasks wait for each other: {}", other.gid),
            ));
        }
        count += 1;
        for (task, count) in [(on, count), (other, held(other.gid) + 1)] {
            if count > DEPENDENCIES_MAX {
                return Err(DomainError::field(
                    side(call),
                    format_args!(
                        "Too many for {}: a task has at most {DEPENDENCIES_MAX} dependencies and dependents together",
                        task.gid
                    ),
                ));
            }
        }
        work.require_live(other.gid);
        work.require_unlinked(for_it, rel::DEPENDS, waits);
        work.link(waits, rel::DEPENDS, for_it, ListPosition::Rank(0), None);
        work.record_added(on.gid, Type::Task, side(call), other.gid);
        let kind = if forward {
            "dependency_added"
        } else {
            "dependent_added"
        };
        add_system_story(&mut work, on.gid, on.workspace, kind, |d| {
            d.set(story::DEPENDENCY, other.gid);
        });
    }
    Ok(Decision::of(work.changes))
}

fn remove_dependencies(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    let on = call.path_node(view, "task_gid", Level::Editor)?;
    let forward = side(call) == "dependencies";
    let mut work = call.change_builder();
    for other in others(call, view, on)? {
        let (waits, for_it) = if forward {
            (on.gid, other.gid)
        } else {
            (other.gid, on.gid)
        };
        if view.link(waits, rel::DEPENDS, for_it).is_some() {
            work.unlink(waits, rel::DEPENDS, for_it);
            work.record_removed(on.gid, Type::Task, side(call), other.gid);
        }
    }
    Ok(Decision::of(work.changes))
}
