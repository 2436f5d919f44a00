//! Custom fields of an exported fixture, with their options, the projects that have them, and their values.
use crate::admin::fixture_export::export_state::ExportState;
use crate::admin::fixture_export::exported_fields::{field_names, written};
use crate::admin::fixture_export::exported_requests::{ExportedRequest, RequestPhase};
use crate::admin::fixture_export::fixture_labels::plain;
use crate::admin::fixture_export::workspace_content::WorkspaceContent;
use crate::admin::fixture_export::world_reader::Record;
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use workgraph_core::model::registry::rel;
use workgraph_core::{Gid, Type};

/// Representation types of custom fields with computed values.
const COMPUTED: [&str; 2] = ["formula", "custom_id"];
/// Color of options that have none.
const NO_COLOR: &str = "none";

/// Adds the requests that create the custom fields of a workspace, add them to projects, and set their values.
///
/// # Errors
/// Fails if the store can't be read.
pub(crate) async fn export_custom_fields(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
) -> Result<()> {
    let fields = format!(
        "name,is_global_to_workspace,enum_options.(gid|name|color|enabled),{}",
        field_names(Type::CustomField)
    );
    let fields = content.reader.records(Type::CustomField, &fields).await?;
    for field in &fields {
        if field.flag("/is_global_to_workspace") {
            add_field(state, content, field);
        } else {
            state.leave_out("custom field of one project", 1);
        }
    }
    add_settings(state, content).await?;
    let members = content
        .reader
        .records(Type::CustomFieldMembership, "parent.gid,member.gid")
        .await?;
    let creators: BTreeMap<Gid, Option<Gid>> = fields
        .iter()
        .map(|field| (field.gid, field.creator))
        .collect();
    let is_further = |membership: &&Record| {
        let field = membership.gid_at("/parent/gid");
        let creator = field.and_then(|field| creators.get(&field).copied().flatten());
        membership.gid_at("/member/gid") != creator
    };
    let further = members.iter().filter(is_further).count();
    state.leave_out("membership of a custom field", further);
    for (task, actor) in content.made_tasks() {
        add_values(state, task, actor);
    }
    Ok(())
}

fn add_field(state: &mut ExportState, content: &WorkspaceContent<'_>, field: &Record) {
    let workspace = content.reader.workspace;
    let creator = field.creator;
    let Some(actor) = state.people.full_actor(workspace, creator) else {
        state.leave_out("custom field of a workspace without members", 1);
        return;
    };
    let name = field.text("/name").unwrap_or_default();
    let label = state.labels.add(field.gid, name, "custom field");
    let kind = field.text("/resource_subtype").unwrap_or_default();
    let home = state.labels.reference(workspace).unwrap_or_default();
    let request = ExportedRequest::of("createCustomField")
        .with(written(Type::CustomField, field, &state.labels))
        .field("name", plain(name))
        .field("resource_subtype", kind)
        .field("workspace", home)
        .called(&label)
        .sent_by(state.sender(actor));
    state.requests.add(RequestPhase::CustomFields, request);
    let reference = state.labels.reference(field.gid).unwrap_or_default();
    for option in field.items("/enum_options") {
        let text = |name: &str| option.get(name).and_then(Value::as_str);
        let Some(gid) = text("gid").and_then(Gid::parse) else {
            continue;
        };
        let name = text("name").unwrap_or_default();
        let prefix = format!("{label}/");
        let own = state.labels.add_below(&prefix, (gid, name), "option");
        let mut request = ExportedRequest::of("createEnumOptionForCustomField")
            .at("custom_field_gid", reference.clone())
            .field("name", plain(name))
            .called(&format!("{prefix}{own}"))
            .sent_by(state.sender(actor));
        if let Some(color) = text("color").filter(|color| *color != NO_COLOR) {
            request = request.field("color", color);
        }
        state.requests.add(RequestPhase::CustomFields, request);
        if option.get("enabled") == Some(&Value::Bool(false)) {
            // An option is disabled only after the values are set: only tasks that already have a disabled option may keep
            // it.
            let request = ExportedRequest::of("updateEnumOption")
                .at("enum_option_gid", format!("@{prefix}{own}").into())
                .field("enabled", false)
                .sent_by(state.sender(actor));
            state.requests.add(RequestPhase::Options, request);
        }
    }
}

/// Adds the requests that add custom fields to projects.
async fn add_settings(state: &mut ExportState, content: &WorkspaceContent<'_>) -> Result<()> {
    let fields = "parent.gid,custom_field.gid,is_important";
    let settings = content.reader.records(Type::CustomFieldSetting, fields);
    let settings: BTreeMap<(Option<Gid>, Option<Gid>), bool> = settings
        .await?
        .iter()
        .map(|setting| {
            let (parent, field) = (
                setting.gid_at("/parent/gid"),
                setting.gid_at("/custom_field/gid"),
            );
            ((parent, field), setting.flag("/is_important"))
        })
        .collect();
    let is_of_project = |parent: Option<Gid>| {
        let mut projects = content.projects.iter();
        projects.any(|project| Some(project.record.gid) == parent)
    };
    let others = settings
        .keys()
        .filter(|(parent, _)| !is_of_project(*parent));
    state.leave_out("custom field of what is no project", others.count());
    for project in &content.projects {
        let gid = project.record.gid;
        for field in content.reader.sources(gid, rel::FIELD_ON).await? {
            let references = (state.labels.reference(gid), state.labels.reference(field));
            let (Some(reference), Some(field_reference)) = references else {
                continue;
            };
            let is_important = settings.get(&(Some(gid), Some(field)));
            let is_important = is_important.copied().unwrap_or_default();
            let request = ExportedRequest::of("addCustomFieldSettingForProject")
                .at("project_gid", reference)
                .field("custom_field", field_reference)
                .field("is_important", is_important)
                .sent_by(state.sender(project.actor));
            state.requests.add(RequestPhase::CustomFields, request);
        }
    }
    Ok(())
}

/// Adds the request that sets the values of a task.
fn add_values(state: &mut ExportState, task: &Record, actor: Gid) {
    let mut values = Map::new();
    for field in task.items("/custom_fields") {
        let text = |name: &str| field.get(name).and_then(Value::as_str);
        let Some(value) = value(state, field) else {
            continue;
        };
        let gid = text("gid").and_then(Gid::parse);
        let reference = gid.and_then(|gid| state.labels.reference(gid));
        let is_computed = text("representation_type").is_some_and(|form| COMPUTED.contains(&form));
        let is_enabled = field.get("enabled") == Some(&Value::Bool(true));
        match reference {
            _ if is_computed => {}
            Some(Value::String(reference)) if is_enabled => {
                values.insert(reference, value);
            }
            _ => state.leave_out("value of a custom field", 1),
        }
    }
    let reference = state.labels.reference(task.gid);
    if let (false, Some(reference)) = (values.is_empty(), reference) {
        let request = ExportedRequest::of("updateTask")
            .at("task_gid", reference)
            .field("custom_fields", values)
            .sent_by(state.sender(actor));
        state.requests.add(RequestPhase::Values, request);
    }
}

/// Returns the value of a field as a request writes it; `None` if there is none.
fn value(state: &mut ExportState, field: &Value) -> Option<Value> {
    let kind = field.get("resource_subtype").and_then(Value::as_str)?;
    let many = |name: &str| -> Vec<Gid> {
        let items = field.get(name).and_then(Value::as_array);
        let items = items.map(Vec::as_slice).unwrap_or_default().iter();
        let gid = |item: &Value| Gid::parse(item.get("gid")?.as_str()?);
        items.filter_map(gid).collect()
    };
    let date = |name: &str| {
        let value = field.get("date_value")?.get(name)?;
        value.as_str()
    };
    let gids = match kind {
        "text" => {
            let text = field.get("text_value").and_then(Value::as_str);
            return text.map(plain);
        }
        "number" => {
            let number = field.get("number_value");
            return number.filter(|number| !number.is_null()).cloned();
        }
        "date" => {
            return match (date("date_time"), date("date")) {
                (Some(time), _) => Some(json!({ "date_time": state.labels.time(time) })),
                (None, Some(day)) => Some(json!({ "date": state.labels.day(day) })),
                (None, None) => None,
            };
        }
        "enum" => {
            let option = field.pointer("/enum_value/gid").and_then(Value::as_str);
            let option = option.and_then(Gid::parse)?;
            let found = state.labels.reference(option);
            state.leave_out("option of a value", usize::from(found.is_none()));
            return found;
        }
        "multi_enum" => many("multi_enum_values"),
        "people" => many("people_value"),
        _ => many("reference_value"),
    };
    let found = state.references(&gids, "part of a value of a custom field");
    (!found.is_empty()).then(|| found.into())
}
