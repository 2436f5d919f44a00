//! Custom types of tasks, with the statuses that tasks of a type have.
use super::{GID, RESOURCE_TYPE};
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Inclusion, LinkOne, NAME_MAX, Opaque, Resource, Type, TypedField};

/// Values of `completion_state`.
pub const COMPLETION_STATES: &[&str] = &["incomplete", "complete"];
/// The subtype of tasks with a custom type.
pub const SUBTYPE: &str = "custom";

/// Display name of the custom type.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .doc("The name of the custom type.");
/// Its statuses, in order.
pub const STATUS_OPTIONS: TypedField<Opaque> =
    TypedField::gids("status_options", &[Type::CustomTypeStatusOption])
        .record(Inclusion::Full)
        .doc("The statuses that tasks of the type have.");
/// States of completion of the statuses, in the same order; not part of the public record.
pub const STATES: TypedField<Opaque> = TypedField::json("states");

/// Declaration of custom types.
pub static CUSTOM_TYPE: Resource = Resource {
    path: "custom_types",
    noun: "custom type",
    read_scope: "task_custom_types:read",
    fields: &[GID.def, RESOURCE_TYPE.def, NAME.def, STATUS_OPTIONS.def],
    ..Resource::of(Type::CustomType, "custom_type")
};

/// Display name of a status.
pub const OPTION_NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .doc("The name of the status.");
/// State of completion that a status means.
pub const COMPLETION_STATE: TypedField<str> =
    TypedField::word("completion_state", COMPLETION_STATES, "\"incomplete\"")
        .doc("The state of completion of tasks with the status: incomplete or complete.");
/// True for a status that tasks can get.
pub const ENABLED: TypedField<bool> = TypedField::flag("enabled")
    .default("true")
    .doc("True if tasks can get the status.");
/// Display colour of a status.
pub const COLOR: TypedField<str> = TypedField::text("color", 64)
    .default("\"none\"")
    .doc("The display colour.");
/// Custom type of a status; not part of the public record.
pub const OPTION_OF: TypedField<LinkOne> = TypedField::inline("custom_type", &[Type::CustomType]);

/// Declaration of the statuses of custom types.
pub static CUSTOM_TYPE_STATUS_OPTION: Resource = Resource {
    path: "custom_type_status_options",
    noun: "custom type status option",
    read_scope: "task_custom_types:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        OPTION_NAME.def,
        COMPLETION_STATE.def,
        ENABLED.def,
        COLOR.def,
    ],
    ..Resource::of(Type::CustomTypeStatusOption, "custom_type_status_option")
};

/// Returns the statuses of a custom type, in order, each with true if it means complete.
#[must_use]
pub fn statuses(custom_type: &Node) -> Vec<(Gid, bool)> {
    let stored = |key: &str| custom_type.raw(key).unwrap_or("[]");
    // A body has only what the rules of custom types wrote.
    let gids: Vec<String> =
        serde_json::from_str(stored(STATUS_OPTIONS.def.name)).unwrap_or_default();
    let states: Vec<bool> = serde_json::from_str(stored(STATES.def.name)).unwrap_or_default();
    let gids = gids.iter().filter_map(|gid| Gid::parse(gid));
    gids.zip(states).collect()
}
