//! Stories: comments, and the sentences the system writes about changes.
use crate::draft::Draft;
use crate::gid::Gid;
use crate::graph::{Action, Place};
use crate::node::{Node, quoted};
use crate::registry::{Type, rel};
use crate::resources::{story, task};
use crate::work::Work;

/// Writes a system story on a task; `more` adds what the kind of story carries.
pub fn tell(
    work: &mut Work<'_>,
    on: Gid,
    home: Option<Gid>,
    kind: &str,
    text: &str,
    more: impl FnOnce(&mut Draft),
) -> Gid {
    let mut draft = work.draft(Type::Story, home);
    draft.set(story::CREATED_AT, work.now);
    draft.set(story::SUBTYPE, kind);
    draft.set(story::TEXT, text);
    draft.set(story::CREATED_BY, work.changes.actor);
    more(&mut draft);
    add(work, &draft, on)
}

/// Puts a story on a task.
pub fn add(work: &mut Work<'_>, draft: &Draft, on: Gid) -> Gid {
    let gid = work.create(draft, Some(on));
    work.link(gid, rel::STORY_OF, on, Place::Rank(0), None);
    gid
}

/// Writes the stories that follow from the changed fields of a task.
pub fn of_task(work: &mut Work<'_>, draft: &Draft, assignee: Option<&Node>) {
    let (on, home) = (draft.gid, draft.home);
    if draft.changed(task::NAME) && !draft.is_new() {
        let (old, new) = (
            owned(draft.before(task::NAME)),
            owned(draft.get(task::NAME)),
        );
        tell(
            work,
            on,
            home,
            "name_changed",
            &format!("changed the name to \"{new}\""),
            |d| {
                d.set(story::OLD_NAME, old.as_str());
                d.set(story::NEW_NAME, new.as_str());
            },
        );
    }
    if draft.changed(task::NOTES) && !draft.is_new() {
        tell(
            work,
            on,
            home,
            "notes_changed",
            "changed the description",
            |_| {},
        );
    }
    if draft.changed(task::ASSIGNEE) {
        match assignee {
            Some(user) => {
                tell(
                    work,
                    on,
                    home,
                    "assigned",
                    &format!("assigned to {}", user.title()),
                    |d| d.set(story::ASSIGNEE, user.gid),
                );
            }
            None => {
                let old = draft.before(task::ASSIGNEE);
                tell(work, on, home, "unassigned", "unassigned", |d| {
                    d.set(story::ASSIGNEE, old)
                });
            }
        }
    }
    if !draft.is_new() && (draft.changed(task::DUE_ON) || draft.changed(task::DUE_AT)) {
        dates(
            work,
            draft,
            "due_date_changed",
            "due date",
            draft.get(task::DUE_ON).map(|d| d.to_string()),
        );
    }
    if !draft.is_new() && (draft.changed(task::START_ON) || draft.changed(task::START_AT)) {
        dates(
            work,
            draft,
            "start_date_changed",
            "start date",
            draft.get(task::START_ON).map(|d| d.to_string()),
        );
    }
    if draft.changed(task::COMPLETED) {
        let (kind, text) = if draft.get(task::COMPLETED) {
            ("marked_complete", "marked this task complete")
        } else {
            ("marked_incomplete", "marked this task incomplete")
        };
        tell(work, on, home, kind, text, |_| {});
    }
    if draft.changed(task::APPROVAL_STATUS) && !draft.is_new() {
        let (old, new) = (
            owned(draft.before(task::APPROVAL_STATUS)),
            owned(draft.get(task::APPROVAL_STATUS)),
        );
        tell(
            work,
            on,
            home,
            "approval_status_changed",
            &format!("changed the approval status to {new}"),
            |d| {
                d.set(
                    story::OLD_APPROVAL,
                    Some(old.as_str()).filter(|s| !s.is_empty()),
                );
                d.set(
                    story::NEW_APPROVAL,
                    Some(new.as_str()).filter(|s| !s.is_empty()),
                );
            },
        );
    }
    if draft.changed(task::SUBTYPE) && !draft.is_new() {
        let (old, new) = (
            owned(draft.before(task::SUBTYPE)),
            owned(draft.get(task::SUBTYPE)),
        );
        tell(
            work,
            on,
            home,
            "resource_subtype_changed",
            &format!("changed the type to {new}"),
            |d| {
                d.set(story::OLD_SUBTYPE, old.as_str());
                d.set(story::NEW_SUBTYPE, new.as_str());
            },
        );
    }
}

fn owned(text: Option<std::borrow::Cow<'_, str>>) -> String {
    text.map(std::borrow::Cow::into_owned).unwrap_or_default()
}

fn dates(work: &mut Work<'_>, draft: &Draft, kind: &str, what: &str, to: Option<String>) {
    let json = |on: Option<String>, at: Option<String>, start: Option<String>| {
        let text = |v: Option<String>| v.map_or_else(|| "null".to_owned(), |t| quoted(&t));
        format!(
            "{{\"start_on\":{},\"due_at\":{},\"due_on\":{}}}",
            text(start),
            text(at),
            text(on)
        )
    };
    let show = |d: Option<crate::time::Date>| d.map(|d| d.to_string());
    let old = json(
        show(draft.before(task::DUE_ON)),
        draft.before(task::DUE_AT).map(|t| t.to_string()),
        show(draft.before(task::START_ON)),
    );
    let new = json(
        show(draft.get(task::DUE_ON)),
        draft.get(task::DUE_AT).map(|t| t.to_string()),
        show(draft.get(task::START_ON)),
    );
    let text = match to {
        Some(day) => format!("changed the {what} to {day}"),
        None => format!("removed the {what}"),
    };
    tell(work, draft.gid, draft.home, kind, &text, |d| {
        d.set(story::OLD_DATES, old);
        d.set(story::NEW_DATES, new);
    });
}

/// Notes that a story was removed from a task.
pub fn remove(work: &mut Work<'_>, gid: Gid, on: Option<Gid>) {
    work.trash(gid, Type::Story);
    if let Some(parent) = on {
        work.fact(gid, Type::Story, Action::Removed { parent });
    }
}
