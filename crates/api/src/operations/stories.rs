//! Stories: comments and the history of tasks.
use crate::call::Call;
use crate::operation::{Decision, Lists, Operation, act, create, get, page as list, update};
use crate::request::Method;
use std::borrow::Cow;
use workgraph_core::access::Level;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Give, Place, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::{story, task};
use workgraph_core::rich;
use workgraph_core::rules::{stories, text};

/// The rows.
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
    act("deleteStory", "/stories/{story_gid}", needs, delete)
        .by(Method::Delete)
        .scope("stories:delete"),
];

const OF_TASK: Lists = Lists::Edges {
    rel: rel::STORY_OF,
    dir: Dir::In,
    give: Give::Far,
    open: true,
};

fn comment_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let task = call.path("task_gid")?;
    let inputs = call.inputs(Type::Story, true)?;
    let mut want = call.want().edge(task, rel::FOLLOWERS, call.me());
    for gid in text::referenced(&inputs, story::HTML_TEXT) {
        want.add(gid);
    }
    Ok(want)
}

fn comment(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "task_gid", Level::Commenter)?;
    let inputs = call.inputs(Type::Story, true)?;
    let mut work = call.work();
    let mut draft = work.draft(Type::Story, node.home);
    draft.set(story::CREATED_AT, work.now);
    draft.set(story::SUBTYPE, story::COMMENT);
    draft.set(story::CREATED_BY, call.me());
    inputs.fill(&story::STORY, &mut draft);
    text::write(
        &mut draft,
        &inputs,
        story::TEXT,
        story::HTML_TEXT,
        &story::STORY,
        view,
        &call.settings.base_url,
    )?;
    // A link is something said, although its name is not stored.
    let links = |html: Cow<'_, str>| !rich::links(&html).is_empty();
    let says_nothing = draft.get(story::TEXT).is_none_or(|t| t.trim().is_empty())
        && !draft.get(story::HTML_TEXT).is_some_and(links)
        && draft.get(story::STICKER).is_none();
    if says_nothing {
        return Err(Fault::missing("text"));
    }
    work.needs_live(node.gid);
    stories::add(&mut work, &draft, node.gid);
    if view.link(node.gid, rel::FOLLOWERS, call.me()).is_none() {
        // Whoever comments follows from then on.
        work.link(node.gid, rel::FOLLOWERS, call.me(), Place::Rank(0), None);
        work.gained(node.gid, Type::Task, "followers", call.me());
    }
    touch(&mut work, node);
    Ok(Decision::about(work.changes, draft.gid))
}

/// Moves a task's `modified_at`.
fn touch(work: &mut workgraph_core::work::Work<'_>, node: &Node) {
    let mut task = Draft::edit(node);
    task.set(task::MODIFIED_AT, work.now);
    work.save(&task);
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let story = call.path("story_gid")?;
    let inputs = call.inputs(Type::Story, false)?;
    let mut want = call
        .want()
        .node(story.clone())
        .node(story.of(By::Edge(rel::STORY_OF)));
    for gid in text::referenced(&inputs, story::HTML_TEXT) {
        want.add(gid);
    }
    Ok(want)
}

/// Only the author of a comment may change or delete it.
fn own(call: &Call<'_>, node: &Node) -> Result<(), Fault> {
    if !story::is_comment(node) {
        return Err(Fault::forbidden("Only comments can be edited or deleted."));
    }
    if node.get(story::CREATED_BY) != Some(call.me()) {
        return Err(Fault::forbidden(
            "You may only edit or delete your own comments.",
        ));
    }
    Ok(())
}

fn change(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "story_gid", Level::Commenter)?;
    let inputs = call.inputs(Type::Story, false)?;
    let words = ["text", "html_text", "sticker_name"]
        .iter()
        .any(|n| inputs.has(n));
    if words {
        own(call, node)?;
    } else if inputs.has("is_pinned") && !story::is_comment(node) {
        return Err(Fault::field(
            "is_pinned",
            "Only comments and attachments can be pinned",
        ));
    }
    let mut draft = Draft::edit(node);
    inputs.fill(&story::STORY, &mut draft);
    text::write(
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
    let mut work = call.work();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn delete(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "story_gid", Level::Commenter)?;
    own(call, node)?;
    let mut work = call.work();
    let on = view.resolve(&call.path("story_gid")?.of(By::Edge(rel::STORY_OF)));
    stories::remove(&mut work, node.gid, on);
    if let Some(task) = on.and_then(|g| view.node(g)) {
        touch(&mut work, task);
    }
    Ok(Decision::of(work.changes))
}
