//! Filters: conditions on the events that a webhook receives. A webhook without filters receives
//! all.
use serde_json::{Map, Value, json};
use std::fmt;
use thiserror::Error;

/// Maximum number of filters of a webhook.
pub const FILTERS_MAX: usize = 50;
/// Maximum number of fields of a filter.
pub const FIELDS_MAX: usize = 50;

/// The allowed values of `action`.
pub const ACTIONS: [&str; 5] = ["changed", "added", "removed", "deleted", "undeleted"];

/// Condition on events; each part that is present must match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventFilter {
    /// The type of the object that the event is about.
    pub resource_type: String,
    /// The object's subtype.
    pub resource_subtype: Option<String>,
    /// The action, one of [`ACTIONS`].
    pub action: Option<String>,
    /// For `changed`: fields, one of which must have changed.
    pub fields: Vec<String>,
}

/// The reason why filters are refused. `Display` is the message for the client, without the name of the input.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EventFilterError {
    /// The filters are not an array.
    #[error("Not an array; it must be one of filters")]
    NotAList,
    /// More than [`FILTERS_MAX`] filters.
    #[error("Too many; at most {FILTERS_MAX}")]
    TooMany,
    /// The filter with this index in the array is wrong.
    #[error("[{0}]: {1}")]
    At(usize, Box<EventFilterError>),
    /// A filter is not an object.
    #[error("Not an object; it must be one with resource_type")]
    NotAnObject,
    /// There is no `resource_type`.
    #[error("resource_type: Missing input")]
    MissingType,
    /// This part is not a name.
    #[error("{0}: must be a name")]
    NotAName(&'static str),
    /// The action is not one of [`ACTIONS`].
    #[error("action: {0}")]
    UnknownAction(UnknownName),
    /// No event is about objects of this type.
    #[error("resource_type: {0}")]
    UnknownType(UnknownName),
    /// The fields are not an array, or are more than [`FIELDS_MAX`].
    #[error("fields: must be an array of at most {FIELDS_MAX} names of fields")]
    Fields,
    /// One of the fields is not a name.
    #[error("fields: must be names of fields")]
    FieldName,
    /// Fields with an action other than `changed`; only that one has fields.
    #[error("fields: only with the action changed")]
    FieldsWithoutChange,
}

/// Name outside the list of allowed names. `Display` is the message for the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName {
    name: String,
    known: Vec<String>,
}

impl UnknownName {
    fn new(name: &str, known: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            known: known.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    /// Returns the allowed name that was probably meant.
    fn nearest(&self) -> Option<&str> {
        let name = self.name.to_ascii_lowercase();
        let distances = self.known.iter().map(|known| {
            let distance = strsim::osa_distance(&name, known);
            (distance, known.as_str())
        });
        let (distance, nearest) = distances.min()?;
        (distance * 3 <= nearest.len()).then_some(nearest)
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Not a recognized value: {}. ", self.name)?;
        if let Some(nearest) = self.nearest() {
            write!(f, "Did you mean {nearest}? ")?;
        }
        write!(f, "It must be one of {}", self.known.join(", "))
    }
}

/// Properties of an event that filters compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventSummary<'a> {
    /// The type of the object that the event is about.
    pub resource_type: &'a str,
    /// The object's subtype, if it has one.
    pub resource_subtype: Option<&'a str>,
    /// The action, one of [`ACTIONS`].
    pub action: &'a str,
    /// Another name of the event's action, which a filter may use instead.
    pub other_action: Option<&'a str>,
    /// For `changed`: the field that changed.
    pub field: Option<&'a str>,
}

impl EventFilter {
    /// Returns true if an event passes the filter.
    #[must_use]
    pub fn matches(&self, event: &EventSummary<'_>) -> bool {
        let subtype = self.resource_subtype.as_deref();
        let action = self.action.as_deref();
        self.resource_type == event.resource_type
            && subtype.is_none_or(|s| event.resource_subtype == Some(s))
            && action.is_none_or(|a| a == event.action || event.other_action == Some(a))
            && (self.fields.is_empty()
                || event
                    .field
                    .is_some_and(|field| self.fields.iter().any(|f| f == field)))
    }

    /// Reads a filter from a request.
    ///
    /// # Errors
    /// Names the missing or wrong part, and a valid one.
    pub fn read(value: &Value) -> Result<Self, EventFilterError> {
        let map = value.as_object().ok_or(EventFilterError::NotAnObject)?;
        let resource_type = word(map, "resource_type")?.ok_or(EventFilterError::MissingType)?;
        let resource_subtype = word(map, "resource_subtype")?;
        let action = word(map, "action")?;
        if let Some(action) = &action
            && !ACTIONS.contains(&action.as_str())
        {
            let unknown = UnknownName::new(action, &ACTIONS);
            return Err(EventFilterError::UnknownAction(unknown));
        }
        let fields = match map.get("fields") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) if items.len() <= FIELDS_MAX => items
                .iter()
                .map(|v| v.as_str().filter(|s| is_word(s)).map(str::to_owned))
                .collect::<Option<Vec<_>>>()
                .ok_or(EventFilterError::FieldName)?,
            Some(_) => return Err(EventFilterError::Fields),
        };
        if !fields.is_empty() && action.as_deref() != Some("changed") {
            return Err(EventFilterError::FieldsWithoutChange);
        }
        Ok(Self {
            resource_type,
            resource_subtype,
            action,
            fields,
        })
    }

    /// Reads the filters of a request; null means no filters.
    ///
    /// # Errors
    /// Names the wrong filter, and the reason.
    pub fn read_all(value: &Value) -> Result<Vec<Self>, EventFilterError> {
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) if items.len() <= FILTERS_MAX => {
                let read = |(i, item)| {
                    Self::read(item).map_err(|error| EventFilterError::At(i, Box::new(error)))
                };
                items.iter().enumerate().map(read).collect()
            }
            Value::Array(_) => Err(EventFilterError::TooMany),
            _ => Err(EventFilterError::NotAList),
        }
    }

    /// Requires that the type of each filter is one of `types`, the types that events may be about.
    ///
    /// # Errors
    /// Names the filter with another type, and the type that was probably meant.
    pub fn require_types(filters: &[Self], types: &[&str]) -> Result<(), EventFilterError> {
        for (i, filter) in filters.iter().enumerate() {
            let name = filter.resource_type.as_str();
            if !types.contains(&name) {
                let unknown = EventFilterError::UnknownType(UnknownName::new(name, types));
                return Err(EventFilterError::At(i, Box::new(unknown)));
            }
        }
        Ok(())
    }

    /// Returns the filter as it is shown and stored.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut map = Map::new();
        map.insert("resource_type".to_owned(), json!(self.resource_type));
        for (name, part) in [
            ("resource_subtype", &self.resource_subtype),
            ("action", &self.action),
        ] {
            if let Some(part) = part {
                map.insert(name.to_owned(), json!(part));
            }
        }
        if !self.fields.is_empty() {
            map.insert("fields".to_owned(), json!(self.fields));
        }
        Value::Object(map)
    }
}

fn word(map: &Map<String, Value>, name: &'static str) -> Result<Option<String>, EventFilterError> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if is_word(text) => Ok(Some(text.clone())),
        Some(_) => Err(EventFilterError::NotAName(name)),
    }
}

fn is_word(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event<'a>(action: &'a str, field: Option<&'a str>) -> EventSummary<'a> {
        EventSummary {
            resource_type: "task",
            resource_subtype: Some("milestone"),
            action,
            other_action: None,
            field,
        }
    }

    #[test]
    fn every_part_that_is_there_must_fit() {
        let fits = |filter: Value, event: &EventSummary<'_>| {
            let filter = EventFilter::read(&filter).unwrap();
            assert_eq!(EventFilter::read(&filter.json()).unwrap(), filter);
            filter.matches(event)
        };
        let due = event("changed", Some("due_on"));
        assert!(fits(json!({"resource_type": "task"}), &due));
        assert!(!fits(json!({"resource_type": "story"}), &due));
        assert!(fits(
            json!({"resource_type": "task", "resource_subtype": "milestone"}),
            &due
        ));
        assert!(!fits(
            json!({"resource_type": "task", "resource_subtype": "approval"}),
            &due
        ));
        let named =
            json!({"resource_type": "task", "action": "changed", "fields": ["due_on", "name"]});
        assert!(fits(named.clone(), &due));
        assert!(!fits(named.clone(), &event("changed", Some("notes"))));
        assert!(!fits(named, &event("added", None)));
        let deleted = json!({"resource_type": "task", "action": "deleted"});
        assert!(!fits(deleted.clone(), &due));
        let removed = EventSummary {
            other_action: Some("deleted"),
            ..event("removed", None)
        };
        assert!(fits(deleted, &removed));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (bad, reason) in [
            (json!(1), "Not an array"),
            (json!([1]), "[0]: Not an object"),
            (json!([{}]), "[0]: resource_type: Missing input"),
            (json!([{"resource_type": 7}]), "[0]: resource_type: must be"),
            (
                json!([{"resource_type": "task"}, {"resource_type": "task", "action": "x"}]),
                "[1]: action: Not a recognized value: x. It must be one of changed",
            ),
            (
                json!([{"resource_type": "task", "action": "added", "fields": ["a"]}]),
                "fields: only with",
            ),
            (
                json!([{"resource_type": "task", "action": "changed", "fields": "a"}]),
                "fields: must be",
            ),
            (json!(vec![json!({"resource_type": "t"}); 51]), "Too many"),
        ] {
            let said = EventFilter::read_all(&bad).unwrap_err().to_string();
            assert!(said.contains(reason), "{said}");
        }
        assert_eq!(EventFilter::read_all(&Value::Null), Ok(Vec::new()));
    }

    #[test]
    fn of_a_misspelt_name_the_right_one_is_suggested() {
        let said = |name: &str, known: &[&str]| UnknownName::new(name, known).to_string();
        for (name, meant) in [
            ("delete", "deleted"),
            ("Deleted", "deleted"),
            ("aded", "added"),
            ("undelete", "undeleted"),
        ] {
            let said = said(name, &ACTIONS);
            assert!(said.contains(&format!("Did you mean {meant}?")), "{said}");
        }
        assert!(said("tsak", &["tag", "task", "team"]).contains("Did you mean task?"));
        let said = said("zebra", &["tag", "task"]);
        assert_eq!(
            said,
            "Not a recognized value: zebra. It must be one of tag, task"
        );
    }
}
