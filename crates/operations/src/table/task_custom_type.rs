//! The custom type of a task, and the task's status in it.
use crate::request_context::{RequestContext, parse_gid};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{custom_type, task};
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::storage::{LinkSelector, NodeRef, ReadQuery, ReadView};

const TYPE: &str = task::CUSTOM_TYPE.def.name;
const STATUS: &str = task::CUSTOM_TYPE_STATUS.def.name;

/// Returns true if a body changes a field that the custom type or the status depends on.
fn is_touched(inputs: &CheckedInputs) -> bool {
    [TYPE, STATUS, "completed", "resource_subtype"]
        .iter()
        .any(|name| inputs.has(name))
}

/// Adds the custom type that a body names, and the task's current one.
pub(super) fn needs(
    mut query: ReadQuery,
    inputs: &CheckedInputs,
    task: Option<&NodeRef>,
) -> Result<ReadQuery, DomainError> {
    if let Some(InputValue::Ref(text)) = inputs.get(TYPE) {
        query = query.edges(parse_gid(TYPE, text)?, rel::CUSTOM_TYPE_ON);
        if let Some(task) = task {
            query = query.edges(task.clone(), rel::SECTION);
        }
    }
    if let Some(task) = task.filter(|_| is_touched(inputs)) {
        query.add_ref(task.clone().of(LinkSelector::Key(TYPE)));
    }
    Ok(query)
}

/// Writes the custom type and the status into a draft, whose other fields have the values from the body. The status and
/// `completed` follow from each other. A new task will be in these projects.
pub(super) fn write(
    call: &RequestContext<'_>,
    view: &ReadView,
    draft: &mut Draft,
    inputs: &CheckedInputs,
    projects: &[Gid],
) -> Result<(), DomainError> {
    if !is_touched(inputs) {
        return Ok(());
    }
    let is_custom =
        |draft: &Draft| draft.get(task::SUBTYPE).as_deref() == Some(custom_type::SUBTYPE);
    match inputs.get(TYPE) {
        Some(InputValue::Ref(text)) => {
            let name = NodeRef::Gid(parse_gid(TYPE, text)?);
            let named = call.resolve_ref(view, TYPE, &name, &[Type::CustomType], Level::Viewer)?;
            if named.workspace != draft.workspace {
                return Err(DomainError::field(
                    TYPE,
                    "Not a custom type of the same workspace",
                ));
            }
            if inputs.has("resource_subtype") && !is_custom(draft) {
                return Err(DomainError::field(
                    TYPE,
                    "Only tasks with resource_subtype custom have one",
                ));
            }
            if draft.get(task::CUSTOM_TYPE) != Some(named.gid) {
                require_common_project(view, draft, named.gid, projects)?;
            }
            draft.set(task::CUSTOM_TYPE, named.gid);
            draft.set(task::SUBTYPE, custom_type::SUBTYPE);
        }
        Some(_) => {
            draft.clear(task::CUSTOM_TYPE);
            if is_custom(draft) && !inputs.has("resource_subtype") {
                draft.clear(task::SUBTYPE);
            }
        }
        None if !is_custom(draft) => draft.clear(task::CUSTOM_TYPE),
        None => {}
    }
    let of = draft.get(task::CUSTOM_TYPE);
    if of.is_none() && is_custom(draft) {
        let reason = "A task with this subtype has a custom_type";
        return Err(DomainError::field("resource_subtype", reason));
    }
    let of = of.and_then(|gid| view.node(gid));
    let statuses = of.map(custom_type::statuses).unwrap_or_default();
    match inputs.get(STATUS) {
        Some(InputValue::Ref(text)) => {
            let named = parse_gid(STATUS, text)?;
            set_status(draft, &statuses, named, inputs)
        }
        _ => {
            let (now, completed) = (
                draft.get(task::CUSTOM_TYPE_STATUS),
                draft.get(task::COMPLETED),
            );
            let fits = |(gid, complete): &&(Gid, bool)| {
                *complete == completed && now.is_none_or(|now| now == *gid)
            };
            let first = statuses.iter().find(|(_, complete)| *complete == completed);
            let status = statuses.iter().find(fits).or(first);
            draft.set(task::CUSTOM_TYPE_STATUS, status.map(|(gid, _)| *gid));
            Ok(())
        }
    }
}

/// Checks that one of a task's projects has the custom type. A task that is in no project may have any type.
fn require_common_project(
    view: &ReadView,
    draft: &Draft,
    custom_type: Gid,
    projects: &[Gid],
) -> Result<(), DomainError> {
    let mut projects = projects.to_vec();
    if !draft.is_new() {
        let sections = view.links(draft.gid, rel::SECTION).iter();
        projects.extend(sections.filter_map(|edge| edge.aux));
    }
    let with_type = view.links(custom_type, rel::CUSTOM_TYPE_ON);
    let has_type = |project: &Gid| with_type.iter().any(|edge| edge.dst == *project);
    if projects.is_empty() || projects.iter().any(has_type) {
        return Ok(());
    }
    let reason =
        "Not a custom type of a project of the task; GET /custom_types lists those of a project";
    Err(DomainError::field(TYPE, reason))
}

/// Sets the status that a body names, and completes or reopens the task accordingly.
fn set_status(
    draft: &mut Draft,
    statuses: &[(Gid, bool)],
    named: Gid,
    inputs: &CheckedInputs,
) -> Result<(), DomainError> {
    let Some((_, complete)) = statuses.iter().find(|(gid, _)| *gid == named) else {
        let gids: Vec<String> = statuses.iter().map(|(gid, _)| gid.to_string()).collect();
        let reason = match gids.is_empty() {
            true => "Only tasks with a custom type have one".to_owned(),
            false => format!(
                "Not a status of the task's custom type: {named}; it is one of {}",
                gids.join(", ")
            ),
        };
        return Err(DomainError::field(STATUS, reason));
    };
    if inputs.has("completed") && draft.get(task::COMPLETED) != *complete {
        let reason = format_args!("It contradicts the status, by which it is {complete}");
        return Err(DomainError::field("completed", reason));
    }
    draft.set(task::COMPLETED, *complete);
    draft.set(task::CUSTOM_TYPE_STATUS, named);
    Ok(())
}

#[cfg(test)]
mod tests;
