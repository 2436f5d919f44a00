//! Writing a task's own fields: texts, dates, completion, its assignee, likes.
use crate::call::{Call, gid};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::{Given, Inputs};
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Place, Ref, View};
use workgraph_core::node::Node;
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::{section, task, workspace};
use workgraph_core::rules::text;
use workgraph_core::schedule::{Change, Schedule, ScheduleChange, schedule};
use workgraph_core::time::{Date, Time};
use workgraph_core::work::Work;

/// Writes the body's own fields into a draft: texts, dates, completion.
pub(super) fn write(
    call: &Call<'_>,
    view: &View,
    draft: &mut Draft,
    inputs: &Inputs,
) -> Result<(), Fault> {
    inputs.fill(&task::TASK, draft);
    text::write(
        draft,
        inputs,
        task::NOTES,
        task::HTML_NOTES,
        &task::TASK,
        view,
        &call.settings.base_url,
    )?;
    let is = |d: &Draft, subtype: &str| d.get(task::SUBTYPE).as_deref() == Some(subtype);
    let current = Schedule {
        start_on: draft.before(task::START_ON),
        start_at: draft.before(task::START_AT),
        due_on: draft.before(task::DUE_ON),
        due_at: draft.before(task::DUE_AT),
    };
    let day = |name: &str| change_of(inputs, name, |raw| Date::parse(raw).ok());
    let instant = |name: &str| change_of(inputs, name, |raw| Time::parse(raw).ok());
    let change = ScheduleChange {
        start_on: day("start_on"),
        start_at: instant("start_at"),
        due_on: day("due_on"),
        due_at: instant("due_at"),
    };
    let dates = schedule(current, change, is(draft, "milestone"))
        .map_err(|e| Fault::invalid(e.to_string()))?;
    draft.set(task::START_ON, dates.start_on);
    draft.set(task::START_AT, dates.start_at);
    draft.set(task::DUE_ON, dates.due_on);
    draft.set(task::DUE_AT, dates.due_at);
    complete(call, draft, inputs, is(draft, "approval"))
}

fn change_of<T>(inputs: &Inputs, name: &str, parse: impl Fn(&str) -> Option<T>) -> Change<T> {
    match inputs.get(name) {
        None => Change::Absent,
        Some(Given::Stored(raw)) => parse(raw.trim_matches('"')).map_or(Change::Null, Change::Set),
        Some(_) => Change::Null,
    }
}

/// `completed` and `approval_status` follow each other; who and when follow both.
fn complete(
    call: &Call<'_>,
    draft: &mut Draft,
    inputs: &Inputs,
    approval: bool,
) -> Result<(), Fault> {
    if approval {
        let status = draft
            .get(task::APPROVAL_STATUS)
            .map(std::borrow::Cow::into_owned);
        match status {
            Some(status) if inputs.has("approval_status") => {
                draft.set(task::COMPLETED, status != "pending")
            }
            Some(_) if !draft.changed(task::COMPLETED) => {}
            _ => {
                let status = if draft.get(task::COMPLETED) {
                    "approved"
                } else {
                    "pending"
                };
                draft.set(task::APPROVAL_STATUS, status);
            }
        }
    } else {
        if inputs
            .get("approval_status")
            .is_some_and(|g| *g != Given::Null)
        {
            return Err(Fault::field(
                "approval_status",
                "Only tasks with resource_subtype approval have one",
            ));
        }
        draft.set(task::APPROVAL_STATUS, None);
    }
    if draft.changed(task::COMPLETED) {
        let done = draft.get(task::COMPLETED);
        draft.set(task::COMPLETED_AT, done.then_some(call.now));
        draft.set(task::COMPLETED_BY, done.then_some(call.me()));
    }
    Ok(())
}

/// Applies the body's assignee: the user must belong to the workspace; the task moves to their list.
pub(super) fn assign<'v>(
    call: &Call<'_>,
    view: &'v View,
    work: &mut Work<'_>,
    draft: &mut Draft,
    inputs: &Inputs,
    home: Gid,
) -> Result<Option<&'v Node>, Fault> {
    let on = draft.gid;
    let leave = |work: &mut Work<'_>| {
        for edge in view.links(on, rel::MY_TASKS) {
            work.unlink(on, rel::MY_TASKS, edge.dst);
        }
    };
    match inputs.get("assignee") {
        None => {
            if let Some(assignee) = draft.get(task::ASSIGNEE) {
                arrange(call, view, work, on, inputs, assignee)?;
            }
            Ok(None)
        }
        Some(Given::Ref(text)) => {
            let name = call.user("assignee", text)?;
            let organization = view
                .node(home)
                .is_some_and(|w| w.get(workspace::IS_ORGANIZATION));
            let noun = if organization {
                "Organization"
            } else {
                "Workspace"
            };
            // Whoever sees the task sees whom it is assigned to, and may say it again.
            let same = view.resolve(&name);
            let same = same.filter(|who| draft.get(task::ASSIGNEE) == Some(*who));
            let who = match same.and_then(|who| view.node(who)) {
                Some(who) => who,
                None => call.member(view, "assignee", &name, (home, noun))?,
            };
            draft.set(task::ASSIGNEE, who.gid);
            if draft.changed(task::ASSIGNEE) {
                draft.set(
                    task::ASSIGNED_BY,
                    Some(call.me()).filter(|me| *me != who.gid),
                );
                leave(work);
                let list = view.found.iter().find_map(|(r, gid)| match r {
                    Ref::TaskList { user, .. } if **user == name => *gid,
                    _ => None,
                });
                if let Some(list) = list
                    && let Some(edge) = view.sources(list, rel::SECTION_OF).first()
                {
                    work.link(on, rel::MY_TASKS, edge.src, Place::First, Some(list));
                }
            }
            arrange(call, view, work, on, inputs, who.gid)?;
            Ok(Some(who))
        }
        Some(_) => {
            draft.set(task::ASSIGNEE, None);
            draft.set(task::ASSIGNED_BY, None);
            leave(work);
            Ok(None)
        }
    }
}

/// Moves a task to a section of its assignee's list.
fn arrange(
    call: &Call<'_>,
    view: &View,
    work: &mut Work<'_>,
    on: Gid,
    inputs: &Inputs,
    assignee: Gid,
) -> Result<(), Fault> {
    let Some(Given::Ref(text)) = inputs.get("assignee_section") else {
        return Ok(());
    };
    let name = Ref::Gid(gid("assignee_section", text)?);
    let place = call.named(
        view,
        "assignee_section",
        &name,
        &[Type::Section],
        Level::Editor,
    )?;
    let list = place.get(section::PROJECT);
    let seat = view.viewer.seats.iter().find(|s| s.task_list == list);
    if assignee != call.me() || list.is_none() || seat.is_none() {
        return Err(Fault::field(
            "assignee_section",
            "Not a section of the assignee's task list",
        ));
    }
    work.changes
        .links
        .retain(|l| !(l.src == on && l.rel == rel::MY_TASKS));
    for edge in view
        .links(on, rel::MY_TASKS)
        .iter()
        .filter(|e| e.dst != place.gid)
    {
        work.unlink(on, rel::MY_TASKS, edge.dst);
    }
    work.link(on, rel::MY_TASKS, place.gid, Place::Last, list);
    Ok(())
}

/// Applies the caller's like.
pub(super) fn like(call: &Call<'_>, view: &View, work: &mut Work<'_>, on: Gid, inputs: &Inputs) {
    let Some(Given::Stored(raw)) = inputs.get("liked") else {
        return;
    };
    let held = view.link(on, rel::LIKES, call.me()).is_some();
    match (raw == "true", held) {
        (true, false) => {
            let fresh = work.fresh();
            work.link(on, rel::LIKES, call.me(), Place::Rank(0), Some(fresh));
            work.gained(on, Type::Task, "likes", call.me());
        }
        (false, true) => {
            work.unlink(on, rel::LIKES, call.me());
            work.lost(on, Type::Task, "likes", call.me());
        }
        _ => {}
    }
}
