//! Writing a task's values of custom fields: the map `custom_fields` of a body.
use super::custom_fields::PREMIUM;
use crate::call::{Call, allowed, gid, show};
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::{self, Given, Inputs, REFS_MAX, reference, references, shown, split};
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Ref, View, Want};
use workgraph_core::node::{Node, quoted};
use workgraph_core::registry::{Kind, Type, rel};
use workgraph_core::resources::custom_field::{FIELDS_MAX, REFERABLE, VALUE_MAX};
use workgraph_core::resources::{custom_field, enum_option, resource, task};
use workgraph_core::rules::fields::{self, ValueChange};
use workgraph_core::time::{Date, Moment, Time};
use workgraph_core::values;

/// Most fields one body may write.
const GIVEN_MAX: usize = 20 * FIELDS_MAX;
/// Most options, users and objects that one body may name in its values.
const NAMED_MAX: usize = 1_000;

/// The map of the body.
fn given(inputs: &Inputs) -> Result<Vec<(Gid, &Value)>, Fault> {
    let Some(Given::Json(Value::Object(map))) = inputs.get("custom_fields") else {
        return Ok(Vec::new());
    };
    if map.len() > GIVEN_MAX {
        return Err(Fault::field(
            "custom_fields",
            format_args!("Too many: at most {GIVEN_MAX} may be written at once"),
        ));
    }
    map.iter()
        .map(|(name, value)| Ok((gid("custom_fields", name)?, value)))
        .collect()
}

/// Adds what the values may name: the fields, and whatever looks like an option, user or object.
pub(super) fn refer(call: &Call<'_>, mut want: Want, inputs: &Inputs) -> Result<Want, Fault> {
    let mut named = 0;
    for (field, value) in given(inputs)? {
        want.add(field);
        let texts = match value {
            Value::Array(items) => items.iter().filter_map(|i| reference("", i).ok()).collect(),
            // As many as there may be, since it may as well be a text with commas in it.
            Value::String(text) => split(text).into_iter().take(REFS_MAX).collect(),
            one => Vec::from_iter(reference("", one)),
        };
        for text in texts {
            let Ok(name) = call.user("", &text) else {
                continue;
            };
            named += 1;
            want = want.edges(name, rel::WORKSPACES);
        }
    }
    if named > NAMED_MAX {
        return Err(Fault::field(
            "custom_fields",
            format_args!("Too many values: at most {NAMED_MAX} may be given at once"),
        ));
    }
    Ok(want)
}

/// Writes the values into the draft of a task that is in these projects; gives what changed.
pub(super) fn write(
    call: &Call<'_>,
    view: &View,
    draft: &mut Draft,
    inputs: &Inputs,
    before: Option<&str>,
    projects: &[Gid],
) -> Result<Vec<ValueChange>, Fault> {
    let given = given(inputs)?;
    let home = draft.home.unwrap_or(draft.gid);
    if given.is_empty() {
        return Ok(Vec::new());
    }
    if !call.paid(view, home) {
        return Err(Fault::premium(PREMIUM));
    }
    let mut values = Vec::with_capacity(given.len());
    for (field, value) in given {
        let enabled = projects.iter().any(|p| {
            let fields = view.sources(*p, rel::FIELD_ON);
            fields.iter().any(|e| e.src == field)
        });
        let held = before.is_some_and(|b| values::stored(b).any(|(f, _)| f == field));
        // What no project gives any more can only be cleared.
        let clears = held && is_cleared(value);
        if !enabled && !clears {
            return Err(Fault::not_on(field));
        }
        let node = view
            .node(field)
            .filter(|n| n.ty == Type::CustomField)
            .ok_or_else(|| Fault::not_on(field))?;
        allowed(view, node, Level::Viewer)?;
        if custom_field::is_computed(node) {
            return Err(Fault::unwritable(&format!("custom_fields: {field}")));
        }
        let one = One {
            call,
            view,
            node,
            home,
            task: draft.gid,
        };
        let old = before.and_then(|b| values::stored(b).find(|(f, _)| *f == field));
        values.push((field, one.stored(value, old.map(|(_, v)| v))?));
    }
    let (object, changes) = fields::merge(before, values);
    draft.set(task::CUSTOM_FIELDS, object);
    Ok(changes)
}

/// Tells whether a value clears a field: null, or an empty text, whatever the type, since forms have no null.
fn is_cleared(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

/// Reads a number, as JSON or as form text.
fn number(value: &Value) -> Option<serde_json::Number> {
    let number = match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    };
    number.filter(|n| n.as_f64().is_some_and(f64::is_finite))
}

/// Writes a day, or an instant with its day, as it is stored.
fn dated(day: Date, time: Option<Time>) -> String {
    let time = time.map_or_else(|| "null".to_owned(), |time| format!("\"{time}\""));
    format!("{{\"date\":\"{day}\",\"date_time\":{time}}}")
}

/// A value on its way to one field.
struct One<'a> {
    call: &'a Call<'a>,
    view: &'a View,
    node: &'a Node,
    home: Gid,
    task: Gid,
}

impl One<'_> {
    /// The form in which a value is kept; none where it is cleared.
    fn stored(&self, value: &Value, before: Option<&str>) -> Result<Option<String>, Fault> {
        if is_cleared(value) {
            return Ok(None);
        }
        match custom_field::kind(self.node) {
            Kind::Text => {
                let text = check::text("text_value", value, VALUE_MAX)?;
                Ok((!text.is_empty()).then(|| quoted(&text)))
            }
            Kind::Number => match number(value) {
                Some(number) => Ok(Some(number.to_string())),
                None => Err(self.wrong("number_value", "number", value)),
            },
            Kind::Date => self.date(value).map(Some),
            Kind::Enum => {
                let option = self.option("enum_value", &reference("enum_value", value)?, before)?;
                Ok(Some(format!("\"{option}\"")))
            }
            Kind::MultiEnum => self.list("multi_enum_values", value, |field, text| {
                self.option(field, text, before)
            }),
            Kind::People => self.list("people_value", value, |field, text| {
                self.user(field, text, before)
            }),
            Kind::Reference => self.list("reference_value", value, |field, text| {
                self.object(field, text)
            }),
        }
    }

    fn wrong(&self, field: &str, what: &str, value: &Value) -> Fault {
        let name = self.node.gid;
        Fault::field(
            field,
            format_args!("Not a {what}: {} (custom field {name})", shown(value)),
        )
    }

    /// An array, each thing once; an empty one clears.
    fn list(
        &self,
        field: &str,
        value: &Value,
        read: impl Fn(&str, &str) -> Result<Gid, Fault>,
    ) -> Result<Option<String>, Fault> {
        let mut gids: Vec<Gid> = Vec::new();
        for (at, text) in references(field, value)?.iter().enumerate() {
            let gid = read(&format!("{field}: [{at}]"), text)?;
            if !gids.contains(&gid) {
                gids.push(gid);
            }
        }
        let all: Vec<String> = gids.iter().map(|g| format!("\"{g}\"")).collect();
        Ok((!all.is_empty()).then(|| format!("[{}]", all.join(","))))
    }

    /// An option of the field; a disabled one only stays where it was chosen before.
    fn option(&self, field: &str, text: &str, before: Option<&str>) -> Result<Gid, Fault> {
        let unknown = || Fault::unknown_ref(field, check::clip(text));
        let gid = Gid::parse(text).ok_or_else(unknown)?;
        let node = self.view.node(gid).ok_or_else(unknown)?;
        if node.ty != Type::EnumOption || node.get(enum_option::CUSTOM_FIELD) != Some(self.node.gid)
        {
            return Err(unknown());
        }
        let kept = before.is_some_and(|b| values::gids(b).any(|g| g == gid));
        if !node.get(enum_option::ENABLED) && !kept {
            return Err(Fault::field(
                field,
                format_args!("The option is disabled: {gid}"),
            ));
        }
        Ok(gid)
    }

    /// A user of the task's workspace. Whoever sees the task sees who was chosen before, and may say it again.
    fn user(&self, field: &str, text: &str, before: Option<&str>) -> Result<Gid, Fault> {
        let name = self.call.user(field, text)?;
        let kept = |who: &Gid| {
            let inside = self.view.link(*who, rel::WORKSPACES, self.home).is_some();
            inside && before.is_some_and(|b| values::gids(b).any(|gid| gid == *who))
        };
        if let Some(who) = self.view.resolve(&name).filter(kept) {
            return Ok(who);
        }
        super::projects::member_of(self.call, self.view, field, &name, self.home)
    }

    /// An object of a type that the field takes, which the caller sees.
    fn object(&self, field: &str, text: &str) -> Result<Gid, Fault> {
        let name = Ref::Gid(gid(field, text)?);
        let found = self
            .call
            .named(self.view, field, &name, REFERABLE, Level::Viewer)?;
        let kind = resource(found.ty).name;
        if !custom_field::refers(self.node, found) {
            return Err(Fault::field(
                field,
                format_args!("The custom field takes no {kind}: {}", show(&name)),
            ));
        }
        if found.home != Some(self.home) || found.gid == self.task {
            return Err(Fault::field(
                field,
                format_args!(
                    "Not another object of the task's workspace: {}",
                    show(&name)
                ),
            ));
        }
        Ok(found.gid)
    }

    /// A day, or an instant and its day in UTC.
    fn date(&self, value: &Value) -> Result<String, Fault> {
        let field = "date_value";
        if let Value::String(text) = value {
            let moment = Moment::parse(text).map_err(|e| Fault::field(field, e))?;
            return Ok(match moment {
                Moment::Day(day) => dated(day, None),
                Moment::Instant(time) => dated(Date::of(time), Some(time)),
            });
        }
        let Value::Object(map) = value else {
            return Err(self.wrong(field, "JSON object with date or date_time", value));
        };
        let part = |map: &Map<String, Value>, name: &str| -> Result<Option<String>, Fault> {
            let text = map.get(name).filter(|v| !v.is_null());
            let text = text.map(|v| check::string(&format!("{field}: {name}"), v));
            Ok(text.transpose()?.map(str::to_owned))
        };
        let day = part(map, "date")?
            .map(|text| Date::parse(&text).map_err(|e| Fault::field(field, e)))
            .transpose()?;
        let time = part(map, "date_time")?
            .map(|text| Time::parse(&text).map_err(|e| Fault::field(field, e)))
            .transpose()?;
        match (day, time) {
            (None, None) => Err(self.wrong(field, "JSON object with date or date_time", value)),
            (Some(day), None) => Ok(dated(day, None)),
            (day, Some(time)) if day.is_none_or(|d| d == Date::of(time)) => {
                Ok(dated(Date::of(time), Some(time)))
            }
            _ => Err(Fault::field(
                field,
                "date is not the day of date_time in UTC; give one of them",
            )),
        }
    }
}
