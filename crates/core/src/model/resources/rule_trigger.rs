//! Triggers of rules: a web request runs one on a task of its project. The operator creates them.
use super::RESOURCE_TYPE;
use crate::model::computed_field::ComputedFieldContext;
use crate::model::node::{Node, write_json_string};
use crate::model::registry::{
    FieldSource, LinkOne, NAME_MAX, Opaque, Resource, Type, TypedField, ValueType,
};

/// Name of the trigger.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .opt_in()
    .doc("The name of the trigger.");
/// Project on whose tasks it runs.
pub const PROJECT: TypedField<LinkOne> = TypedField::inline("project", &[Type::Project])
    .opt_in()
    .doc("The project on whose tasks the trigger runs.");
const MESSAGE: TypedField<Opaque> = TypedField::other(
    "message",
    ValueType::Text(2_048),
    FieldSource::Computed(message),
)
.doc("A sentence that says what was run.");

/// Declaration of rule triggers. Their record is the reply to a run.
pub static RULE_TRIGGER: Resource = Resource {
    path: "rule_triggers",
    noun: "rule trigger",
    read_scope: "default",
    container: Some("project"),
    fields: &[
        RESOURCE_TYPE.opt_in().def,
        MESSAGE.def,
        NAME.def,
        PROJECT.def,
    ],
    ..Resource::of(Type::RuleTrigger, "rule_trigger")
};

fn message(node: &Node, _: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    write_json_string(out, &format!("Ran the rule trigger \"{}\".", node.title()));
}
