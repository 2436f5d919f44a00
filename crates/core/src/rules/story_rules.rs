//! Stories: comments, and the system's sentences about changes.
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::json_string;
use crate::model::registry::{Type, rel};
use crate::model::resources::{story, task};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ChangeAction, ListPosition};
use std::borrow::Cow;
use workgraph_richtext as rich_text;

/// Writes a system story on a task; `more` adds the fields of that kind of story. The module `mentions` composes the
/// sentence from these fields, for each reader.
pub fn add_system_story(
    work: &mut ChangeBuilder<'_>,
    on: Gid,
    workspace: Option<Gid>,
    kind: &str,
    more: impl FnOnce(&mut Draft),
) -> Gid {
    let mut draft = work.draft(Type::Story, workspace);
    draft.set(story::CREATED_AT, work.now);
    draft.set(story::SUBTYPE, kind);
    draft.set(story::CREATED_BY, work.changes.actor);
    more(&mut draft);
    add_story(work, &draft, on)
}

/// Adds a story to a task or goal.
pub fn add_story(work: &mut ChangeBuilder<'_>, draft: &Draft, on: Gid) -> Gid {
    let gid = work.create(draft, Some(on));
    work.link(gid, rel::STORY_OF, on, ListPosition::Rank(0), None);
    gid
}

/// Writes the stories for the changed fields of a task.
pub fn add_task_stories(work: &mut ChangeBuilder<'_>, draft: &Draft) {
    let (on, workspace) = (draft.gid, draft.workspace);
    if draft.changed(task::NAME) && !draft.is_new() {
        let (old, new) = (
            owned(draft.before(task::NAME)),
            owned(draft.get(task::NAME)),
        );
        add_system_story(work, on, workspace, "name_changed", |d| {
            d.set(story::OLD_NAME, old.as_str());
            d.set(story::NEW_NAME, new.as_str());
        });
    }
    if !draft.is_new() && is_rewritten(draft) {
        add_system_story(work, on, workspace, "notes_changed", |_| {});
    }
    if draft.changed(task::ASSIGNEE) {
        let (kind, assignee) = match draft.get(task::ASSIGNEE) {
            Some(new) => ("assigned", Some(new)),
            None => ("unassigned", draft.before(task::ASSIGNEE)),
        };
        add_system_story(work, on, workspace, kind, |d| {
            d.set(story::ASSIGNEE, assignee)
        });
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
        add_system_story(work, on, workspace, kind, |_| {});
    }
    if draft.changed(task::APPROVAL_STATUS) && !draft.is_new() {
        let (old, new) = (
            owned(draft.before(task::APPROVAL_STATUS)),
            owned(draft.get(task::APPROVAL_STATUS)),
        );
        add_system_story(work, on, workspace, "approval_status_changed", |d| {
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
        add_system_story(work, on, workspace, "resource_subtype_changed", |d| {
            d.set(story::OLD_SUBTYPE, old.as_str());
            d.set(story::NEW_SUBTYPE, new.as_str());
        });
    }
}

/// Returns true if the description has different words, or links to different objects.
fn is_rewritten(draft: &Draft) -> bool {
    let links = |html: Option<Cow<'_, str>>| html.map(|h| rich_text::links(&h)).unwrap_or_default();
    draft.changed(task::NOTES)
        || (draft.changed(task::HTML_NOTES)
            && links(draft.before(task::HTML_NOTES)) != links(draft.get(task::HTML_NOTES)))
}

fn owned(text: Option<Cow<'_, str>>) -> String {
    text.map(Cow::into_owned).unwrap_or_default()
}

fn dates(work: &mut ChangeBuilder<'_>, draft: &Draft, kind: &str) {
    let json = |on: Option<String>, at: Option<String>, start: Option<String>| {
        let text = |v: Option<String>| v.map_or_else(|| "null".to_owned(), |t| json_string(&t));
        format!(
            "{{\"start_on\":{},\"due_at\":{},\"due_on\":{}}}",
            text(start),
            text(at),
            text(on)
        )
    };
    let show = |d: Option<crate::model::time::Date>| d.map(|d| d.to_string());
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
    add_system_story(work, draft.gid, draft.workspace, kind, |d| {
        d.set(story::OLD_DATES, old);
        d.set(story::NEW_DATES, new);
    });
}

/// Trashes a story and records its removal from a task.
pub fn record_story_removed(work: &mut ChangeBuilder<'_>, gid: Gid, on: Option<Gid>) {
    work.trash(gid, Type::Story);
    if let Some(parent) = on {
        work.add_change_record(gid, Type::Story, ChangeAction::Removed { parent });
    }
}
