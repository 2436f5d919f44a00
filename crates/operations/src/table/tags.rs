//! Tags, and the tasks that have them.
use super::named_users::named_member;
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, RecordUpdate, path,
};
use crate::operation::rows::{computed_list, create, update};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListDefinition, ListRequest, Operation, delete, get, list};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::tag;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::{
    EdgeEnd, ListPosition, ListSource, NodeRef, PageQuery, ReadQuery, ReadView,
};

/// Operations on tags: a part of [`TABLES`](super::TABLES).
pub static TAGS: &[Operation] = &[
    computed_list("getTags", "/tags", Type::Tag, &Description::new(tags)).scope("tags:read"),
    create("createTag", "/tags", Type::Tag, CREATE).scope("tags:write"),
    get("getTag", "/tags/{tag_gid}", Type::Tag).scope("tags:read"),
    update(
        "updateTag",
        "/tags/{tag_gid}",
        Type::Tag,
        &Steps::new(update_tag_needs, update_tag),
    )
    .scope("tags:write"),
    delete("deleteTag", "/tags/{tag_gid}", Level::Editor),
    list(
        "getTagsForTask",
        "/tasks/{task_gid}/tags",
        Type::Tag,
        OF_TASK,
    )
    .scope("tags:read"),
    list(
        "getTagsForWorkspace",
        "/workspaces/{workspace_gid}/tags",
        Type::Tag,
        ListDefinition::InWorkspace(Type::Tag),
    )
    .scope("tags:read"),
    create(
        "createTagForWorkspace",
        "/workspaces/{workspace_gid}/tags",
        Type::Tag,
        CREATE,
    )
    .scope("tags:write"),
];

const CREATE: &Steps<CreateTag, Decision> = &Steps::new(create_tag_needs, create_tag);
const OF_TASK: ListDefinition = ListDefinition::Edges {
    rel: rel::TAGS,
    dir: Direction::Out,
    give: EdgeEnd::OtherEnd,
    open: true,
};

/// The workspace whose tags are listed.
const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "Lists the tags of this workspace. Without it the tags of all workspaces of the user are listed.",
);
/// The workspace of a new tag.
const NEW_WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "workspace",
    &[Type::Workspace],
    "The workspace of the tag; a tag never moves to another.",
)
.required()
.or_in_path(&path::WORKSPACE.def);
/// The followers of a new tag.
const FOLLOWERS: Input<Vec<Named<NodeRef>>> = Input::users(
    "followers",
    "Users who follow the tag from the start; they belong to its workspace.",
);
const NEW: Input<CheckedInputs> = Input::new_record(Type::Tag, &[], "The fields of the new tag.");
const CHANGED: Input<RecordUpdate> =
    Input::updated_record(Type::Tag, "The fields of the tag to change.");

/// Inputs of a list of tags.
struct ListTags {
    workspace: Option<Named<Gid>>,
}

impl OperationInput for ListTags {
    const INPUTS: &'static [&'static InputDef] = &[&WORKSPACE.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.optional(&WORKSPACE)?,
        })
    }
}

fn tags(call: &RequestContext<'_>, input: &ListTags) -> Result<ListRequest, DomainError> {
    let mut query = call.read_query();
    let ty = Type::Tag;
    let source = match &input.workspace {
        Some(workspace) => ListSource::InWorkspace {
            anchor: query.add_ref(workspace.node),
            ty,
        },
        None => ListSource::InViewerWorkspaces { ty },
    };
    Ok(ListRequest {
        query,
        page: PageQuery::of(source, false, 0),
        computed: false,
        anchor: WORKSPACE.def.name,
        anchor_types: WORKSPACE.def.types(),
        referenced: Vec::new(),
    })
}

/// Inputs of a new tag.
struct CreateTag {
    workspace: Named<Gid>,
    followers: Vec<Named<NodeRef>>,
    fields: Deferred<CheckedInputs>,
}

impl OperationInput for CreateTag {
    const INPUTS: &'static [&'static InputDef] = &[&NEW_WORKSPACE.def, &FOLLOWERS.def, &NEW.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&NEW_WORKSPACE)?,
            followers: inputs.or_default(&FOLLOWERS)?,
            fields: inputs.deferred(&NEW),
        })
    }
}

fn create_tag_needs(
    call: &RequestContext<'_>,
    input: &CreateTag,
) -> Result<ReadQuery, DomainError> {
    let mut query = call.read_query().node(input.workspace.node);
    for follower in &input.followers {
        query = query.edges(follower.node.clone(), rel::WORKSPACES);
    }
    Ok(query)
}

fn create_tag(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateTag,
) -> Result<Decision, DomainError> {
    let workspace = call.named_node(view, &input.workspace, Level::Editor)?;
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Tag, Some(workspace.gid));
    input.fields.get()?.fill(&tag::TAG, &mut draft);
    draft.set(tag::CREATED_AT, work.now);
    let gid = work.create(&draft, Some(workspace.gid));
    for follower in &input.followers {
        let follower = named_member(call, view, follower, workspace.gid)?;
        work.link(
            gid,
            rel::TAG_FOLLOWERS,
            follower,
            ListPosition::Rank(0),
            None,
        );
    }
    Ok(Decision::about(work.changes, gid))
}

/// Inputs of a change of a tag.
struct UpdateTag {
    tag: Named<Gid>,
    fields: RecordUpdate,
}

impl OperationInput for UpdateTag {
    const INPUTS: &'static [&'static InputDef] = &[&path::TAG.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            tag: inputs.required(&path::TAG)?,
            fields: inputs.required(&CHANGED)?,
        })
    }
}

fn update_tag_needs(
    call: &RequestContext<'_>,
    input: &UpdateTag,
) -> Result<ReadQuery, DomainError> {
    let tag = input.tag.node_ref();
    let query = call.read_query().node(tag.clone());
    Ok(input.fields.with_unchanged(&tag, query))
}

fn update_tag(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateTag,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.tag, Level::Editor)?;
    let mut draft = Draft::edit(node);
    let fields = input.fields.checked(view, node)?;
    fields.fill(&tag::TAG, &mut draft);
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

#[cfg(test)]
mod tests;
