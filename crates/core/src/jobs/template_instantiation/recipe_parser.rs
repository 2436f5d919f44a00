//! Parser of recipes: JSON in the form in which templates are shown.
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::node::json_string;
use crate::model::number_format::NumberFormat;
use crate::model::registry::CustomFieldType;
use crate::model::resources::custom_field::VALUE_MAX;
use crate::model::resources::task;
use crate::model::time::{Date, Time};
use crate::model::validate::decimal;
use serde_json::{Map, Value};

/// Part of a recipe about one task.
pub(super) struct RecipeTask<'r> {
    /// Index of the parent task in the recipe, if it is a subtask.
    pub(super) parent: Option<usize>,
    map: &'r Map<String, Value>,
}

/// Returns all tasks of a recipe, each before its subtasks.
pub(super) fn parse_recipe(recipe: &Value) -> Vec<RecipeTask<'_>> {
    let mut out = Vec::new();
    let mut left = vec![(None, recipe)];
    while let Some((under, value)) = left.pop() {
        let Some(map) = value.as_object() else {
            continue;
        };
        let below = items(map, "subtasks").rev();
        left.extend(below.map(|value| (Some(out.len()), value)));
        out.push(RecipeTask { parent: under, map });
    }
    out
}

/// Returns the name in a recipe.
#[must_use]
pub fn titled(recipe: &Value) -> &str {
    let name = recipe.get("name").and_then(Value::as_str);
    name.unwrap_or_default()
}

fn items<'r>(
    map: &'r Map<String, Value>,
    name: &str,
) -> impl DoubleEndedIterator<Item = &'r Value> + use<'r> {
    let list = map.get(name).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// Parses a gid, given as a text or as the `gid` of an object.
fn gid(value: &Value) -> Option<Gid> {
    let text = value.as_str().or_else(|| value.get("gid")?.as_str());
    text.and_then(Gid::parse)
}

impl<'r> RecipeTask<'r> {
    fn text(&self, name: &str) -> Option<&'r str> {
        self.map.get(name).and_then(Value::as_str)
    }

    pub(super) fn name(&self) -> &'r str {
        self.text("name").unwrap_or_default()
    }

    /// Fills in the fields that need no lookup; days count from today.
    pub(super) fn fill(&self, draft: &mut Draft, today: Date) {
        draft.set(task::NOTES, self.text("description").unwrap_or(""));
        let html = self.text("html_description");
        draft.set(task::HTML_NOTES, html.unwrap_or("<body></body>"));
        match self.text("task_resource_subtype") {
            Some("milestone_task") => draft.set(task::SUBTYPE, "milestone"),
            Some("approval_task") => {
                draft.set(task::SUBTYPE, "approval");
                draft.set(task::APPROVAL_STATUS, "pending");
            }
            _ => {}
        }
        let day = |name: &str| {
            let days = self.map.get(name).and_then(Value::as_i64)?;
            today.add_days(i32::try_from(days).ok()?)
        };
        let due = day("relative_due_on");
        draft.set(task::DUE_ON, due);
        let time = self.text("due_time").zip(due);
        let due_at = time.and_then(|(time, due)| {
            let time = time.trim_end_matches('Z');
            Time::parse(&format!("{due}T{time}Z")).ok()
        });
        draft.set(task::DUE_AT, due_at);
        draft.set(
            task::START_ON,
            day("relative_start_on").filter(|_| due.is_some()),
        );
    }

    pub(super) fn followers(&self) -> impl Iterator<Item = Gid> + use<'r> {
        items(self.map, "followers").filter_map(gid)
    }

    /// Returns the projects of the task, each with its section if one is named.
    pub(super) fn memberships(&self) -> impl Iterator<Item = (Gid, Option<Gid>)> + use<'r> {
        items(self.map, "memberships").filter_map(|item| {
            let project = item.get("project").unwrap_or(item);
            Some((gid(project)?, item.get("section").and_then(gid)))
        })
    }

    /// Returns the custom fields of the task, each with the object that has the value.
    pub(super) fn values(&self) -> impl Iterator<Item = (Gid, &'r Value)> + use<'r> {
        items(self.map, "custom_fields").filter_map(|item| Some((gid(item)?, item)))
    }
}

/// Returns the key of a value in a recipe, by the type of the field.
const fn key(kind: CustomFieldType) -> &'static str {
    match kind {
        CustomFieldType::Text => "text_value",
        CustomFieldType::Number => "number_value",
        CustomFieldType::Enum => "enum_value",
        CustomFieldType::MultiEnum => "multi_enum_values",
        CustomFieldType::Date => "date_value",
        CustomFieldType::People => "people_value",
        CustomFieldType::Reference => "reference_value",
    }
}

/// Returns the nodes that a shown custom field names as its value.
pub(super) fn named(shown: &Value) -> impl Iterator<Item = Gid> {
    let links = [
        CustomFieldType::Enum,
        CustomFieldType::MultiEnum,
        CustomFieldType::People,
        CustomFieldType::Reference,
    ];
    links
        .into_iter()
        .filter_map(|kind| shown.get(key(kind)))
        .flat_map(|value| match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        })
        .filter_map(gid)
}

/// Returns the stored form of a shown custom field's value, or `None` if nothing is left. Numbers get the decimals that the
/// field keeps. `fit` gives the node to use for each node that the value names.
pub(super) fn stored(
    (kind, format): (CustomFieldType, &NumberFormat),
    shown: &Value,
    fit: &dyn Fn(Gid) -> Option<Gid>,
) -> Option<String> {
    let value = shown.get(key(kind)).filter(|v| !v.is_null())?;
    match kind {
        CustomFieldType::Text => {
            let text = value.as_str().filter(|text| !text.is_empty())?;
            (text.chars().count() <= VALUE_MAX as usize).then(|| json_string(text))
        }
        CustomFieldType::Number => {
            let number = decimal(value)?.rounded(format.decimals());
            Some(number.to_string())
        }
        CustomFieldType::Date => date(value),
        CustomFieldType::Enum => gid(value).and_then(fit).map(|gid| format!("\"{gid}\"")),
        CustomFieldType::MultiEnum | CustomFieldType::People | CustomFieldType::Reference => {
            let mut gids: Vec<Gid> = Vec::new();
            for gid in value.as_array()?.iter().filter_map(gid).filter_map(fit) {
                if !gids.contains(&gid) {
                    gids.push(gid);
                }
            }
            let all: Vec<String> = gids.iter().map(|g| format!("\"{g}\"")).collect();
            (!all.is_empty()).then(|| format!("[{}]", all.join(",")))
        }
    }
}

/// Returns the stored form of a day, or of an instant with its day.
fn date(value: &Value) -> Option<String> {
    let part = |name: &str| value.get(name).and_then(Value::as_str);
    if let Some(time) = part("date_time").and_then(|t| Time::parse(t).ok()) {
        let day = Date::of(time);
        return Some(format!("{{\"date\":\"{day}\",\"date_time\":\"{time}\"}}"));
    }
    let day = Date::parse(part("date")?).ok()?;
    Some(format!("{{\"date\":\"{day}\",\"date_time\":null}}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tasks_come_before_what_is_below_them() {
        let recipe = json!({"name": "a", "subtasks": [
            {"name": "b", "subtasks": [{"name": "c"}]}, "no task", {"name": "d"}]});
        let all = parse_recipe(&recipe);
        let found: Vec<_> = all.iter().map(|s| (s.name(), s.parent)).collect();
        let wanted = [("a", None), ("b", Some(0)), ("c", Some(1)), ("d", Some(0))];
        assert_eq!(found, wanted);
    }

    #[test]
    fn values_are_stored_in_the_form_of_their_type() {
        let shown = |kind: CustomFieldType, value: Value| {
            let shown = json!({"gid": "9", key(kind): value});
            let format = NumberFormat {
                precision: 2,
                ..NumberFormat::default()
            };
            stored((kind, &format), &shown, &|gid| {
                (gid.get() > 5).then_some(gid)
            })
            .unwrap_or_default()
        };
        assert_eq!(shown(CustomFieldType::Text, json!("a\"b")), r#""a\"b""#);
        assert_eq!(shown(CustomFieldType::Text, json!("x".repeat(1025))), "");
        assert_eq!(shown(CustomFieldType::Number, json!(-0.5)), "-0.5");
        for (number, kept) in [
            (json!("1"), "1"),
            (json!("12345678901234567.565"), "12345678901234567.57"),
            (json!(98.126), "98.13"),
            (json!("x"), ""),
            (json!(true), ""),
        ] {
            assert_eq!(shown(CustomFieldType::Number, number), kept);
        }
        assert_eq!(shown(CustomFieldType::Enum, json!({"gid": "7"})), "\"7\"");
        assert_eq!(
            shown(CustomFieldType::Enum, json!({"gid": "4"})),
            "",
            "does not fit"
        );
        let some = json!([{"gid": "7"}, "8", {"gid": "7"}, {"gid": "3"}]);
        assert_eq!(shown(CustomFieldType::People, some), r#"["7","8"]"#);
        let day = json!({"date": "2031-07-08", "date_time": null});
        assert_eq!(
            shown(CustomFieldType::Date, day),
            r#"{"date":"2031-07-08","date_time":null}"#
        );
        let time = json!({"date_time": "2031-07-08T09:10:00.000Z"});
        assert_eq!(
            shown(CustomFieldType::Date, time),
            r#"{"date":"2031-07-08","date_time":"2031-07-08T09:10:00.000Z"}"#
        );
        assert_eq!(shown(CustomFieldType::Date, json!({"date": "soon"})), "");
    }
}
