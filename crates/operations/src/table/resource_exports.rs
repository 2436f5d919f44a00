//! Exports of resources: reading the request, and starting the job.
use super::export_node::create_export_node;
use crate::operation::Decision;
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, parse_gid,
};
use crate::request_context::RequestContext;
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::audit::event_kinds::RESOURCE_EXPORT_STARTED;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::FileEnd;
use workgraph_core::jobs::resource_export::{
    ExportFilters, ExportPart, ExportedKind, PEOPLE, ResourceExport, TIMES,
};
use workgraph_core::jobs::{self, JobKind};
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::job;
use workgraph_core::model::time::Time;
use workgraph_core::model::validate;
use workgraph_core::model::validate::{clip, shown};
use workgraph_core::plan::FieldPaths;
use workgraph_core::storage::{ListPosition, NodeRef, ReadQuery, ReadView};

const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "workspace",
    &[Type::Workspace],
    "The workspace of the resources.",
)
.required();
/// The body field with the parts of the export.
const PARTS: Input<Vec<ExportPart>> = Input::parsed(
    InputPlace::Body,
    "export_request_parameters",
    InputType::Structure,
    |input, inputs| inputs.body_value(input).map(read_parts).transpose(),
    "The parts of the export, at most 20: objects with `resource_type`, and if wanted `filters` and `fields`.",
)
.required();
/// Maximum number of parts of one export.
const PARTS_MAX: usize = 20;
/// Maximum number of users that one filter names.
const USERS_MAX: usize = 100;
/// Maximum number of users that all filters together name: the job stores them in its record, which is written at every
/// checkpoint.
const ALL_USERS_MAX: usize = 200;

/// A workspace, and its resources to export.
pub(super) struct ExportResources {
    workspace: Named<Gid>,
    parts: Vec<ExportPart>,
}

impl OperationInput for ExportResources {
    const INPUTS: &'static [&'static InputDef] = &[&WORKSPACE.def, &PARTS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&WORKSPACE)?,
            parts: inputs.required(&PARTS)?,
        })
    }
}

pub(super) fn needs(
    call: &RequestContext<'_>,
    input: &ExportResources,
) -> Result<ReadQuery, DomainError> {
    let workspace = input.workspace.node;
    let mut want = jobs::start_needs(call.read_query(), call.job_requester()).incoming_edges(
        workspace,
        rel::EXPORTS,
        1,
    );
    let filters = input
        .parts
        .iter()
        .flat_map(|part| &part.filters.user_filters);
    for user in filters.flat_map(|(_, users)| users) {
        want.add_ref(*user);
    }
    Ok(want)
}

pub(super) fn export(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &ExportResources,
) -> Result<Decision, DomainError> {
    let workspace = call.named_node(view, &input.workspace, Level::Viewer)?;
    call.require_plan(view, workspace)?;
    let name_of_parts = PARTS.def.name;
    for (at, part) in input.parts.iter().enumerate() {
        for (name, users) in &part.filters.user_filters {
            for (i, user) in users.iter().enumerate() {
                let field = format!("{name_of_parts}: [{at}]: filters: {name}: [{i}]");
                let (user, types) = (NodeRef::Gid(*user), &[Type::User]);
                call.resolve_ref(view, &field, &user, types, Level::Viewer)?;
            }
        }
    }
    let workspace = workspace.gid;
    if !view.sources(workspace, rel::EXPORTS).is_empty() {
        return Err(DomainError::forbidden(
            "An export of resources of this workspace is in progress; there can be one at a time.",
        ));
    }
    let mut work = call.change_builder();
    work.add_audit_entry(RESOURCE_EXPORT_STARTED, workspace, workspace);
    let new = create_export_node(call, &mut work, Type::ResourceExport, workspace);
    let plot = ResourceExport {
        workspace,
        file_node: new,
        base_url: call.base_url().to_owned(),
        file_end: FileEnd::default(),
        parts: input.parts.clone(),
        after: None,
    };
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        workspace,
        "export_request",
        JobKind::ExportResources(plot),
        |draft| draft.set(job::NEW_RESOURCE_EXPORT, new),
    )?;
    work.link(gid, rel::EXPORTS, workspace, ListPosition::Rank(0), None);
    Ok(Decision::about(work.changes, gid))
}

/// Returns the parts that a body requests.
fn read_parts(value: &Value) -> Result<Vec<ExportPart>, DomainError> {
    let name = PARTS.def.name;
    let list = list(name, value)?;
    if list.is_empty() || list.len() > PARTS_MAX {
        let reason = format_args!("Must have 1 to {PARTS_MAX} items, not: {}", list.len());
        return Err(DomainError::field(name, reason));
    }
    let parts = list.iter().enumerate();
    let parts: Vec<ExportPart> = parts
        .map(|(at, value)| part(&format!("{name}: [{at}]"), value))
        .collect::<Result<_, _>>()?;
    let filters = parts.iter().flat_map(|part| &part.filters.user_filters);
    let users: usize = filters.map(|(_, users)| users.len()).sum();
    if users > ALL_USERS_MAX {
        let reason =
            format_args!("Must name at most {ALL_USERS_MAX} users in all filters, not: {users}");
        return Err(DomainError::field(name, reason));
    }
    Ok(parts)
}

fn part(at: &str, value: &Value) -> Result<ExportPart, DomainError> {
    let map = object(at, value)?;
    let field = format!("{at}: resource_type");
    let word = map.get("resource_type").filter(|v| !v.is_null());
    let word = validate::string(&field, word.ok_or_else(|| DomainError::missing(&field))?)?;
    let known = ExportedKind::NAMES.iter().find(|(name, _)| *name == word);
    let Some((_, what)) = known else {
        let names: Vec<&str> = ExportedKind::NAMES.iter().map(|(name, _)| *name).collect();
        let (word, names) = (clip(word), names.join(", "));
        let reason = format_args!("Not a recognized value: {word}; it is one of {names}");
        return Err(DomainError::field(&field, reason));
    };
    let field = format!("{at}: filters");
    let filters = match map.get("filters").filter(|v| !v.is_null()) {
        Some(value) => filters(&field, object(&field, value)?)?,
        None => ExportFilters::default(),
    };
    if *what == ExportedKind::Team && filters != ExportFilters::default() {
        return Err(DomainError::field(&field, "Teams cannot be filtered"));
    }
    let fields = map.get("fields").filter(|v| !v.is_null());
    let fields = fields.map(|value| fields_of(&format!("{at}: fields"), value));
    Ok(ExportPart {
        kind: *what,
        filters,
        fields: fields.transpose()?.flatten(),
    })
}

/// Returns the named fields, as in `opt_fields`; `None` if the list is empty.
fn fields_of(at: &str, value: &Value) -> Result<Option<String>, DomainError> {
    let mut names = Vec::new();
    match value {
        Value::String(text) => names.push(text.as_str()),
        _ => {
            for (i, name) in list(at, value)?.iter().enumerate() {
                names.push(validate::string(&format!("{at}: [{i}]"), name)?);
            }
        }
    }
    let names = names.join(",");
    if validate::split(&names).is_empty() {
        return Ok(None);
    }
    FieldPaths::parse(&names).map_err(|fault| {
        let reason = fault.message.trim_start_matches("opt_fields: ");
        DomainError::field(at, reason)
    })?;
    Ok(Some(names))
}

fn filters(at: &str, map: &Map<String, Value>) -> Result<ExportFilters, DomainError> {
    let mut filters = ExportFilters::default();
    let mut bounds = Vec::new();
    for (name, value) in map.iter().filter(|(_, v)| !v.is_null()) {
        let field = format!("{at}: {name}");
        if PEOPLE.iter().any(|(known, _)| known == name) {
            filters
                .user_filters
                .push((name.clone(), users(&field, value)?));
            continue;
        }
        let (time, end) = name.rsplit_once('.').unwrap_or((name, ""));
        if !TIMES.iter().any(|(known, _)| *known == time) || !matches!(end, "after" | "before") {
            return Err(unknown(at, name));
        }
        let instant = Time::parse(validate::string(&field, value)?);
        let instant = instant.map_err(|e| DomainError::field(&field, e))?.millis();
        bounds.push((time, end == "after", instant));
    }
    for (time, _) in TIMES {
        let of = bounds.iter().filter(|(name, ..)| name == time);
        let (mut first, mut last) = (i64::MIN, i64::MAX);
        for (_, after, instant) in of.clone() {
            // Both bounds exclude the instant itself.
            if *after {
                first = instant.saturating_add(1);
            } else {
                last = instant.saturating_sub(1);
            }
        }
        if of.count() > 0 {
            filters.time_filters.push(((*time).to_owned(), first, last));
        }
    }
    Ok(filters)
}

fn unknown(at: &str, name: &str) -> DomainError {
    let people = PEOPLE.iter().map(|(known, _)| (*known).to_owned());
    let times = TIMES
        .iter()
        .flat_map(|(known, _)| [format!("{known}.after"), format!("{known}.before")]);
    let all: Vec<String> = people.chain(times).collect();
    let (name, all) = (clip(name), all.join(", "));
    DomainError::field(
        at,
        format_args!("Not a recognized filter: {name}; it is one of {all}"),
    )
}

fn users(at: &str, value: &Value) -> Result<Vec<Gid>, DomainError> {
    let list = validate::references(at, value)?;
    if list.is_empty() || list.len() > USERS_MAX {
        let reason = format_args!("Must have 1 to {USERS_MAX} users, not: {}", list.len());
        return Err(DomainError::field(at, reason));
    }
    let users = list.iter().enumerate();
    users
        .map(|(i, user)| parse_gid(&format!("{at}: [{i}]"), user))
        .collect()
}

fn list<'v>(at: &str, value: &'v Value) -> Result<&'v Vec<Value>, DomainError> {
    let wrong = || DomainError::field(at, format_args!("Value is not an array: {}", shown(value)));
    value.as_array().ok_or_else(wrong)
}

fn object<'v>(at: &str, value: &'v Value) -> Result<&'v Map<String, Value>, DomainError> {
    let wrong = || {
        let reason = format_args!("Value is not a JSON object: {}", shown(value));
        DomainError::field(at, reason)
    };
    validate::object(value).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
