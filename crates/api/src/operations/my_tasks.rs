//! Putting a task into the caller's own task list, as clients did before lists had sections.
use super::placing::Anchor;
use super::task_creation::refer;
use super::task_fields::assign;
use crate::call::Call;
use crate::operation::Decision;
use serde_json::{Map, Value};
use workgraph_core::access::Level;
use workgraph_core::check::{self, Inputs};
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Place, Ref, View, Want};
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::task;
use workgraph_core::rules::stories;

/// The path parameter that names the list.
pub(super) const LIST: &str = "user_task_list_gid";

/// Returns the inputs that assign a task to the caller.
fn own_assignment(call: &Call<'_>) -> Result<Inputs, Fault> {
    let me = Value::String(call.me().to_string());
    let data = Map::from_iter([("assignee".to_owned(), me)]);
    check::inputs(&task::TASK, &data, false)
}

pub(super) fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let on = Ref::Gid(call.required_gid("task")?);
    let mut want = call
        .want()
        .into(call.path(LIST)?, rel::SECTION_OF, 1)
        .edges(on.clone(), rel::MY_TASKS)
        .edge(on.clone(), rel::FOLLOWERS, call.me());
    if let Some(neighbour) = Anchor::read(call, "insert_before", "insert_after")?.neighbour() {
        want = want.edges(neighbour, rel::MY_TASKS);
    }
    refer(call, want, &own_assignment(call)?, &on)
}

/// Assigns the task to the owner of the list, who alone may change it. Without a position it goes to the
/// top of the first section, and else to the section that its neighbour is in.
pub(super) fn insert(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let list = call.target(view, LIST, Level::Editor)?;
    let name = Ref::Gid(call.required_gid("task")?);
    let on = call.named(view, "task", &name, &[Type::Task], Level::Editor)?;
    if on.home != list.home {
        return Err(Fault::field("task", "Not a task of the list's workspace"));
    }
    let home = on.home.unwrap_or(on.gid);
    let anchor = Anchor::read(call, "insert_before", "insert_after")?;
    let section = match anchor.neighbour() {
        Some(gid) if gid == on.gid => {
            return Err(Fault::invalid("A task cannot be placed next to itself"));
        }
        Some(gid) => {
            let mut edges = view.links(gid, rel::MY_TASKS).iter();
            let edge = edges.find(|edge| edge.aux == Some(list.gid));
            let edge = edge.ok_or_else(|| {
                Fault::invalid(format!(
                    "The task to insert next to is not in this list: {gid}"
                ))
            })?;
            edge.dst
        }
        None => match view.sources(list.gid, rel::SECTION_OF).first() {
            Some(edge) => edge.src,
            None => return Err(Fault::unknown("section", list.gid)),
        },
    };
    let mut work = call.work();
    let mut draft = Draft::edit(on);
    let assignee = assign(
        call,
        view,
        &mut work,
        &mut draft,
        &own_assignment(call)?,
        home,
    )?;
    let assignee = assignee.filter(|_| draft.changed(task::ASSIGNEE));
    // The place that assigning gave is not the one that was asked for.
    let moved = |src, rel| src == on.gid && rel == rel::MY_TASKS;
    work.changes.links.retain(|link| !moved(link.src, link.rel));
    work.needs_links(view, on.gid, rel::MY_TASKS);
    let edges = view.links(on.gid, rel::MY_TASKS).iter();
    for edge in edges.filter(|edge| edge.dst != section) {
        work.unlink(on.gid, rel::MY_TASKS, edge.dst);
    }
    let position = anchor.place(Place::First);
    work.link(on.gid, rel::MY_TASKS, section, position, Some(list.gid));
    if assignee.is_some() && view.link(on.gid, rel::FOLLOWERS, call.me()).is_none() {
        work.link(on.gid, rel::FOLLOWERS, call.me(), Place::Rank(0), None);
        work.gained(on.gid, Type::Task, "followers", call.me());
    }
    let written = draft.clone();
    if draft.changed_keys().next().is_some() {
        draft.set(task::MODIFIED_AT, work.now);
    }
    if work.save(&draft) {
        stories::of_task(&mut work, &written);
    }
    Ok(Decision::of(work.changes))
}
