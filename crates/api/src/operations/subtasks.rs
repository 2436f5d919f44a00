//! Moving a task under a parent, or out from under one.
use super::placing::Anchor;
use super::tasks::{DEPTH_MAX, shallow};
use crate::call::Call;
use crate::operation::Decision;
use workgraph_core::access::Level;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Action, Place, Ref, View, Want};
use workgraph_core::registry::{Type, rel};

pub(super) fn parent_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let on = call.path("task_gid")?;
    let mut want = call.want().edges(on, rel::PARENT);
    if let Some(parent) = call.body_gid("parent")? {
        let at = want.add(parent);
        want.ancestors.push(at);
        let moved = want.add(call.path("task_gid")?);
        want.heights.push(moved);
        if let Some(neighbour) = Anchor::read(call, "insert_before", "insert_after")?.neighbour() {
            want = want.edge(neighbour, rel::PARENT, parent);
        }
    }
    Ok(want)
}

pub(super) fn set_parent(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let on = call.target(view, "task_gid", Level::Editor)?;
    let anchor = Anchor::read(call, "insert_before", "insert_after")?;
    let mut work = call.work();
    let held = view.links(on.gid, rel::PARENT).first().map(|e| e.dst);
    work.needs_links(view, on.gid, rel::PARENT);
    let Some(parent) = call.body_gid("parent")? else {
        if let Some(old) = held {
            work.unlink(on.gid, rel::PARENT, old);
            work.fact(on.gid, Type::Task, Action::Removed { parent: old });
        }
        return Ok(Decision::about(work.changes, on.gid));
    };
    let parent = call.named(
        view,
        "parent",
        &Ref::Gid(parent),
        &[Type::Task],
        Level::Editor,
    )?;
    if parent.home != on.home {
        return Err(Fault::field("parent", "Not a task of the same workspace"));
    }
    let mut up = Some(parent.gid);
    for _ in 0..=DEPTH_MAX {
        if up == Some(on.gid) {
            return Err(Fault::field(
                "parent",
                "A task cannot be a subtask of itself or of its own subtasks",
            ));
        }
        if let Some(gid) = up {
            // Nor may it become one while this request is decided.
            work.needs_links(view, gid, rel::PARENT);
        }
        up = up
            .and_then(|g| view.links(g, rel::PARENT).first())
            .map(|e| e.dst);
    }
    shallow(view, parent.gid, view.height(on.gid))?;
    if let Some(gid) = anchor.neighbour()
        && (gid == on.gid || view.link(gid, rel::PARENT, parent.gid).is_none())
    {
        return Err(Fault::invalid(format!(
            "The task to insert next to is not a subtask of this parent: {gid}"
        )));
    }
    if let Some(old) = held.filter(|old| *old != parent.gid) {
        work.unlink(on.gid, rel::PARENT, old);
        work.fact(on.gid, Type::Task, Action::Removed { parent: old });
    }
    work.needs_live(parent.gid);
    work.link(
        on.gid,
        rel::PARENT,
        parent.gid,
        anchor.place(Place::Last),
        None,
    );
    if held != Some(parent.gid) {
        work.fact(
            on.gid,
            Type::Task,
            Action::Added {
                parent: Some(parent.gid),
            },
        );
    }
    Ok(Decision::about(work.changes, on.gid))
}
