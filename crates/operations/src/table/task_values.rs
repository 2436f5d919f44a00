//! Writing values of custom fields: the map `custom_fields` of the body of a task, project or portfolio.
use super::custom_fields::PREMIUM;
use crate::request_context::{RequestContext, format_ref, parse_gid, require_level};
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::custom_field_values::DisplayFormat;
use workgraph_core::model::decimal::Decimal;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::{Node, json_string};
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::custom_field::{FIELDS_MAX, REFERABLE, VALUE_MAX};
use workgraph_core::model::resources::{custom_field, enum_option, resource, task};
use workgraph_core::model::time::{Date, Moment, Time};
use workgraph_core::model::validate::{
    CheckedInputs, InputValue, REFS_MAX, reference, references, shown, split,
};
use workgraph_core::model::{custom_field_values, validate};
use workgraph_core::rules::custom_field_rules;
use workgraph_core::rules::custom_field_rules::ValueChange;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{NodeRef, ReadQuery, ReadView, custom_field_view};

/// Maximum number of fields that one body may write.
const GIVEN_MAX: usize = 20 * FIELDS_MAX;
/// Maximum number of options, users and objects that one body may name in its values.
const NAMED_MAX: usize = 1_000;

/// Returns the map of the body.
fn given_values(inputs: &CheckedInputs) -> Result<Vec<(Gid, &Value)>, DomainError> {
    let Some(InputValue::Json(Value::Object(map))) = inputs.get("custom_fields") else {
        return Ok(Vec::new());
    };
    if map.len() > GIVEN_MAX {
        return Err(DomainError::field(
            "custom_fields",
            format_args!("Too many: at most {GIVEN_MAX} may be written at once"),
        ));
    }
    map.iter()
        .map(|(name, value)| Ok((parse_gid("custom_fields", name)?, value)))
        .collect()
}

/// Adds the nodes that the values may name: the fields, and values that look like an option, user or object.
pub(super) fn add_node_refs(
    call: &RequestContext<'_>,
    mut want: ReadQuery,
    inputs: &CheckedInputs,
) -> Result<ReadQuery, DomainError> {
    let mut named = 0;
    for (field, value) in given_values(inputs)? {
        want.add_ref(field);
        let texts = match value {
            Value::Array(items) => items.iter().filter_map(|i| reference("", i).ok()).collect(),
            // Takes at most `REFS_MAX` items, because the text may be a list with commas.
            Value::String(text) => split(text).into_iter().take(REFS_MAX).collect(),
            one => Vec::from_iter(reference("", one)),
        };
        for text in texts {
            let Ok(name) = call.parse_user_ref("", &text) else {
                continue;
            };
            named += 1;
            want = want.edges(name, rel::WORKSPACES);
        }
    }
    if named > NAMED_MAX {
        return Err(DomainError::field(
            "custom_fields",
            format_args!("Too many values: at most {NAMED_MAX} may be given at once"),
        ));
    }
    Ok(want)
}

/// Adds the reads for writing values of an existing project or portfolio.
pub(super) fn needs(
    call: &RequestContext<'_>,
    mut want: ReadQuery,
    inputs: &CheckedInputs,
    on: NodeRef,
) -> Result<ReadQuery, DomainError> {
    if inputs.has("custom_fields") {
        let at = want.add_ref(on);
        want.custom_fields_of.push(at);
    }
    add_node_refs(call, want, inputs)
}

/// Writes the values into the draft of an existing project, portfolio or goal; returns the changes.
pub(super) fn write_to(
    call: &RequestContext<'_>,
    view: &ReadView,
    draft: &mut Draft,
    inputs: &CheckedInputs,
    node: &Node,
) -> Result<Vec<ValueChange>, DomainError> {
    if !inputs.has("custom_fields") {
        return Ok(Vec::new());
    }
    let containers = custom_field_view::field_containers(view, node.gid, node.ty);
    let containers: Vec<Gid> = containers.collect();
    write(
        call,
        view,
        draft,
        inputs,
        node.raw("custom_fields"),
        &containers,
    )
}

/// Records the changed values of a project or portfolio, and indexes them.
pub(super) fn record(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    node: &Node,
    changes: &[ValueChange],
) {
    custom_field_rules::record_value_changes(work, (node.gid, node.ty), changes);
    custom_field_rules::index_value_changes(work, node.gid, view, changes);
}

/// Writes the values into a draft; `projects` are the nodes that give it custom fields. Returns the changes.
pub(super) fn write(
    call: &RequestContext<'_>,
    view: &ReadView,
    draft: &mut Draft,
    inputs: &CheckedInputs,
    before: Option<&str>,
    projects: &[Gid],
) -> Result<Vec<ValueChange>, DomainError> {
    let given = given_values(inputs)?;
    let workspace = draft.workspace.unwrap_or(draft.gid);
    if given.is_empty() {
        return Ok(Vec::new());
    }
    if !call.has_paid_plan(view, workspace) {
        return Err(DomainError::paid_only(PREMIUM));
    }
    let mut values = Vec::with_capacity(given.len());
    for (field, value) in given {
        let enabled = projects.iter().any(|p| {
            let fields = view.sources(*p, rel::FIELD_ON);
            fields.iter().any(|e| e.src == field)
        });
        let has_value =
            before.is_some_and(|b| custom_field_values::stored_values(b).any(|(f, _)| f == field));
        // A field that no project has any more can only be cleared.
        let clears = has_value && is_cleared(value);
        if !enabled && !clears {
            return Err(DomainError::field_not_on_object(field));
        }
        let node = view
            .node(field)
            .filter(|n| n.ty == Type::CustomField && call.is_visible(view, n))
            .ok_or_else(|| DomainError::field_not_on_object(field))?;
        require_level(view, node, Level::Viewer)?;
        if custom_field::is_computed(node) {
            return Err(DomainError::unwritable(&format!("custom_fields: {field}")));
        }
        let one = ValueTarget {
            call,
            view,
            node,
            workspace,
            task: draft.gid,
        };
        let old =
            before.and_then(|b| custom_field_values::stored_values(b).find(|(f, _)| *f == field));
        values.push((field, one.stored(value, old.map(|(_, v)| v))?));
    }
    let (object, changes) = custom_field_rules::merge(before, values);
    draft.set(task::CUSTOM_FIELDS, object);
    Ok(changes)
}

/// Returns true if a value clears a field: null, or in every type an empty text, since forms have no null.
fn is_cleared(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

/// Returns the stored form of a list of gids; an empty one clears the field.
fn stored_list(gids: &[Gid]) -> Option<String> {
    (!gids.is_empty()).then(|| custom_field_values::gid_list(gids.iter().copied()))
}

/// Returns the stored form of a day, or of an instant with its day.
fn dated(day: Date, time: Option<Time>) -> String {
    let time = time.map_or_else(|| "null".to_owned(), |time| format!("\"{time}\""));
    format!("{{\"date\":\"{day}\",\"date_time\":{time}}}")
}

/// A value with its field.
struct ValueTarget<'a> {
    call: &'a RequestContext<'a>,
    view: &'a ReadView,
    node: &'a Node,
    workspace: Gid,
    task: Gid,
}

impl ValueTarget<'_> {
    /// Returns the stored form of a value, or `None` if it clears the field.
    fn stored(&self, value: &Value, before: Option<&str>) -> Result<Option<String>, DomainError> {
        let kind = custom_field::kind(self.node);
        if is_cleared(value) {
            return Ok(match kind {
                CustomFieldType::Reference => self.with_hidden(&[], before),
                _ => None,
            });
        }
        match kind {
            CustomFieldType::Text => {
                let text = validate::text("text_value", value, VALUE_MAX)?;
                Ok((!text.is_empty()).then(|| json_string(&text)))
            }
            CustomFieldType::Number => self.number(value, before).map(Some),
            CustomFieldType::Date => self.date(value).map(Some),
            CustomFieldType::Enum => {
                let option = self.option("enum_value", &reference("enum_value", value)?, before)?;
                Ok(Some(format!("\"{option}\"")))
            }
            CustomFieldType::MultiEnum => {
                let options = self.list("multi_enum_values", value, |field, text| {
                    self.option(field, text, before)
                })?;
                Ok(stored_list(&options))
            }
            CustomFieldType::People => {
                let users = self.list("people_value", value, |field, text| {
                    self.user(field, text, before)
                })?;
                Ok(stored_list(&users))
            }
            CustomFieldType::Reference => {
                let objects = self.list("reference_value", value, |field, text| {
                    self.object(field, text)
                })?;
                Ok(self.with_hidden(&objects, before))
            }
        }
    }

    /// Reads a number, with the decimals that the field keeps.
    fn number(&self, value: &Value, before: Option<&str>) -> Result<String, DomainError> {
        let format = DisplayFormat::of(self.node).numbers;
        let number = validate::decimal(value);
        let number = number.ok_or_else(|| self.wrong("number_value", "number", value))?;
        let number = number.rounded(format.decimals());
        // An equal number is left unchanged: nothing has changed.
        let same = before.filter(|old| Decimal::parse(&format.kept(old)).as_ref() == Some(&number));
        Ok(same.map_or_else(|| number.to_string(), str::to_owned))
    }

    fn wrong(&self, field: &str, what: &str, value: &Value) -> DomainError {
        let name = self.node.gid;
        DomainError::field(
            field,
            format_args!("Not a {what}: {} (custom field {name})", shown(value)),
        )
    }

    /// Returns the stored form of references. Objects that were there before and that the caller does not see stay, since
    /// the caller could not repeat them.
    fn with_hidden(&self, given: &[Gid], before: Option<&str>) -> Option<String> {
        let stored = before.into_iter().flat_map(custom_field_values::gids);
        let is_hidden = |gid: &Gid| {
            let node = self.view.head(*gid);
            node.is_some() && self.view.level(*gid) == Level::None
        };
        let (hidden, seen): (Vec<Gid>, Vec<Gid>) = stored.partition(is_hidden);
        if seen == given {
            // What the caller sees has not changed, nor has the order.
            return before.map(str::to_owned);
        }
        let all: Vec<Gid> = given.iter().copied().chain(hidden).collect();
        stored_list(&all)
    }

    /// Reads an array, keeping each item once.
    fn list(
        &self,
        field: &str,
        value: &Value,
        read: impl Fn(&str, &str) -> Result<Gid, DomainError>,
    ) -> Result<Vec<Gid>, DomainError> {
        let mut gids: Vec<Gid> = Vec::new();
        for (at, text) in references(field, value)?.iter().enumerate() {
            let gid = read(&format!("{field}: [{at}]"), text)?;
            if !gids.contains(&gid) {
                gids.push(gid);
            }
        }
        Ok(gids)
    }

    /// Returns an option of the field. A disabled option is valid only if it was chosen before.
    fn option(&self, field: &str, text: &str, before: Option<&str>) -> Result<Gid, DomainError> {
        let unknown = || DomainError::reference_not_found(field, validate::clip(text));
        let gid = Gid::parse(text).ok_or_else(unknown)?;
        let node = self.view.node(gid).ok_or_else(unknown)?;
        if node.ty != Type::EnumOption || node.get(enum_option::CUSTOM_FIELD) != Some(self.node.gid)
        {
            return Err(unknown());
        }
        let kept = before.is_some_and(|b| custom_field_values::gids(b).any(|g| g == gid));
        if !node.get(enum_option::ENABLED) && !kept {
            return Err(DomainError::field(
                field,
                format_args!("The option is disabled: {gid}"),
            ));
        }
        Ok(gid)
    }

    /// Returns a user of the task's workspace. A caller who sees the task sees the users chosen before, and may repeat
    /// them.
    fn user(&self, field: &str, text: &str, before: Option<&str>) -> Result<Gid, DomainError> {
        let name = self.call.parse_user_ref(field, text)?;
        let kept = |user: &Gid| {
            let inside = self
                .view
                .link(*user, rel::WORKSPACES, self.workspace)
                .is_some();
            inside && before.is_some_and(|b| custom_field_values::gids(b).any(|gid| gid == *user))
        };
        if let Some(user) = self.view.resolve(&name).filter(kept) {
            return Ok(user);
        }
        super::named_users::member_of(self.call, self.view, field, &name, self.workspace)
    }

    /// Returns an object of a type that the field accepts, if the caller sees it.
    fn object(&self, field: &str, text: &str) -> Result<Gid, DomainError> {
        let name = NodeRef::Gid(parse_gid(field, text)?);
        let found = self
            .call
            .resolve_ref(self.view, field, &name, REFERABLE, Level::Viewer)?;
        let kind = resource(found.ty).name;
        if !custom_field::refers(self.node, found) {
            return Err(DomainError::field(
                field,
                format_args!("The custom field takes no {kind}: {}", format_ref(&name)),
            ));
        }
        if found.workspace != Some(self.workspace) || found.gid == self.task {
            return Err(DomainError::field(
                field,
                format_args!(
                    "Not another object of the task's workspace: {}",
                    format_ref(&name)
                ),
            ));
        }
        Ok(found.gid)
    }

    /// Reads a day, or an instant with its day in UTC.
    fn date(&self, value: &Value) -> Result<String, DomainError> {
        let field = "date_value";
        if let Value::String(text) = value {
            let moment = Moment::parse(text).map_err(|e| DomainError::field(field, e))?;
            return Ok(match moment {
                Moment::Day(day) => dated(day, None),
                Moment::Instant(time) => dated(Date::of(time), Some(time)),
            });
        }
        let Value::Object(map) = value else {
            return Err(self.wrong(field, "JSON object with date or date_time", value));
        };
        let part = |map: &Map<String, Value>, name: &str| -> Result<Option<String>, DomainError> {
            let text = map.get(name).filter(|v| !v.is_null());
            let text = text.map(|v| validate::string(&format!("{field}: {name}"), v));
            Ok(text.transpose()?.map(str::to_owned))
        };
        let day = part(map, "date")?
            .map(|text| Date::parse(&text).map_err(|e| DomainError::field(field, e)))
            .transpose()?;
        let time = part(map, "date_time")?
            .map(|text| Time::parse(&text).map_err(|e| DomainError::field(field, e)))
            .transpose()?;
        match (day, time) {
            (None, None) => Err(self.wrong(field, "JSON object with date or date_time", value)),
            (Some(day), None) => Ok(dated(day, None)),
            (day, Some(time)) if day.is_none_or(|d| d == Date::of(time)) => {
                Ok(dated(Date::of(time), Some(time)))
            }
            _ => Err(DomainError::field(
                field,
                "date is not the day of date_time in UTC; give one of them",
            )),
        }
    }
}

#[cfg(test)]
mod tests;
