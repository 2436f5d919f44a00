//! The custom fields of a task, project, portfolio or goal in a view.
use crate::model::custom_field_values::stored_values;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::registry::{Type, rel};
use crate::storage::ReadView;

/// Custom field of a node, with its stored value.
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

/// Returns the nodes that give a node custom fields: for a task its projects, and the assignee's task list if the assignee is the
/// viewer; for projects and portfolios the portfolios that have them as items. A goal has its own fields.
pub fn field_containers(view: &ReadView, gid: Gid, ty: Type) -> impl Iterator<Item = Gid> {
    let seats = &view.viewer.memberships;
    let (projects, lists, portfolios): (&[Edge], &[Edge], &[Edge]) = match ty {
        Type::Project | Type::Portfolio => (&[], &[], view.links(gid, rel::ITEM_OF)),
        Type::Goal => (&[], &[], &[]),
        _ => (
            view.links(gid, rel::SECTION),
            view.links(gid, rel::MY_TASKS),
            &[],
        ),
    };
    let own = lists
        .iter()
        .filter(|e| seats.iter().any(|s| s.task_list == e.aux));
    // A deleted portfolio gives no fields.
    let live = portfolios.iter().map(|e| e.dst);
    let live = live.filter(|portfolio| view.node(*portfolio).is_some());
    let itself = rel::to_field_containers(ty).is_none().then_some(gid);
    let containers = projects.iter().chain(own).filter_map(|e| e.aux);
    containers.chain(live).chain(itself)
}

/// Returns a node's custom fields: first the fields of its containers, each once, in the order of the containers and of
/// their settings; then the fields for which the node only has a value. The view must have the edges from the node to the
/// containers.
#[must_use]
pub fn custom_field_values<'v>(
    view: &ReadView,
    (gid, ty): (Gid, Type),
    object: Option<&'v str>,
) -> Vec<CustomFieldValue<'v>> {
    let values: Vec<(Gid, &str)> = object
        .map(|o| stored_values(o).collect())
        .unwrap_or_default();
    let numbers = view.links(gid, rel::NUMBERED);
    let mut all: Vec<CustomFieldValue<'v>> = Vec::new();
    for (at, container) in field_containers(view, gid, ty).enumerate() {
        for edge in view.sources(container, rel::FIELD_ON) {
            // A single project or task list has each field only once.
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
