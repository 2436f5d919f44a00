//! Status updates, and project statuses, their old form.
use super::list_filters::CREATED_SINCE;
use crate::method::Method;
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, path, unknown_word,
};
use crate::operation::rows::{action, computed_list, create};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListDefinition, ListRequest, Operation, get, list};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{resource, status_update};
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{CheckedInputs, InputValue, check_inputs};
use workgraph_core::rich_text;
use workgraph_core::rules::{rich_texts, status_rules};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{EdgeEnd, LinkSelector, ListSource, PageQuery, ReadQuery, ReadView};

/// Operations on status updates: a part of [`TABLES`](super::TABLES).
pub static STATUS_UPDATES: &[Operation] = &[
    computed_list(
        "getStatusesForObject",
        "/status_updates",
        Type::StatusUpdate,
        &Description::new(statuses),
    )
    .filtered_by(&[&CREATED_SINCE]),
    create(
        "createStatusForObject",
        "/status_updates",
        Type::StatusUpdate,
        &Steps::<CreateStatus<false>, _>::new(create_needs, create_status),
    ),
    get(
        "getStatus",
        "/status_updates/{status_update_gid}",
        Type::StatusUpdate,
    ),
    action(
        "deleteStatus",
        "/status_updates/{status_update_gid}",
        &Steps::<DeleteStatus<false>, _>::new(delete_needs, delete_status),
    )
    .with_method(Method::Delete),
    list(
        "getProjectStatusesForProject",
        "/projects/{project_gid}/project_statuses",
        Type::ProjectStatus,
        OF_PROJECT,
    ),
    create(
        "createProjectStatusForProject",
        "/projects/{project_gid}/project_statuses",
        Type::ProjectStatus,
        &Steps::<CreateStatus<true>, _>::new(create_needs, create_status),
    ),
    get(
        "getProjectStatus",
        "/project_statuses/{project_status_gid}",
        Type::ProjectStatus,
    ),
    action(
        "deleteProjectStatus",
        "/project_statuses/{project_status_gid}",
        &Steps::<DeleteStatus<true>, _>::new(delete_needs, delete_status),
    )
    .with_method(Method::Delete),
];

const OF_PROJECT: ListDefinition = ListDefinition::Edges {
    rel: rel::STATUS_OF,
    dir: Direction::In,
    give: EdgeEnd::OtherEnd,
    open: true,
};

const LISTED: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "parent",
    status_update::PARENT_TYPES,
    "Lists the status updates of this object, the newest first.",
)
.required();
const PARENT: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "parent",
    status_update::PARENT_TYPES,
    "The object that the status update is about.",
)
.required();
const NEW: Input<CheckedInputs> = Input::new_record(
    Type::StatusUpdate,
    &["status_type"],
    "The fields of the new status update; it needs a text, plain or rich.",
);
const NEW_OLD_FORM: Input<CheckedInputs> = Input::new_record(
    Type::ProjectStatus,
    &[],
    "The fields of the new project status.",
);

/// An object whose status updates are listed.
struct ListStatuses {
    parent: Named<Gid>,
}

impl OperationInput for ListStatuses {
    const INPUTS: &'static [&'static InputDef] = &[&LISTED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let parent = inputs.required(&LISTED)?;
        Ok(Self { parent })
    }
}

/// An object, and the fields of its new status update.
struct CreateStatus<const OLD_FORM: bool> {
    parent: Named<Gid>,
    fields: Deferred<CheckedInputs>,
}

impl<const OLD_FORM: bool> OperationInput for CreateStatus<OLD_FORM> {
    const INPUTS: &'static [&'static InputDef] = if OLD_FORM {
        &[&path::PROJECT.def, &NEW_OLD_FORM.def]
    } else {
        &[&PARENT.def, &NEW.def]
    };
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let (parent, fields) = if OLD_FORM {
            (&path::PROJECT, &NEW_OLD_FORM)
        } else {
            (&PARENT, &NEW)
        };
        Ok(Self {
            parent: inputs.required(parent)?,
            fields: inputs.deferred(fields),
        })
    }
}

/// A status update to delete.
struct DeleteStatus<const OLD_FORM: bool> {
    status: Named<Gid>,
}

impl<const OLD_FORM: bool> DeleteStatus<OLD_FORM> {
    const STATUS: &'static Input<Named<Gid>> = if OLD_FORM {
        &path::PROJECT_STATUS
    } else {
        &path::STATUS_UPDATE
    };
}

impl<const OLD_FORM: bool> OperationInput for DeleteStatus<OLD_FORM> {
    const INPUTS: &'static [&'static InputDef] = &[&Self::STATUS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let status = inputs.required(Self::STATUS)?;
        Ok(Self { status })
    }
}

fn statuses(call: &RequestContext<'_>, input: &ListStatuses) -> Result<ListRequest, DomainError> {
    let mut query = call.read_query();
    let source = ListSource::Edges {
        anchor: query.add_ref(input.parent.node),
        rel: rel::STATUS_OF,
        dir: Direction::In,
        give: EdgeEnd::OtherEnd,
    };
    Ok(ListRequest {
        query,
        page: PageQuery::of(source, true, 0),
        computed: false,
        anchor: LISTED.def.name,
        anchor_types: LISTED.def.types(),
        referenced: Vec::new(),
    })
}

fn create_needs<const OLD_FORM: bool>(
    call: &RequestContext<'_>,
    input: &CreateStatus<OLD_FORM>,
) -> Result<ReadQuery, DomainError> {
    let mut query = call.read_query().node(input.parent.node);
    if let Ok(fields) = input.fields.get() {
        add_linked(&mut query, fields);
    }
    Ok(query)
}

/// Adds the nodes that the text of a new status update links to.
pub(super) fn add_linked(query: &mut ReadQuery, fields: &CheckedInputs) {
    for gid in rich_texts::referenced(fields, status_update::HTML_TEXT) {
        query.add_ref(gid);
    }
}

fn create_status<const OLD_FORM: bool>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateStatus<OLD_FORM>,
) -> Result<Decision, DomainError> {
    let parent = call.named_node(view, &input.parent, Level::Editor)?;
    let fields = input.fields.get()?;
    let ty = if OLD_FORM {
        Type::ProjectStatus
    } else {
        Type::StatusUpdate
    };
    let mut work = call.change_builder();
    let mut draft = Draft::edit(parent);
    let status = draft_status(call, view, &work, &mut draft, (ty, fields))?;
    // The old form may consist of only a colour.
    if !OLD_FORM && says_nothing(&status) {
        return Err(DomainError::missing("text"));
    }
    let gid = status_rules::add_status(&mut work, &status, parent.gid);
    work.save(&draft);
    Ok(Decision::about(work.changes, gid))
}

/// Returns true if a status update has no text. A link is text, although its name is not stored.
fn says_nothing(status: &Draft) -> bool {
    let text = status.get(status_update::TEXT);
    let html = status.get(status_update::HTML_TEXT);
    text.is_none_or(|text| text.trim().is_empty())
        && html.is_none_or(|html| rich_text::links(&html).is_empty())
}

/// Creates a status update of an object from the fields of a record in one of its forms, makes it the object's current one, and
/// returns it.
pub(super) fn draft_status(
    call: &RequestContext<'_>,
    view: &ReadView,
    work: &ChangeBuilder<'_>,
    parent: &mut Draft,
    (ty, fields): (Type, &CheckedInputs),
) -> Result<Draft, DomainError> {
    let rules = status_update::parent_rules(parent.ty)
        .ok_or_else(|| DomainError::reference_not_found("parent", parent.gid))?;
    let mut draft = work.draft(Type::StatusUpdate, parent.workspace);
    draft.set(status_update::SUBTYPE, rules.subtype);
    draft.set(status_update::PARENT, parent.gid);
    draft.set(status_update::CREATED_BY, call.user_gid());
    draft.set(status_update::CREATED_AT, work.now);
    let (_, month, day) = Date::of(work.now).year_month_day();
    let month = usize::try_from(month)
        .ok()
        .and_then(|m| MONTHS.get(m.checked_sub(1)?));
    let title = format!(
        "Status Update - {} {day}",
        month.copied().unwrap_or_default()
    );
    draft.set(status_update::TITLE, title.as_str());
    fields.fill(resource(ty), &mut draft);
    if let Some(InputValue::Stored(color)) = fields.get(status_update::COLOR.def.name)
        && let Some(status_type) = status_update::status_type_of(color.trim_matches('"'))
    {
        draft.set(status_update::STATUS_TYPE, status_type);
    }
    let status_type = draft.get(status_update::STATUS_TYPE).unwrap_or_default();
    if !rules.status_types.contains(&&*status_type) {
        let name = status_update::STATUS_TYPE.def.name;
        return Err(unknown_word(name, &status_type, rules.status_types));
    }
    rich_texts::write(
        &mut draft,
        fields,
        status_update::TEXT,
        status_update::HTML_TEXT,
        &status_update::STATUS_UPDATE,
        view,
        call.base_url(),
    )?;
    status_rules::set_current(parent, Some(&draft.finish()), work.now);
    Ok(draft)
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Reads the status of the project, in the old form, from the body of a project.
pub(super) fn status_in_project(
    inputs: &CheckedInputs,
) -> Result<Option<CheckedInputs>, DomainError> {
    let name = workgraph_core::model::resources::project::CURRENT_STATUS
        .def
        .name;
    let Some(InputValue::Json(serde_json::Value::Object(record))) = inputs.get(name) else {
        return Ok(None);
    };
    let fields = check_inputs(resource(Type::ProjectStatus), record, true);
    fields
        .map(Some)
        .map_err(|fault| DomainError::field(name, fault.message))
}

fn delete_needs<const OLD_FORM: bool>(
    call: &RequestContext<'_>,
    input: &DeleteStatus<OLD_FORM>,
) -> Result<ReadQuery, DomainError> {
    let status = input.status.node_ref();
    let parent = status.clone().of(LinkSelector::Key("parent"));
    let nth = |count| parent.clone().of(LinkSelector::Nth(rel::STATUS_OF, count));
    let query = call.read_query().node(status).node(parent.clone());
    Ok(query.node(nth(0)).node(nth(1)))
}

/// Deletes a status update. Only its author and the admins of the object may do so.
fn delete_status<const OLD_FORM: bool>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DeleteStatus<OLD_FORM>,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.status, Level::Commenter)?;
    let parent = node
        .get(status_update::PARENT)
        .and_then(|gid| view.node(gid));
    let parent = parent.ok_or_else(|| DomainError::not_found("status update", node.gid))?;
    let own = node.get(status_update::CREATED_BY) == Some(call.user_gid());
    if !own && view.level(parent.gid) < Level::Admin {
        return Err(DomainError::forbidden(
            "You may only delete your own status updates.",
        ));
    }
    let parent_ref = input.status.node_ref().of(LinkSelector::Key("parent"));
    let newest = [0, 1].into_iter().filter_map(|count| {
        view.resolve(
            &parent_ref
                .clone()
                .of(LinkSelector::Nth(rel::STATUS_OF, count)),
        )
    });
    let before = newest
        .filter(|gid| *gid != node.gid)
        .find_map(|gid| view.node(gid));
    let mut work = call.change_builder();
    status_rules::remove_status(&mut work, node.gid, parent, before);
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
