//! Sections, and the tasks in them.
use super::placing::Anchor;
use crate::call::Call;
use crate::operation::{Decision, Lists, Operation, act, create, get, page as list, update};
use crate::request::Method;
use workgraph_core::access::Level;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Give, Guard, Place, Ref, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::section;
use workgraph_core::rules::membership;

/// The rows.
pub static SECTIONS: &[Operation] = &[
    list(
        "getSectionsForProject",
        "/projects/{project_gid}/sections",
        Type::Section,
        OF_PROJECT,
    ),
    create(
        "createSectionForProject",
        "/projects/{project_gid}/sections",
        Type::Section,
        create_needs,
        create_section,
    )
    .body(&["name"]),
    act(
        "insertSectionForProject",
        "/projects/{project_gid}/sections/insert",
        insert_needs,
        insert,
    )
    .body(&["section"]),
    get("getSection", "/sections/{section_gid}", Type::Section),
    update(
        "updateSection",
        "/sections/{section_gid}",
        Type::Section,
        needs,
        change,
    )
    .body(&["name"]),
    act(
        "deleteSection",
        "/sections/{section_gid}",
        delete_needs,
        delete,
    )
    .by(Method::Delete),
];

// Not open: whoever may see a task list does not see its sections, which are its owner's alone.
const OF_PROJECT: Lists = Lists::Edges {
    rel: rel::SECTION_OF,
    dir: Dir::In,
    give: Give::Far,
    open: false,
};

fn create_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let place = call.path("project_gid")?;
    let mut want = call.want().node(place.clone());
    if let Some(neighbour) = Anchor::read(call, "insert_before", "insert_after")?.neighbour() {
        want = want.edge(neighbour, rel::SECTION_OF, place);
    }
    Ok(want)
}

/// The neighbour must be a section of the same project.
fn beside(view: &View, field: &str, anchor: Anchor, container: &Node) -> Result<(), Fault> {
    match anchor.neighbour() {
        Some(gid) if view.link(gid, rel::SECTION_OF, container.gid).is_none() => Err(Fault::field(
            field,
            format_args!("Not a section of this project: {gid}"),
        )),
        _ => Ok(()),
    }
}

fn create_section(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let container = call.target(view, "project_gid", Level::Editor)?;
    let anchor = Anchor::read(call, "insert_before", "insert_after")?;
    beside(
        view,
        Anchor::given(call, "insert_before", "insert_after"),
        anchor,
        container,
    )?;
    let name = name(call)?;
    let mut work = call.work();
    work.needs_live(container.gid);
    let home = container.home.unwrap_or(container.gid);
    let gid = membership::add_section(
        &mut work,
        container.gid,
        home,
        &name,
        anchor.place(Place::Last),
    );
    Ok(Decision::about(work.changes, gid))
}

fn name(call: &Call<'_>) -> Result<String, Fault> {
    let name = workgraph_core::check::text(
        "name",
        call.required("name")?,
        workgraph_core::registry::NAME_MAX,
    )?;
    if name.trim().is_empty() {
        return Err(Fault::field("name", "Cannot be empty"));
    }
    Ok(name)
}

fn insert_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let place = call.path("project_gid")?;
    let moved = call.required_gid("section")?;
    let mut want = call
        .want()
        .node(place.clone())
        .edge(moved, rel::SECTION_OF, place.clone());
    if let Some(neighbour) = Anchor::read(call, "before_section", "after_section")?.neighbour() {
        want = want.edge(neighbour, rel::SECTION_OF, place);
    }
    Ok(want)
}

fn insert(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let container = call.target(view, "project_gid", Level::Editor)?;
    let moved = Ref::Gid(call.required_gid("section")?);
    let node = call.named(view, "section", &moved, &[Type::Section], Level::Editor)?;
    if view
        .link(node.gid, rel::SECTION_OF, container.gid)
        .is_none()
    {
        return Err(Fault::field(
            "section",
            format_args!("Not a section of this project: {}", node.gid),
        ));
    }
    let anchor = Anchor::read(call, "before_section", "after_section")?;
    if anchor == Anchor::None {
        return Err(Fault::invalid(
            "You must specify one of before_section or after_section",
        ));
    }
    beside(
        view,
        Anchor::given(call, "before_section", "after_section"),
        anchor,
        container,
    )?;
    let mut work = call.work();
    if anchor.neighbour() != Some(node.gid) {
        work.link(
            node.gid,
            rel::SECTION_OF,
            container.gid,
            anchor.place(Place::Last),
            None,
        );
        work.gained(container.gid, container.ty, "sections", node.gid);
    }
    Ok(Decision::of(work.changes))
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    Ok(call.want().node(call.path("section_gid")?))
}

fn change(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "section_gid", Level::Editor)?;
    let mut draft = Draft::edit(node);
    draft.set(section::NAME, name(call)?.as_str());
    let mut work = call.work();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn delete_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let place = call.path("section_gid")?;
    let container = place.clone().of(By::Edge(rel::SECTION_OF));
    Ok(call
        .want()
        .into(place.clone(), rel::SECTION, 1)
        .into(place, rel::MY_TASKS, 1)
        .into(container, rel::SECTION_OF, 2))
}

/// Only an empty section can be deleted, and never the last one.
fn delete(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "section_gid", Level::Editor)?;
    if !view.sources(node.gid, rel::SECTION).is_empty()
        || !view.sources(node.gid, rel::MY_TASKS).is_empty()
    {
        return Err(Fault::invalid(
            "section: Only empty sections can be deleted; move its tasks out first",
        ));
    }
    let mut work = call.work();
    work.trash(node.gid, Type::Section);
    work.changes
        .guards
        .push(Guard::Empty(node.gid, rel::SECTION));
    work.changes
        .guards
        .push(Guard::Empty(node.gid, rel::MY_TASKS));
    if let Some(container) = view.links(node.gid, rel::SECTION_OF).first().map(|e| e.dst) {
        if view.sources(container, rel::SECTION_OF).len() < 2 {
            return Err(Fault::invalid(
                "section: The last section of a project cannot be deleted",
            ));
        }
        work.unlink(node.gid, rel::SECTION_OF, container);
        work.changes
            .guards
            .push(Guard::AtLeast(container, rel::SECTION_OF, 2));
    }
    Ok(Decision::of(work.changes))
}
