//! Stories: comments, and the sentences the system writes about changes.
use crate::draft::Draft;
use crate::gid::Gid;
use crate::graph::{Action, Place};
use crate::node::quoted;
use crate::registry::{Type, rel};
use crate::resources::{story, task};
use crate::rich;
use crate::work::Work;
use std::borrow::Cow;

/// Writes a system story on a task; `more` adds what the kind of story carries. Its sentence is made
/// from that for each reader, by `mentions`.
pub fn tell(
    work: &mut Work<'_>,
    on: Gid,
    home: Option<Gid>,
    kind: &str,
    more: impl FnOnce(&mut Draft),
) -> Gid {
    let mut draft = work.draft(Type::Story, home);
    draft.set(story::CREATED_AT, work.now);
    draft.set(story::SUBTYPE, kind);
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
pub fn of_task(work: &mut Work<'_>, draft: &Draft) {
    let (on, home) = (draft.gid, draft.home);
    if draft.changed(task::NAME) && !draft.is_new() {
        let (old, new) = (
            owned(draft.before(task::NAME)),
            owned(draft.get(task::NAME)),
        );
        tell(work, on, home, "name_changed", |d| {
            d.set(story::OLD_NAME, old.as_str());
            d.set(story::NEW_NAME, new.as_str());
        });
    }
    if !draft.is_new() && is_rewritten(draft) {
        tell(work, on, home, "notes_changed", |_| {});
    }
    if draft.changed(task::ASSIGNEE) {
        let (kind, who) = match draft.get(task::ASSIGNEE) {
            Some(new) => ("assigned", Some(new)),
            None => ("unassigned", draft.before(task::ASSIGNEE)),
        };
        tell(work, on, home, kind, |d| d.set(story::ASSIGNEE, who));
    }
    if !draft.is_new() && (draft.changed(task::DUE_ON) || draft.changed(task::DUE_AT)) {
        dates(work, draft, "due_date_changed");
    }
    if !draft.is_new() && (draft.changed(task::START_ON) || draft.changed(task::START_AT)) {
        dates(work, draft, "start_date_changed");
    }
    if draft.changed(task::COMPLETED) {
        let kind = if draft.get(task::COMPLETED) {
            "marked_complete"
        } else {
            "marked_incomplete"
        };
        tell(work, on, home, kind, |_| {});
    }
    if draft.changed(task::APPROVAL_STATUS) && !draft.is_new() {
        let (old, new) = (
            owned(draft.before(task::APPROVAL_STATUS)),
            owned(draft.get(task::APPROVAL_STATUS)),
        );
        tell(work, on, home, "approval_status_changed", |d| {
            d.set(
                story::OLD_APPROVAL,
                Some(old.as_str()).filter(|s| !s.is_empty()),
            );
            d.set(
                story::NEW_APPROVAL,
                Some(new.as_str()).filter(|s| !s.is_empty()),
            );
        });
    }
    if draft.changed(task::SUBTYPE) && !draft.is_new() {
        let (old, new) = (
            owned(draft.before(task::SUBTYPE)),
            owned(draft.get(task::SUBTYPE)),
        );
        tell(work, on, home, "resource_subtype_changed", |d| {
            d.set(story::OLD_SUBTYPE, old.as_str());
            d.set(story::NEW_SUBTYPE, new.as_str());
        });
    }
}

/// Whether the description says something else: other words, or links to other objects.
fn is_rewritten(draft: &Draft) -> bool {
    let links = |html: Option<Cow<'_, str>>| html.map(|h| rich::links(&h)).unwrap_or_default();
    draft.changed(task::NOTES)
        || (draft.changed(task::HTML_NOTES)
            && links(draft.before(task::HTML_NOTES)) != links(draft.get(task::HTML_NOTES)))
}

fn owned(text: Option<Cow<'_, str>>) -> String {
    text.map(Cow::into_owned).unwrap_or_default()
}

fn dates(work: &mut Work<'_>, draft: &Draft, kind: &str) {
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
    tell(work, draft.gid, draft.home, kind, |d| {
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
