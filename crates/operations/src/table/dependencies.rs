//! Dependencies: tasks that wait for others.
use crate::operation::inputs::{Input, InputDef, InputReader, Named, OperationInput, path};
use crate::operation::rows::action;
use crate::operation::steps::Steps;
use crate::operation::{Decision, ListDefinition, Operation, list};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::story;
use workgraph_core::rules::story_rules::add_system_story;
use workgraph_core::storage::Ring;
use workgraph_core::storage::{EdgeEnd, ListPosition, ReadQuery, ReadView};

/// Operations on dependencies and dependents: a part of [`TABLES`](super::TABLES).
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
        &Steps::new(dependency_needs::<true>, add_dependencies::<true>),
    )
    .scope("tasks:write")
    .paid_only(PREMIUM),
    action(
        "removeDependenciesForTask",
        "/tasks/{task_gid}/removeDependencies",
        &Steps::new(dependency_needs::<true>, remove_dependencies::<true>),
    )
    .scope("tasks:write")
    .paid_only(PREMIUM),
    action(
        "addDependentsForTask",
        "/tasks/{task_gid}/addDependents",
        &Steps::new(dependency_needs::<false>, add_dependencies::<false>),
    )
    .scope("tasks:write")
    .paid_only(PREMIUM),
    action(
        "removeDependentsForTask",
        "/tasks/{task_gid}/removeDependents",
        &Steps::new(dependency_needs::<false>, remove_dependencies::<false>),
    )
    .scope("tasks:write")
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

/// Maximum number of dependencies and dependents of a task together.
const DEPENDENCIES_MAX: usize = 30;

const DEPENDENCIES_OF_TASK: Input<Vec<Named<Gid>>> = Input::gids(
    "dependencies",
    &[Type::Task],
    "The tasks for which the task waits; they are in its workspace.",
)
.required();
const DEPENDENTS_OF_TASK: Input<Vec<Named<Gid>>> = Input::gids(
    "dependents",
    &[Type::Task],
    "The tasks that wait for the task; they are in its workspace.",
)
.required();

/// Returns the input for the other tasks: dependencies, or dependents, which are the same edges from the other side.
const fn side(forward: bool) -> &'static Input<Vec<Named<Gid>>> {
    if forward {
        &DEPENDENCIES_OF_TASK
    } else {
        &DEPENDENTS_OF_TASK
    }
}

/// A task with its dependencies (`FORWARD`) or dependents.
struct LinkedTasks<const FORWARD: bool> {
    task: Named<Gid>,
    others: Vec<Named<Gid>>,
}

impl<const FORWARD: bool> OperationInput for LinkedTasks<FORWARD> {
    const INPUTS: &'static [&'static InputDef] = &[&path::TASK.def, &side(FORWARD).def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            task: inputs.required(&path::TASK)?,
            others: inputs.required(side(FORWARD))?,
        })
    }
}

impl<const FORWARD: bool> LinkedTasks<FORWARD> {
    /// The name of the body field.
    const FIELD: &'static str = side(FORWARD).def.name;

    /// Returns both ends of the edge between the task and another: the waiting task first.
    const fn ends(task: Gid, other: Gid) -> (Gid, Gid) {
        if FORWARD {
            (task, other)
        } else {
            (other, task)
        }
    }
}

fn dependency_needs<const FORWARD: bool>(
    call: &RequestContext<'_>,
    input: &LinkedTasks<FORWARD>,
) -> Result<ReadQuery, DomainError> {
    let on = input.task.node;
    let most = DEPENDENCIES_MAX + 1;
    let mut want = call.read_query().edges(on, rel::DEPENDS);
    want = want.incoming_edges(on, rel::DEPENDS, most);
    for other in &input.others {
        want = want
            .edges(other.node, rel::DEPENDS)
            .incoming_edges(other.node, rel::DEPENDS, most);
        if FORWARD {
            want = want.reachable(other.node, rel::DEPENDS);
        }
    }
    if !FORWARD {
        want = want.reachable(on, rel::DEPENDS);
    }
    Ok(want)
}

fn others<'v, const FORWARD: bool>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
    input: &LinkedTasks<FORWARD>,
    on: &Node,
) -> Result<Vec<&'v Node>, DomainError> {
    let field = LinkedTasks::<FORWARD>::FIELD;
    let mut found = Vec::new();
    for (i, named) in input.others.iter().enumerate() {
        let other = call.resolve_ref(
            view,
            &format!("{field}: [{i}]"),
            &named.node_ref(),
            named.input.types(),
            // The task that waits is the one that changes.
            if FORWARD {
                Level::Viewer
            } else {
                Level::Editor
            },
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

fn add_dependencies<const FORWARD: bool>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &LinkedTasks<FORWARD>,
) -> Result<Decision, DomainError> {
    let field = LinkedTasks::<FORWARD>::FIELD;
    let on = call.named_node(view, &input.task, Level::Editor)?;
    let mut work = call.change_builder();
    let ties = |gid| view.links(gid, rel::DEPENDS).len() + view.sources(gid, rel::DEPENDS).len();
    let mut count = ties(on.gid);
    for other in others(call, view, input, on)? {
        let (waits, for_it) = LinkedTasks::<FORWARD>::ends(on.gid, other.gid);
        if view.link(waits, rel::DEPENDS, for_it).is_some() {
            continue;
        }
        let ring = view.require_no_ring(for_it, rel::DEPENDS, waits);
        ring.map_err(|ring| match ring {
            Ring::Closed => DomainError::field(
                field,
                format_args!("Would make tasks wait for each other: {}", other.gid),
            ),
            Ring::TooLong => DomainError::field(
                field,
                format_args!("Too many tasks wait for each other to add {}", other.gid),
            ),
        })?;
        count += 1;
        for (task, count) in [(on, count), (other, ties(other.gid) + 1)] {
            if count > DEPENDENCIES_MAX {
                return Err(DomainError::field(
                    field,
                    format_args!(
                        "Too many for {}: a task has at most {DEPENDENCIES_MAX} dependencies and dependents together",
                        task.gid
                    ),
                ));
            }
        }
        work.link(waits, rel::DEPENDS, for_it, ListPosition::Rank(0), None);
        work.record_added(on.gid, Type::Task, field, other.gid);
        let kind = if FORWARD {
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

fn remove_dependencies<const FORWARD: bool>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &LinkedTasks<FORWARD>,
) -> Result<Decision, DomainError> {
    let field = LinkedTasks::<FORWARD>::FIELD;
    let on = call.named_node(view, &input.task, Level::Editor)?;
    let mut work = call.change_builder();
    for other in others(call, view, input, on)? {
        let (waits, for_it) = LinkedTasks::<FORWARD>::ends(on.gid, other.gid);
        if view.link(waits, rel::DEPENDS, for_it).is_some() {
            work.unlink(waits, rel::DEPENDS, for_it);
            work.record_removed(on.gid, Type::Task, field, other.gid);
        }
    }
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
