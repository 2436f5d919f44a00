//! Custom field settings: the custom fields of the tasks of a project, of the items of a portfolio, or of a goal.
use super::custom_fields::{self, FieldDefinition, define};
use super::list_position::{InsertInputs, InsertPosition, RequestedPosition, insert_beside};
use crate::operation::inputs::path::{
    self, PathGoal, PathNode, PathPortfolio, PathProjectOrTaskList,
};
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, parse_gid,
};
use crate::operation::rows::action;
use crate::operation::steps::Steps;
use crate::operation::{Decision, ListDefinition, Operation, list};
use crate::request_context::{RequestContext, require_level};
use serde_json::Value;
use std::marker::PhantomData;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::access::gate::least_to_customize;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::numbering::Numbering;
use workgraph_core::jobs::{self, JobKind};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::custom_field::FIELDS_MAX;
use workgraph_core::model::resources::{custom_field_setting, project};
use workgraph_core::model::validate::reference;
use workgraph_core::rules::{auto_id_rules, custom_field_rules};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{EdgeEnd, LinkSelector, ListPosition, NodeRef, ReadQuery, ReadView};

/// Operations on custom field settings: a part of [`TABLES`](super::TABLES).
pub static CUSTOM_FIELD_SETTINGS: &[Operation] = &[
    list(
        "getCustomFieldSettingsForProject",
        "/projects/{project_gid}/custom_field_settings",
        Type::CustomFieldSetting,
        OF_CONTAINER,
    )
    .at(&path::PROJECT_OR_TASK_LIST.def)
    .scope("projects:read")
    .paid_only(PREMIUM),
    list(
        "getCustomFieldSettingsForTeam",
        "/teams/{team_gid}/custom_field_settings",
        Type::CustomFieldSetting,
        OF_CONTAINER,
    )
    .scope("teams:read")
    .paid_only(PREMIUM),
    action(
        "addCustomFieldSettingForProject",
        "/projects/{project_gid}/addCustomFieldSetting",
        &Steps::<AddSetting<PathProjectOrTaskList>, _>::new(add_needs, add),
    )
    .scope("projects:write")
    .responds_with(Type::CustomFieldSetting)
    .paid_only(PREMIUM),
    action(
        "removeCustomFieldSettingForProject",
        "/projects/{project_gid}/removeCustomFieldSetting",
        &Steps::<RemoveSetting<PathProjectOrTaskList>, _>::new(remove_needs, remove),
    )
    .scope("projects:write")
    .paid_only(PREMIUM),
    list(
        "getCustomFieldSettingsForPortfolio",
        "/portfolios/{portfolio_gid}/custom_field_settings",
        Type::CustomFieldSetting,
        OF_CONTAINER,
    )
    .scope("portfolios:read")
    .paid_only(PREMIUM),
    action(
        "addCustomFieldSettingForPortfolio",
        "/portfolios/{portfolio_gid}/addCustomFieldSetting",
        &Steps::<AddSetting<PathPortfolio>, _>::new(add_needs, add),
    )
    .scope("portfolios:write")
    .responds_with(Type::CustomFieldSetting)
    .paid_only(PREMIUM),
    action(
        "removeCustomFieldSettingForPortfolio",
        "/portfolios/{portfolio_gid}/removeCustomFieldSetting",
        &Steps::<RemoveSetting<PathPortfolio>, _>::new(remove_needs, remove),
    )
    .scope("portfolios:write")
    .paid_only(PREMIUM),
    list(
        "getCustomFieldSettingsForGoal",
        "/goals/{goal_gid}/custom_field_settings",
        Type::CustomFieldSetting,
        OF_CONTAINER,
    )
    .scope("goals:read")
    .paid_only(PREMIUM),
    action(
        "addCustomFieldSettingForGoal",
        "/goals/{goal_gid}/addCustomFieldSetting",
        &Steps::<AddSetting<PathGoal>, _>::new(add_needs, add),
    )
    .scope("goals:write")
    .responds_with(Type::CustomFieldSetting)
    .paid_only(PREMIUM),
    action(
        "removeCustomFieldSettingForGoal",
        "/goals/{goal_gid}/removeCustomFieldSetting",
        &Steps::<RemoveSetting<PathGoal>, _>::new(remove_needs, remove),
    )
    .scope("goals:write")
    .paid_only(PREMIUM),
];

const PREMIUM: &str = "Custom Field Settings are not available for free users.";
// Not open: only the owner of a task list may see its settings.
const OF_CONTAINER: ListDefinition = ListDefinition::Edges {
    rel: rel::FIELD_ON,
    dir: Direction::In,
    give: EdgeEnd::Aux,
    open: false,
};

const ADDED: Input<AddedField> = Input::parsed(
    InputPlace::Body,
    "custom_field",
    InputType::Node(&[Type::CustomField]),
    read_added,
    "The custom field, one of the same workspace, or the definition of a new one for this object alone.",
)
.required();
const REMOVED: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "custom_field",
    &[Type::CustomField],
    "The custom field to remove.",
)
.required();
const IS_IMPORTANT: Input<bool> = Input::flag(
    InputPlace::Body,
    "is_important",
    "True if lists of the tasks or items show the field.",
);
const BESIDE: InsertInputs = insert_beside(&[Type::CustomFieldSetting]);

/// The field that is added to a project.
enum AddedField {
    /// An existing field.
    Existing(Named<Gid>),
    /// A new field for this project alone.
    Defined(FieldDefinition),
}

fn read_added(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<AddedField>, DomainError> {
    Ok(match inputs.body_value(input) {
        None => None,
        Some(Value::Object(definition)) if !definition.contains_key("gid") => {
            Some(AddedField::Defined(FieldDefinition::of(definition)))
        }
        Some(value) => {
            let node = parse_gid(input.name, &reference(input.name, value)?)?;
            Some(AddedField::Existing(Named { input, node }))
        }
    })
}

/// A project, portfolio or goal, and the custom field to add to it.
struct AddSetting<P> {
    container: Named<Gid>,
    field: AddedField,
    position: RequestedPosition,
    is_important: Deferred<Option<bool>>,
    path: PhantomData<fn() -> P>,
}

impl<P: PathNode> OperationInput for AddSetting<P> {
    const INPUTS: &'static [&'static InputDef] = &[
        &P::INPUT.def,
        &ADDED.def,
        &IS_IMPORTANT.def,
        &BESIDE.before.def,
        &BESIDE.after.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            container: inputs.required(P::INPUT)?,
            field: inputs.required(&ADDED)?,
            position: BESIDE.read(inputs)?,
            is_important: inputs.deferred_optional(&IS_IMPORTANT),
            path: PhantomData,
        })
    }
}

/// A project, portfolio or goal, and the custom field to remove from it.
struct RemoveSetting<P> {
    container: Named<Gid>,
    field: Named<Gid>,
    path: PhantomData<fn() -> P>,
}

impl<P: PathNode> OperationInput for RemoveSetting<P> {
    const INPUTS: &'static [&'static InputDef] = &[&P::INPUT.def, &REMOVED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            container: inputs.required(P::INPUT)?,
            field: inputs.required(&REMOVED)?,
            path: PhantomData,
        })
    }
}

fn add_needs<P: PathNode>(
    call: &RequestContext<'_>,
    input: &AddSetting<P>,
) -> Result<ReadQuery, DomainError> {
    let container = input.container.node;
    let want = jobs::start_needs(call.read_query(), call.job_requester());
    let mut want = want.incoming_edges(container, rel::FIELD_ON, FIELDS_MAX);
    if let AddedField::Existing(field) = &input.field {
        want.add_ref(field.node);
        want.add_ref(
            field
                .node_ref()
                .of(LinkSelector::Aux(rel::FIELD_ON, container)),
        );
    }
    if let Some(neighbour) = input.position.position.neighbour() {
        want.add_ref(NodeRef::Gid(neighbour).of(LinkSelector::Key("custom_field")));
    }
    Ok(want)
}

/// Returns true if a reply may show that a custom field exists.
fn is_shown(call: &RequestContext<'_>, view: &ReadView, field: Gid) -> bool {
    view.node(field)
        .is_some_and(|field| call.is_visible(view, field))
}

/// Returns a project, portfolio or goal, or the caller's task list, if the caller may change its settings.
fn customized<'v>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
    project: &Named<Gid>,
) -> Result<&'v Node, DomainError> {
    let node = call.named_node(view, project, Level::Editor)?;
    require_level(view, node, least_to_customize(node))?;
    Ok(node)
}

/// Returns the list position next to the field of a setting of the same project.
fn list_position(
    call: &RequestContext<'_>,
    view: &ReadView,
    project: Gid,
    anchor: RequestedPosition,
) -> Result<Option<ListPosition>, DomainError> {
    let of_setting = |setting: Gid| {
        let edges = view.sources(project, rel::FIELD_ON);
        let edge = edges.iter().find(|e| e.aux == Some(setting));
        edge.map(|e| e.src)
            .filter(|field| is_shown(call, view, *field))
            .ok_or_else(|| DomainError::reference_not_found(anchor.field, setting))
    };
    Ok(match anchor.position {
        InsertPosition::None => None,
        InsertPosition::Before(setting) => Some(ListPosition::Before(of_setting(setting)?)),
        InsertPosition::After(setting) => Some(ListPosition::After(of_setting(setting)?)),
        other => Some(other.list_position(ListPosition::Last)),
    })
}

fn add<P: PathNode>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &AddSetting<P>,
) -> Result<Decision, DomainError> {
    let node = customized(call, view, &input.container)?;
    let position = list_position(call, view, node.gid, input.position)?;
    let important = *input.is_important.get()?;
    let workspace = node.workspace.unwrap_or(node.gid);
    let noun = match node.ty {
        Type::Portfolio => "portfolio",
        Type::Goal => "goal",
        _ => "project",
    };
    let settings = view.sources(node.gid, rel::FIELD_ON);
    let mut work = call.change_builder();
    let gid = match &input.field {
        AddedField::Existing(field) => {
            let found = call.named_node(view, field, Level::Viewer)?;
            if found.workspace != node.workspace {
                return Err(DomainError::field(
                    "custom_field",
                    format_args!("Not a custom field of the {noun}'s workspace"),
                ));
            }
            found.gid
        }
        // Only members make custom fields, as with `createCustomField`.
        AddedField::Defined(_) if !view.viewer.is_member(workspace) => {
            return Err(DomainError::paid_only(custom_fields::PREMIUM));
        }
        AddedField::Defined(definition) => define(call, &mut work, definition, workspace, false)
            .map_err(|f| DomainError::field("custom_field", f.message))?,
    };
    // A field that the project already has only moves and changes its importance.
    if let Some(edge) = settings.iter().find(|e| e.src == gid) {
        let Some(setting) = edge.aux else {
            return Err(DomainError::reference_not_found("custom_field", gid));
        };
        if let Some(position) = position
            .filter(|p| !matches!(p, ListPosition::Before(g) | ListPosition::After(g) if *g == gid))
        {
            work.link(gid, rel::FIELD_ON, node.gid, position, edge.aux);
        }
        if let (Some(important), Some(now)) = (important, view.node(setting)) {
            let mut draft = Draft::edit(now);
            draft.set(custom_field_setting::IS_IMPORTANT, important);
            work.save(&draft);
        }
        return Ok(Decision::about(work.changes, setting));
    }
    if settings.len() >= FIELDS_MAX {
        return Err(DomainError::field(
            "custom_field",
            format_args!("Too many: a {noun} has at most {FIELDS_MAX} custom fields"),
        ));
    }
    let setting = custom_field_rules::add_setting(
        &mut work,
        gid,
        (node.gid, node.ty),
        workspace,
        important.unwrap_or(false),
        position.unwrap_or(ListPosition::Last),
    );
    number(call, view, &mut work, node, gid)?;
    Ok(Decision::about(work.changes, setting))
}

/// Numbers the tasks of the project if the field gives automatic ids: new tasks from now on, existing ones by a job.
fn number(
    call: &RequestContext<'_>,
    view: &ReadView,
    work: &mut ChangeBuilder<'_>,
    node: &Node,
    field: Gid,
) -> Result<(), DomainError> {
    let mut made = work.changes.node_writes.iter().map(|put| &put.node);
    let made = made.find(|node| node.gid == field);
    let definition = made.or_else(|| view.node(field));
    if definition.and_then(auto_id_rules::prefix).is_none() {
        return Ok(());
    }
    if node.ty != Type::Project {
        return Err(DomainError::field(
            "custom_field",
            "Only projects can have a field with automatic ids",
        ));
    }
    note(work, node, field, true);
    let plot = JobKind::AssignNumbers(Numbering::new(node.gid, field));
    let workspace = node.workspace.unwrap_or(node.gid);
    jobs::start(
        work,
        view,
        call.job_requester(),
        workspace,
        "number_tasks",
        plot,
        |_| {},
    )?;
    Ok(())
}

/// Records in a project that a field numbers its tasks, or no longer does. This makes no event.
fn note(work: &mut ChangeBuilder<'_>, project: &Node, field: Gid, there: bool) {
    let mut draft = Draft::edit(project);
    draft.set(
        project::NUMBERED_BY,
        auto_id_rules::changed(project, field, there),
    );
    work.save_unrecorded(&draft);
}

fn remove_needs<P: PathNode>(
    call: &RequestContext<'_>,
    input: &RemoveSetting<P>,
) -> Result<ReadQuery, DomainError> {
    let project = input.container.node;
    Ok(call
        .read_query()
        .edge(input.field.node, rel::FIELD_ON, project))
}

fn remove<P: PathNode>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &RemoveSetting<P>,
) -> Result<Decision, DomainError> {
    let node = customized(call, view, &input.container)?;
    let gid = input.field.node;
    let found = view.link(gid, rel::FIELD_ON, node.gid);
    let Some(edge) = found.filter(|_| is_shown(call, view, gid)) else {
        return Err(DomainError::field_not_on_object(gid));
    };
    let mut work = call.change_builder();
    work.unlink(gid, rel::FIELD_ON, node.gid);
    if let Some(setting) = edge.aux {
        work.trash(setting, Type::CustomFieldSetting);
        work.record_removed(node.gid, node.ty, "custom_field_settings", setting);
    }
    if auto_id_rules::numbering(node).any(|field| field == gid) {
        note(&mut work, node, gid, false);
    }
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
