//! Custom types of tasks. No operation of the contract creates one: the operator does.
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::{Operation, get};
use workgraph_core::model::registry::{LinkOne, Type, TypedField, rel};

/// Operations on custom types: a part of [`TABLES`](super::TABLES).
pub static CUSTOM_TYPES: &[Operation] = &[
    Lists::<CustomTypes>::list("getCustomTypes", "/custom_types"),
    get(
        "getCustomType",
        "/custom_types/{custom_type_gid}",
        Type::CustomType,
    ),
];

/// The list of the custom types of a project.
struct CustomTypes;

/// The projects that have a custom type. Not part of the record.
const PROJECTS: TypedField<LinkOne> =
    TypedField::edge("project", &[Type::Project], rel::CUSTOM_TYPE_ON);

impl RecordList for CustomTypes {
    const LISTED: Type = Type::CustomType;
    const ANCHORS: &'static [ListAnchor] = &[ListAnchor::of(
        PROJECTS,
        PROJECTS.def.name,
        &[Type::Project],
        "The project whose custom types are listed.",
    )
    .required()];
}
