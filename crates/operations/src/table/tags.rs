//! Tags, and the tasks that have them.
use super::named_users::member_of;
use crate::operation::{
    Decision, ListDefinition, ListRequest, Operation, computed_list, create, delete, get, list,
    update,
};
use crate::request_context::RequestContext;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::tag;
use workgraph_core::storage::{
    EdgeEnd, ListPosition, ListSource, NodeRef, PageQuery, ReadQuery, ReadView,
};

/// Operations on tags.
pub static TAGS: &[Operation] = &[
    computed_list("getTags", "/tags", Type::Tag, tags).scope("tags:read"),
    create("createTag", "/tags", Type::Tag, create_needs, create_tag).scope("tags:write"),
    get("getTag", "/tags/{tag_gid}", Type::Tag).scope("tags:read"),
    update("updateTag", "/tags/{tag_gid}", Type::Tag, needs, change).scope("tags:write"),
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
        create_needs,
        create_tag,
    )
    .scope("tags:write"),
];

const OF_TASK: ListDefinition = ListDefinition::Edges {
    rel: rel::TAGS,
    dir: Direction::Out,
    give: EdgeEnd::OtherEnd,
    open: true,
};

fn tags(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    let ty = Type::Tag;
    let from = match call.query_gid("workspace")? {
        Some(workspace) => ListSource::InWorkspace {
            anchor: want.add_ref(workspace),
            ty,
        },
        None => ListSource::InViewerWorkspaces { ty },
    };
    Ok(ListRequest {
        query: want,
        page: PageQuery::of(from, false, 0),
        computed: false,
        anchor: "workspace",
        anchor_types: &[Type::Workspace],
    })
}

fn place(call: &RequestContext<'_>) -> Result<NodeRef, DomainError> {
    if call.parameter("workspace_gid").is_empty() {
        return call.required_gid("workspace").map(NodeRef::Gid);
    }
    call.path_ref("workspace_gid")
}

fn create_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let mut want = call.read_query().node(place(call)?);
    for who in call.users("followers")? {
        want = want.edges(who, rel::WORKSPACES);
    }
    Ok(want)
}

fn create_tag(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let home = if call.parameter("workspace_gid").is_empty() {
        call.resolve_ref(
            view,
            "workspace",
            &place(call)?,
            &[Type::Workspace],
            Level::Editor,
        )?
    } else {
        call.path_node(view, "workspace_gid", Level::Editor)?
    };
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Tag, Some(home.gid));
    call.inputs(Type::Tag, true)?.fill(&tag::TAG, &mut draft);
    draft.set(tag::CREATED_AT, work.now);
    let gid = work.create(&draft, Some(home.gid));
    for name in call.users("followers")? {
        let who = member_of(call, view, "followers", &name, home.gid)?;
        work.link(gid, rel::TAG_FOLLOWERS, who, ListPosition::Rank(0), None);
    }
    Ok(Decision::about(work.changes, gid))
}

fn needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let on = call.path_ref("tag_gid")?;
    let want = call.read_query().node(on.clone());
    Ok(call.with_unchanged(Type::Tag, &on, want))
}

fn change(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "tag_gid", Level::Editor)?;
    let mut draft = Draft::edit(node);
    call.checked_update(view, node)?.fill(&tag::TAG, &mut draft);
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}
