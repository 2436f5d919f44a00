//! Reactions: emojis with which users react to objects. A like is the reaction with a thumb up.
use super::GID;
use crate::model::registry::{
    Direction, FieldDef, FieldSource, LinkOne, Opaque, Relation, Resource, Type, TypedField,
    ValueType,
};

/// Emoji of a like.
pub const LIKE: &str = "\u{1f44d}";
const LIKE_JSON: &str = "\"\u{1f44d}\"";

/// Emoji of the reaction.
pub const EMOJI: TypedField<str> = TypedField::text("emoji", 32)
    .default(LIKE_JSON)
    .compact()
    .doc("The emoji, with its skin tone if it has one.");
/// User who reacted.
pub const USER: TypedField<LinkOne> = TypedField::inline("user", &[Type::User])
    .compact()
    .doc("The user who reacted.");

/// Declaration of reactions.
pub static REACTION: Resource = Resource {
    path: "reactions",
    read_scope: "default",
    title: None,
    fields: &[GID.def, EMOJI.def, USER.def],
    ..Resource::of(Type::Reaction, "reaction")
};

/// Returns the field of the reactions to an object. `likes` is the relation of the likes of such objects.
#[must_use]
pub const fn summary(parts: &'static [FieldDef], likes: Relation) -> TypedField<Opaque> {
    TypedField::other(
        "reaction_summary",
        ValueType::Items(parts),
        FieldSource::Summary(likes),
    )
}

/// Returns the parts of an item of the summary.
#[must_use]
pub const fn summary_parts(likes: Relation) -> [FieldDef; 4] {
    let emoji = FieldSource::Always(LIKE_JSON);
    let [base, variant] = ["emoji_base", "variant"];
    [
        TypedField::other(base, ValueType::Text(32), emoji)
            .doc("The emoji without skin tone.")
            .def,
        TypedField::other(variant, ValueType::Text(32), emoji)
            .doc("The emoji with its skin tone, if it has one.")
            .def,
        TypedField::other(
            "count",
            ValueType::Int,
            FieldSource::Count(likes, Direction::Out),
        )
        .doc("Number of users who reacted with the emoji.")
        .def,
        TypedField::other("reacted", ValueType::Flag, FieldSource::HasViewer(likes))
            .doc("True if the viewer reacted with the emoji.")
            .def,
    ]
}
