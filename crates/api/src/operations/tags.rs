//! Tags, and the tasks that have them.
use super::projects::member_of;
use crate::call::Call;
use crate::driver::page;
use crate::operation::{
    Decision, Listed, Lists, Operation, create, delete, get, page as list, page_of, update,
};
use workgraph_core::access::Level;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Give, Listing, Place, Ref, View, Want};
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::tag;

/// The rows.
pub static TAGS: &[Operation] = &[
    page_of("getTags", "/tags", Type::Tag, tags).scope("tags:read"),
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
        Lists::Home(Type::Tag),
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

const OF_TASK: Lists = Lists::Edges {
    rel: rel::TAGS,
    dir: Dir::Out,
    give: Give::Far,
    open: true,
};

fn tags(call: &Call<'_>) -> Result<Listed, Fault> {
    let mut want = call.want();
    let ty = Type::Tag;
    let from = match call.query_gid("workspace")? {
        Some(workspace) => Listing::Home {
            anchor: want.add(workspace),
            ty,
        },
        None => Listing::Homes { ty },
    };
    Ok(Listed {
        want,
        page: page(from, false),
        computed: false,
        anchor: "workspace",
        anchor_types: &[Type::Workspace],
    })
}

fn place(call: &Call<'_>) -> Result<Ref, Fault> {
    if call.parameter("workspace_gid").is_empty() {
        return call.required_gid("workspace").map(Ref::Gid);
    }
    call.path("workspace_gid")
}

fn create_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let mut want = call.want().node(place(call)?);
    for who in call.users("followers")? {
        want = want.edges(who, rel::WORKSPACES);
    }
    Ok(want)
}

fn create_tag(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let home = if call.parameter("workspace_gid").is_empty() {
        call.named(
            view,
            "workspace",
            &place(call)?,
            &[Type::Workspace],
            Level::Editor,
        )?
    } else {
        call.target(view, "workspace_gid", Level::Editor)?
    };
    let mut work = call.work();
    let mut draft = work.draft(Type::Tag, Some(home.gid));
    call.inputs(Type::Tag, true)?.fill(&tag::TAG, &mut draft);
    draft.set(tag::CREATED_AT, work.now);
    let gid = work.create(&draft, Some(home.gid));
    for name in call.users("followers")? {
        let who = member_of(call, view, "followers", &name, home.gid)?;
        work.link(gid, rel::TAG_FOLLOWERS, who, Place::Rank(0), None);
    }
    Ok(Decision::about(work.changes, gid))
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let on = call.path("tag_gid")?;
    let want = call.want().node(on.clone());
    Ok(call.with_unchanged(Type::Tag, &on, want))
}

fn change(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "tag_gid", Level::Editor)?;
    let mut draft = Draft::edit(node);
    call.changes_of(view, node)?.fill(&tag::TAG, &mut draft);
    let mut work = call.work();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}
