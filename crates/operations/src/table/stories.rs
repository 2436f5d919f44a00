//! Stories: comments on tasks and goals, and the history of tasks.
use crate::method::Method;
use crate::operation::inputs::path::{self, PathGoal, PathNode, PathTask};
use crate::operation::inputs::{Input, InputDef, InputReader, Named, OperationInput};
use crate::operation::rows::{action, create, update};
use crate::operation::steps::Steps;
use crate::operation::{Decision, ListDefinition, Operation, get, list};
use crate::request_context::RequestContext;
use std::borrow::Cow;
use std::marker::PhantomData;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{resource, story, task};
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::rich_text;
use workgraph_core::rules::sharing::follow_task;
use workgraph_core::rules::{rich_texts, story_rules};
use workgraph_core::storage::{EdgeEnd, LinkSelector, ReadQuery, ReadView};

/// Operations on stories: a part of [`TABLES`](super::TABLES).
pub static STORIES: &[Operation] = &[
    list(
        "getStoriesForTask",
        "/tasks/{task_gid}/stories",
        Type::Story,
        OF_PARENT,
    )
    .scope("stories:read"),
    create(
        "createStoryForTask",
        "/tasks/{task_gid}/stories",
        Type::Story,
        &Steps::<CreateComment<PathTask>, _>::new(comment_needs, comment),
    )
    .scope("stories:write"),
    list(
        "getStoriesForGoal",
        "/goals/{goal_gid}/stories",
        Type::Story,
        OF_PARENT,
    )
    .scope("stories:read"),
    create(
        "createStoryForGoal",
        "/goals/{goal_gid}/stories",
        Type::Story,
        &Steps::<CreateComment<PathGoal>, _>::new(comment_needs, comment),
    )
    .scope("stories:write"),
    get("getStory", "/stories/{story_gid}", Type::Story).scope("stories:read"),
    update(
        "updateStory",
        "/stories/{story_gid}",
        Type::Story,
        &Steps::new(story_needs, update_story),
    )
    .scope("stories:write"),
    action(
        "deleteStory",
        "/stories/{story_gid}",
        &Steps::new(delete_story_needs, delete_story),
    )
    .with_method(Method::Delete)
    .scope("stories:delete"),
];

const OF_PARENT: ListDefinition = ListDefinition::Edges {
    rel: rel::STORY_OF,
    dir: Direction::In,
    give: EdgeEnd::OtherEnd,
    open: true,
};

const NEW: Input<CheckedInputs> =
    Input::new_record(Type::Story, &[], "The fields of the new comment.");
const CHANGED: Input<CheckedInputs> =
    Input::changed_record(Type::Story, "The fields of the story to change.");

/// A task or goal, and the fields of a new comment on it.
struct CreateComment<P> {
    parent: Named<Gid>,
    fields: CheckedInputs,
    path: PhantomData<fn() -> P>,
}

impl<P: PathNode> OperationInput for CreateComment<P> {
    const INPUTS: &'static [&'static InputDef] = &[&P::INPUT.def, &NEW.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            parent: inputs.required(P::INPUT)?,
            fields: inputs.required(&NEW)?,
            path: PhantomData,
        })
    }
}

/// A story, and the fields to change.
struct UpdateStory {
    story: Named<Gid>,
    fields: CheckedInputs,
}

impl OperationInput for UpdateStory {
    const INPUTS: &'static [&'static InputDef] = &[&path::STORY.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            story: inputs.required(&path::STORY)?,
            fields: inputs.required(&CHANGED)?,
        })
    }
}

struct DeleteStory {
    story: Named<Gid>,
}

impl OperationInput for DeleteStory {
    const INPUTS: &'static [&'static InputDef] = &[&path::STORY.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            story: inputs.required(&path::STORY)?,
        })
    }
}

fn comment_needs<P: PathNode>(
    call: &RequestContext<'_>,
    input: &CreateComment<P>,
) -> Result<ReadQuery, DomainError> {
    let mut want = call
        .read_query()
        .edge(input.parent.node, rel::FOLLOWERS, call.user_gid());
    for gid in rich_texts::referenced(&input.fields, story::HTML_TEXT) {
        want.add_ref(gid);
    }
    Ok(want)
}

fn comment<P: PathNode>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateComment<P>,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.parent, Level::Commenter)?;
    let inputs = &input.fields;
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Story, node.workspace);
    draft.set(story::CREATED_AT, work.now);
    draft.set(story::SUBTYPE, story::COMMENT);
    draft.set(story::CREATED_BY, call.user_gid());
    inputs.fill(&story::STORY, &mut draft);
    rich_texts::write(
        &mut draft,
        inputs,
        story::TEXT,
        story::HTML_TEXT,
        &story::STORY,
        view,
        call.base_url(),
    )?;
    require_content(&draft)?;
    story_rules::add_story(&mut work, &draft, node.gid);
    if node.ty == Type::Task
        && view
            .link(node.gid, rel::FOLLOWERS, call.user_gid())
            .is_none()
    {
        // The author of a comment on a task becomes a follower.
        follow_task(&mut work, node.gid, call.user_gid(), view.level(node.gid));
        work.record_added(node.gid, Type::Task, "followers", call.user_gid());
    }
    touch(&mut work, node);
    Ok(Decision::about(work.changes, draft.gid))
}

/// Checks that a comment says something.
fn require_content(comment: &Draft) -> Result<(), DomainError> {
    // A link is content, although its name is not stored.
    let links = |html: Cow<'_, str>| !rich_text::links(&html).is_empty();
    let says_nothing = comment.get(story::TEXT).is_none_or(|t| t.trim().is_empty())
        && !comment.get(story::HTML_TEXT).is_some_and(links)
        && comment.get(story::STICKER).is_none();
    if says_nothing {
        return Err(DomainError::missing("text"));
    }
    Ok(())
}

/// Sets the `modified_at` of a story's node to the current time, if it has one.
fn touch(work: &mut workgraph_core::storage::change_builder::ChangeBuilder<'_>, node: &Node) {
    if resource(node.ty).field("modified_at").is_none() {
        return;
    }
    let mut task = Draft::edit(node);
    task.set(task::MODIFIED_AT, work.now);
    work.save(&task);
}

fn story_and_task(call: &RequestContext<'_>, story: &Named<Gid>) -> ReadQuery {
    let story = story.node_ref();
    call.read_query()
        .node(story.clone())
        .node(story.of(LinkSelector::FirstEdge(rel::STORY_OF)))
}

fn delete_story_needs(
    call: &RequestContext<'_>,
    input: &DeleteStory,
) -> Result<ReadQuery, DomainError> {
    Ok(story_and_task(call, &input.story))
}

fn story_needs(call: &RequestContext<'_>, input: &UpdateStory) -> Result<ReadQuery, DomainError> {
    let mut want = story_and_task(call, &input.story);
    for gid in rich_texts::referenced(&input.fields, story::HTML_TEXT) {
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

fn update_story(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateStory,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.story, Level::Commenter)?;
    let inputs = &input.fields;
    let words = ["text", "html_text", "sticker_name"]
        .iter()
        .any(|n| inputs.has(n));
    if words {
        own(call, node)?;
    } else if inputs.has("is_pinned") && !story::can_be_pinned(node) {
        return Err(DomainError::field(
            "is_pinned",
            "Only comments and attachments can be pinned",
        ));
    }
    let mut draft = Draft::edit(node);
    inputs.fill(&story::STORY, &mut draft);
    rich_texts::write(
        &mut draft,
        inputs,
        story::TEXT,
        story::HTML_TEXT,
        &story::STORY,
        view,
        call.base_url(),
    )?;
    if words {
        require_content(&draft)?;
    }
    if draft.changed(story::TEXT) || draft.changed(story::HTML_TEXT) {
        draft.set(story::IS_EDITED, true);
    }
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn delete_story(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DeleteStory,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.story, Level::Commenter)?;
    own(call, node)?;
    let mut work = call.change_builder();
    let task = LinkSelector::FirstEdge(rel::STORY_OF);
    let on = view.resolve(&input.story.node_ref().of(task));
    story_rules::record_story_removed(&mut work, node.gid, on);
    if let Some(task) = on.and_then(|g| view.node(g)) {
        touch(&mut work, task);
    }
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
