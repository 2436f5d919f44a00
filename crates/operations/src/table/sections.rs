//! Sections, and the tasks in them.
use super::list_position::{InsertInputs, InsertPosition, RequestedPosition, insert_beside};
use crate::method::Method;
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, path,
};
use crate::operation::rows::{action, create, update};
use crate::operation::steps::Steps;
use crate::operation::{Decision, ListDefinition, Operation, get, list};
use crate::request_context::{RequestContext, require_level};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::access::gate::least_to_customize;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, NAME_MAX, Type, rel};
use workgraph_core::model::resources::section;
use workgraph_core::model::validate;
use workgraph_core::rules::membership_rules;
use workgraph_core::storage::{EdgeEnd, LinkSelector, ListPosition, ReadQuery, ReadView};

/// Operations on sections: a part of [`TABLES`](super::TABLES).
pub static SECTIONS: &[Operation] = &[
    list(
        "getSectionsForProject",
        "/projects/{project_gid}/sections",
        Type::Section,
        OF_PROJECT,
    )
    .at(&path::PROJECT_OR_TASK_LIST.def),
    create(
        "createSectionForProject",
        "/projects/{project_gid}/sections",
        Type::Section,
        &Steps::new(create_section_needs, create_section),
    ),
    action(
        "insertSectionForProject",
        "/projects/{project_gid}/sections/insert",
        &Steps::new(insert_section_needs, insert_section),
    ),
    get("getSection", "/sections/{section_gid}", Type::Section),
    update(
        "updateSection",
        "/sections/{section_gid}",
        Type::Section,
        &Steps::new(rename_section_needs, rename_section),
    ),
    action(
        "deleteSection",
        "/sections/{section_gid}",
        &Steps::new(delete_section_needs, delete_section),
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

const NAME: Input<String> = Input::parsed(
    InputPlace::Body,
    "name",
    InputType::Text(NAME_MAX),
    read_name,
    "The name of the section; not empty.",
)
.required();
/// The section that is moved.
const MOVED: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "section",
    &[Type::Section],
    "The section to move, one of the same project.",
)
.required();
const BESIDE: InsertInputs = insert_beside(&[Type::Section]);
const MOVED_BESIDE: InsertInputs = InsertInputs {
    before: Input::gid(
        InputPlace::Body,
        "before_section",
        &[Type::Section],
        "The section before which it is moved; null for the end of the list.",
    )
    .nullable(),
    after: Input::gid(
        InputPlace::Body,
        "after_section",
        &[Type::Section],
        "The section after which it is moved; null for the start of the list.",
    )
    .nullable(),
};

fn read_name(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<String>, DomainError> {
    let Some(value) = inputs.body_value(input) else {
        return Ok(None);
    };
    let name = validate::text(input.name, value, NAME_MAX)?;
    if name.trim().is_empty() {
        return Err(DomainError::field(input.name, "Cannot be empty"));
    }
    Ok(Some(name))
}

/// Inputs of a new section.
struct CreateSection {
    project: Named<Gid>,
    position: RequestedPosition,
    name: Deferred<String>,
}

impl OperationInput for CreateSection {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::PROJECT_OR_TASK_LIST.def,
        &NAME.def,
        &BESIDE.before.def,
        &BESIDE.after.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            project: inputs.required(&path::PROJECT_OR_TASK_LIST)?,
            position: BESIDE.read(inputs)?,
            name: inputs.deferred(&NAME),
        })
    }
}

/// Inputs of a move of a section.
struct InsertSection {
    project: Named<Gid>,
    section: Named<Gid>,
    position: RequestedPosition,
}

impl OperationInput for InsertSection {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::PROJECT_OR_TASK_LIST.def,
        &MOVED.def,
        &MOVED_BESIDE.before.def,
        &MOVED_BESIDE.after.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            project: inputs.required(&path::PROJECT_OR_TASK_LIST)?,
            section: inputs.required(&MOVED)?,
            position: MOVED_BESIDE.read(inputs)?,
        })
    }
}

/// A section, and its new name.
struct RenameSection {
    section: Named<Gid>,
    name: Deferred<String>,
}

impl OperationInput for RenameSection {
    const INPUTS: &'static [&'static InputDef] = &[&path::SECTION.def, &NAME.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        // `insertSectionForProject` moves a section.
        inputs.refuse(&[BESIDE.before.def.name, BESIDE.after.def.name])?;
        Ok(Self {
            section: inputs.required(&path::SECTION)?,
            name: inputs.deferred(&NAME),
        })
    }
}

struct DeleteSection {
    section: Named<Gid>,
}

impl OperationInput for DeleteSection {
    const INPUTS: &'static [&'static InputDef] = &[&path::SECTION.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            section: inputs.required(&path::SECTION)?,
        })
    }
}

/// Checks that the caller may change the sections of a section's project.
fn require_customizer(view: &ReadView, section: &Node) -> Result<(), DomainError> {
    let project = section.get(section::PROJECT).and_then(|gid| view.node(gid));
    project.map_or(Ok(()), |project| {
        require_level(view, project, least_to_customize(project))
    })
}

fn create_section_needs(
    call: &RequestContext<'_>,
    input: &CreateSection,
) -> Result<ReadQuery, DomainError> {
    let project = input.project.node;
    let mut want = call.read_query().node(project);
    if let Some(neighbour) = input.position.position.neighbour() {
        want = want.edge(neighbour, rel::SECTION_OF, project);
    }
    Ok(want)
}

/// Checks that the neighbour is a section of the same project.
fn check_neighbour(
    view: &ReadView,
    requested: RequestedPosition,
    container: &Node,
) -> Result<(), DomainError> {
    match requested.position.neighbour() {
        Some(gid) if view.link(gid, rel::SECTION_OF, container.gid).is_none() => {
            let reason = format_args!("Not a section of this project: {gid}");
            Err(DomainError::field(requested.field, reason))
        }
        _ => Ok(()),
    }
}

fn create_section(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateSection,
) -> Result<Decision, DomainError> {
    let container = call.named_node(view, &input.project, Level::Editor)?;
    require_level(view, container, least_to_customize(container))?;
    check_neighbour(view, input.position, container)?;
    let name = input.name.get()?;
    let mut work = call.change_builder();
    let workspace = container.workspace.unwrap_or(container.gid);
    let gid = membership_rules::add_section(
        &mut work,
        container.gid,
        workspace,
        name,
        input.position.position.list_position(ListPosition::Last),
    );
    Ok(Decision::about(work.changes, gid))
}

fn insert_section_needs(
    call: &RequestContext<'_>,
    input: &InsertSection,
) -> Result<ReadQuery, DomainError> {
    let (project, moved) = (input.project.node, input.section.node);
    let want = call.read_query().node(project);
    let mut want = want.edge(moved, rel::SECTION_OF, project);
    if let Some(neighbour) = input.position.position.neighbour() {
        want = want.edge(neighbour, rel::SECTION_OF, project);
    }
    Ok(want)
}

fn insert_section(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &InsertSection,
) -> Result<Decision, DomainError> {
    let container = call.named_node(view, &input.project, Level::Editor)?;
    require_level(view, container, least_to_customize(container))?;
    let node = call.named_node(view, &input.section, Level::Editor)?;
    if view
        .link(node.gid, rel::SECTION_OF, container.gid)
        .is_none()
    {
        return Err(DomainError::field(
            MOVED.def.name,
            format_args!("Not a section of this project: {}", node.gid),
        ));
    }
    let anchor = input.position.position;
    if anchor == InsertPosition::None {
        return Err(DomainError::invalid(
            "You must specify one of before_section or after_section",
        ));
    }
    check_neighbour(view, input.position, container)?;
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

fn rename_section_needs(
    call: &RequestContext<'_>,
    input: &RenameSection,
) -> Result<ReadQuery, DomainError> {
    let section = input.section.node_ref();
    let project = section
        .clone()
        .of(LinkSelector::Key(section::PROJECT.def.name));
    Ok(call.read_query().node(section).node(project))
}

fn rename_section(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &RenameSection,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.section, Level::Editor)?;
    require_customizer(view, node)?;
    let mut draft = Draft::edit(node);
    draft.set(section::NAME, input.name.get()?.as_str());
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn delete_section_needs(
    call: &RequestContext<'_>,
    input: &DeleteSection,
) -> Result<ReadQuery, DomainError> {
    let section = input.section.node_ref();
    let container = section.clone().of(LinkSelector::FirstEdge(rel::SECTION_OF));
    Ok(call
        .read_query()
        .incoming_edges(section.clone(), rel::SECTION, 1)
        .incoming_edges(section, rel::MY_TASKS, 1)
        .incoming_edges(container, rel::SECTION_OF, 2))
}

/// Deletes a section. It must be empty, and not the last one.
fn delete_section(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DeleteSection,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.section, Level::Editor)?;
    require_customizer(view, node)?;
    if !view.sources(node.gid, rel::SECTION).is_empty()
        || !view.sources(node.gid, rel::MY_TASKS).is_empty()
    {
        return Err(DomainError::invalid(
            "section: Only empty sections can be deleted; move its tasks out first",
        ));
    }
    let mut work = call.change_builder();
    work.trash(node.gid, Type::Section);
    if let Some(container) = view.links(node.gid, rel::SECTION_OF).first().map(|e| e.dst) {
        if view.sources(container, rel::SECTION_OF).len() < 2 {
            return Err(DomainError::invalid(
                "section: The last section of a project cannot be deleted",
            ));
        }
        work.unlink(node.gid, rel::SECTION_OF, container);
    }
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
