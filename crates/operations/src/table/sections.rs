//! Sections, and the tasks in them.
use super::placing::InsertPosition;
use crate::method::Method;
use crate::operation::{Decision, ListDefinition, Operation, action, create, get, list, update};
use crate::request_context::RequestContext;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::section;
use workgraph_core::rules::membership_rules;
use workgraph_core::storage::{
    EdgeEnd, Guard, LinkSelector, ListPosition, NodeRef, ReadQuery, ReadView,
};

/// Operations on sections.
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
    action(
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
    action(
        "deleteSection",
        "/sections/{section_gid}",
        delete_needs,
        delete,
    )
    .with_method(Method::Delete),
];

// Not open: a viewer of a task list does not see its sections, only its owner does.
const OF_PROJECT: ListDefinition = ListDefinition::Edges {
    rel: rel::SECTION_OF,
    dir: Direction::In,
    give: EdgeEnd::OtherEnd,
    open: false,
};

fn create_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let place = call.path_ref("project_gid")?;
    let mut want = call.read_query().node(place.clone());
    if let Some(neighbour) =
        InsertPosition::read(call, "insert_before", "insert_after")?.neighbour()
    {
        want = want.edge(neighbour, rel::SECTION_OF, place);
    }
    Ok(want)
}

/// Checks that the neighbour is a section of the same project.
fn beside(
    view: &ReadView,
    field: &str,
    anchor: InsertPosition,
    container: &Node,
) -> Result<(), DomainError> {
    match anchor.neighbour() {
        Some(gid) if view.link(gid, rel::SECTION_OF, container.gid).is_none() => Err(
            DomainError::field(field, format_args!("Not a section of this project: {gid}")),
        ),
        _ => Ok(()),
    }
}

fn create_section(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let container = call.path_node(view, "project_gid", Level::Editor)?;
    let anchor = InsertPosition::read(call, "insert_before", "insert_after")?;
    beside(
        view,
        InsertPosition::field_name(call, "insert_before", "insert_after"),
        anchor,
        container,
    )?;
    let name = name(call)?;
    let mut work = call.change_builder();
    work.require_live(container.gid);
    let home = container.workspace.unwrap_or(container.gid);
    let gid = membership_rules::add_section(
        &mut work,
        container.gid,
        home,
        &name,
        anchor.list_position(ListPosition::Last),
    );
    Ok(Decision::about(work.changes, gid))
}

fn name(call: &RequestContext<'_>) -> Result<String, DomainError> {
    let name = workgraph_core::model::validate::text(
        "name",
        call.required("name")?,
        workgraph_core::model::registry::NAME_MAX,
    )?;
    if name.trim().is_empty() {
        return Err(DomainError::field("name", "Cannot be empty"));
    }
    Ok(name)
}

fn insert_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let place = call.path_ref("project_gid")?;
    let moved = call.required_gid("section")?;
    let mut want =
        call.read_query()
            .node(place.clone())
            .edge(moved, rel::SECTION_OF, place.clone());
    if let Some(neighbour) =
        InsertPosition::read(call, "before_section", "after_section")?.neighbour()
    {
        want = want.edge(neighbour, rel::SECTION_OF, place);
    }
    Ok(want)
}

fn insert(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let container = call.path_node(view, "project_gid", Level::Editor)?;
    let moved = NodeRef::Gid(call.required_gid("section")?);
    let node = call.resolve_ref(view, "section", &moved, &[Type::Section], Level::Editor)?;
    if view
        .link(node.gid, rel::SECTION_OF, container.gid)
        .is_none()
    {
        return Err(DomainError::field(
            "section",
            format_args!("Not a section of this project: {}", node.gid),
        ));
    }
    let anchor = InsertPosition::read(call, "before_section", "after_section")?;
    if anchor == InsertPosition::None {
        return Err(DomainError::invalid(
            "You must specify one of before_section or after_section",
        ));
    }
    beside(
        view,
        InsertPosition::field_name(call, "before_section", "after_section"),
        anchor,
        container,
    )?;
    let mut work = call.change_builder();
    if anchor.neighbour() != Some(node.gid) {
        work.link(
            node.gid,
            rel::SECTION_OF,
            container.gid,
            anchor.list_position(ListPosition::Last),
            None,
        );
        work.record_added(container.gid, container.ty, "sections", node.gid);
    }
    Ok(Decision::of(work.changes))
}

fn needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    Ok(call.read_query().node(call.path_ref("section_gid")?))
}

fn change(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "section_gid", Level::Editor)?;
    let mut draft = Draft::edit(node);
    draft.set(section::NAME, name(call)?.as_str());
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn delete_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let place = call.path_ref("section_gid")?;
    let container = place.clone().of(LinkSelector::FirstEdge(rel::SECTION_OF));
    Ok(call
        .read_query()
        .into(place.clone(), rel::SECTION, 1)
        .into(place, rel::MY_TASKS, 1)
        .into(container, rel::SECTION_OF, 2))
}

/// Deletes a section. It must be empty, and not the last one.
fn delete(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "section_gid", Level::Editor)?;
    if !view.sources(node.gid, rel::SECTION).is_empty()
        || !view.sources(node.gid, rel::MY_TASKS).is_empty()
    {
        return Err(DomainError::invalid(
            "section: Only empty sections can be deleted; move its tasks out first",
        ));
    }
    let mut work = call.change_builder();
    work.trash(node.gid, Type::Section);
    work.changes
        .guards
        .push(Guard::Empty(node.gid, rel::SECTION));
    work.changes
        .guards
        .push(Guard::Empty(node.gid, rel::MY_TASKS));
    if let Some(container) = view.links(node.gid, rel::SECTION_OF).first().map(|e| e.dst) {
        if view.sources(container, rel::SECTION_OF).len() < 2 {
            return Err(DomainError::invalid(
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
