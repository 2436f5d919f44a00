//! Stories: comments and the history of tasks.
use crate::method::Method;
use crate::operation::{Decision, ListDefinition, Operation, action, create, get, list, update};
use crate::request_context::RequestContext;
use std::borrow::Cow;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{story, task};
use workgraph_core::rich_text;
use workgraph_core::rules::{rich_texts, story_rules};
use workgraph_core::storage::{EdgeEnd, LinkSelector, ListPosition, ReadQuery, ReadView};

/// Operations on stories.
pub static STORIES: &[Operation] = &[
    list(
        "getStoriesForTask",
        "/tasks/{task_gid}/stories",
        Type::Story,
        OF_TASK,
    )
    .scope("stories:read"),
    create(
        "createStoryForTask",
        "/tasks/{task_gid}/stories",
        Type::Story,
        comment_needs,
        comment,
    )
    .scope("stories:write"),
    get("getStory", "/stories/{story_gid}", Type::Story).scope("stories:read"),
    update(
        "updateStory",
        "/stories/{story_gid}",
        Type::Story,
        needs,
        change,
    )
    .scope("stories:write"),
    action("deleteStory", "/stories/{story_gid}", needs, delete)
        .with_method(Method::Delete)
        .scope("stories:delete"),
];

const OF_TASK: ListDefinition = ListDefinition::Edges {
    rel: rel::STORY_OF,
    dir: Direction::In,
    give: EdgeEnd::OtherEnd,
    open: true,
};

fn comment_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let task = call.path_ref("task_gid")?;
    let inputs = call.inputs(Type::Story, true)?;
    let mut want = call
        .read_query()
        .edge(task, rel::FOLLOWERS, call.user_gid());
    for gid in rich_texts::referenced(&inputs, story::HTML_TEXT) {
        want.add_ref(gid);
    }
    Ok(want)
}

fn comment(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "task_gid", Level::Commenter)?;
    let inputs = call.inputs(Type::Story, true)?;
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Story, node.workspace);
    draft.set(story::CREATED_AT, work.now);
    draft.set(story::SUBTYPE, story::COMMENT);
    draft.set(story::CREATED_BY, call.user_gid());
    inputs.fill(&story::STORY, &mut draft);
    rich_texts::write(
        &mut draft,
        &inputs,
        story::TEXT,
        story::HTML_TEXT,
        &story::STORY,
        view,
        &call.settings.base_url,
    )?;
    // A link is content, although its name is not stored.
    let links = |html: Cow<'_, str>| !rich_text::links(&html).is_empty();
    let says_nothing = draft.get(story::TEXT).is_none_or(|t| t.trim().is_empty())
        && !draft.get(story::HTML_TEXT).is_some_and(links)
        && draft.get(story::STICKER).is_none();
    if says_nothing {
        return Err(DomainError::missing("text"));
    }
    work.require_live(node.gid);
    story_rules::add_story(&mut work, &draft, node.gid);
    if view
        .link(node.gid, rel::FOLLOWERS, call.user_gid())
        .is_none()
    {
        // The author of a comment becomes a follower.
        work.link(
            node.gid,
            rel::FOLLOWERS,
            call.user_gid(),
            ListPosition::Rank(0),
            None,
        );
        work.record_added(node.gid, Type::Task, "followers", call.user_gid());
    }
    touch(&mut work, node);
    Ok(Decision::about(work.changes, draft.gid))
}

/// Sets a task's `modified_at` to the present time.
fn touch(work: &mut workgraph_core::storage::change_builder::ChangeBuilder<'_>, node: &Node) {
    let mut task = Draft::edit(node);
    task.set(task::MODIFIED_AT, work.now);
    work.save(&task);
}

fn needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let story = call.path_ref("story_gid")?;
    let inputs = call.inputs(Type::Story, false)?;
    let mut want = call
        .read_query()
        .node(story.clone())
        .node(story.of(LinkSelector::FirstEdge(rel::STORY_OF)));
    for gid in rich_texts::referenced(&inputs, story::HTML_TEXT) {
        want.add_ref(gid);
    }
    Ok(want)
}

/// Checks that the caller is the author: only the author of a comment may change or delete it.
fn own(call: &RequestContext<'_>, node: &Node) -> Result<(), DomainError> {
    if !story::is_comment(node) {
        return Err(DomainError::forbidden(
            "Only comments can be edited or deleted.",
        ));
    }
    if node.get(story::CREATED_BY) != Some(call.user_gid()) {
        return Err(DomainError::forbidden(
            "You may only edit or delete your own comments.",
        ));
    }
    Ok(())
}

fn change(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "story_gid", Level::Commenter)?;
    let inputs = call.inputs(Type::Story, false)?;
    let words = ["text", "html_text", "sticker_name"]
        .iter()
        .any(|n| inputs.has(n));
    if words {
        own(call, node)?;
    } else if inputs.has("is_pinned") && !story::is_comment(node) {
        return Err(DomainError::field(
            "is_pinned",
            "Only comments and attachments can be pinned",
        ));
    }
    let mut draft = Draft::edit(node);
    inputs.fill(&story::STORY, &mut draft);
    rich_texts::write(
        &mut draft,
        &inputs,
        story::TEXT,
        story::HTML_TEXT,
        &story::STORY,
        view,
        &call.settings.base_url,
    )?;
    if draft.changed(story::TEXT) || draft.changed(story::HTML_TEXT) {
        draft.set(story::IS_EDITED, true);
    }
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn delete(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "story_gid", Level::Commenter)?;
    own(call, node)?;
    let mut work = call.change_builder();
    let on = view.resolve(
        &call
            .path_ref("story_gid")?
            .of(LinkSelector::FirstEdge(rel::STORY_OF)),
    );
    story_rules::record_story_removed(&mut work, node.gid, on);
    if let Some(task) = on.and_then(|g| view.node(g)) {
        touch(&mut work, task);
    }
    Ok(Decision::of(work.changes))
}
