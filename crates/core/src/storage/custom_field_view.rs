//! The custom fields of a task in a view.
use crate::model::custom_field_values::stored_values;
use crate::model::gid::Gid;
use crate::model::registry::rel;
use crate::storage::ReadView;

/// A custom field of a task, with its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CustomFieldValue<'v> {
    /// Gid of the field.
    pub field: Gid,
    /// The stored value, if there is one.
    pub value: Option<&'v str>,
    /// True if a project of the task has the field; otherwise the value can only be cleared.
    pub enabled: bool,
    /// Number that the field gives the task, for fields with automatic ids.
    pub number: Option<i64>,
}

/// Returns the nodes that give a task custom fields: its projects, and the assignee's task list if the assignee is the
/// viewer.
pub fn field_containers(view: &ReadView, task: Gid) -> impl Iterator<Item = Gid> {
    let seats = &view.viewer.memberships;
    let lists = view.links(task, rel::MY_TASKS).iter();
    let own = lists.filter(|e| seats.iter().any(|s| s.task_list == e.aux));
    let projects = view.links(task, rel::SECTION).iter();
    projects.chain(own).filter_map(|e| e.aux)
}

/// Returns the fields that a task has from its projects, in the order of the projects and of their settings, each once;
/// then those that the task only has a value for. The view must hold the edges from the task to them.
#[must_use]
pub fn custom_field_values<'v>(
    view: &ReadView,
    task: Gid,
    object: Option<&'v str>,
) -> Vec<CustomFieldValue<'v>> {
    let values: Vec<(Gid, &str)> = object
        .map(|o| stored_values(o).collect())
        .unwrap_or_default();
    let numbers = view.links(task, rel::NUMBERED);
    let mut all: Vec<CustomFieldValue<'v>> = Vec::new();
    for (at, place) in field_containers(view, task).enumerate() {
        for edge in view.sources(place, rel::FIELD_ON) {
            // One project or task list has a field once.
            if at > 0 && all.iter().any(|h| h.field == edge.src) {
                continue;
            }
            let value = values.iter().find(|(field, _)| *field == edge.src);
            all.push(CustomFieldValue {
                field: edge.src,
                value: value.map(|(_, value)| *value),
                enabled: true,
                number: numbers.iter().find(|e| e.dst == edge.src).map(|e| e.rank),
            });
        }
    }
    let given = all.len();
    for (field, value) in values {
        if !all.iter().take(given).any(|h| h.field == field) {
            all.push(CustomFieldValue {
                field,
                value: Some(value),
                enabled: false,
                number: None,
            });
        }
    }
    all
}
