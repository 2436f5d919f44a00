//! Status updates: reports on the progress of an object. The status updates of projects also have an old form, the project
//! status.
use super::story::{HEARTED, HEARTS, LIKED, LIKES, NUM_HEARTS, NUM_LIKES, REACTIONS};
use super::{GID, RESOURCE_TYPE};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::node::{Node, write_json_string};
use crate::model::registry::{
    FieldSource, LinkOne, MentionRule, NAME_MAX, Opaque, Representation, Resource, TEXT_MAX, Type,
    TypedField, ValueType,
};
use crate::model::time::Time;
use workgraph_richtext::RichTextProfile;

/// Rules for the status updates of objects of one type.
#[derive(Debug)]
pub struct StatusParent {
    /// Type of the objects.
    pub ty: Type,
    /// `resource_subtype` of their status updates.
    pub subtype: &'static str,
    /// Values that `status_type` may have.
    pub status_types: &'static [&'static str],
    /// Effect of the current status update on the object.
    pub effect: StatusEffect,
}

/// Effect of the current status update on its object.
#[derive(Debug)]
pub enum StatusEffect {
    /// No effect on the object.
    Nothing,
    /// The status type `complete` completes the object.
    Completes,
    /// The object has its own status: a word for each status type.
    Status(&'static [(&'static str, &'static str)]),
}

/// Types of the objects that status updates are about.
pub const PARENT_TYPES: &[Type] = &[Type::Project, Type::Portfolio, Type::Goal];
static PARENTS: &[StatusParent] = &[
    StatusParent {
        ty: Type::Project,
        subtype: PROJECT_SUBTYPE,
        status_types: WORK_STATUS_TYPES,
        effect: StatusEffect::Completes,
    },
    StatusParent {
        ty: Type::Portfolio,
        subtype: "portfolio_status_update",
        status_types: WORK_STATUS_TYPES,
        effect: StatusEffect::Nothing,
    },
    StatusParent {
        ty: Type::Goal,
        subtype: "goal_status_update",
        status_types: GOAL_STATUS_TYPES,
        effect: StatusEffect::Status(GOAL_STATUSES),
    },
];
const PROJECT_SUBTYPE: &str = "project_status_update";

/// Returns the rules for the status updates of objects of a type, or `None` if they have none.
#[must_use]
pub fn parent_rules(ty: Type) -> Option<&'static StatusParent> {
    PARENTS.iter().find(|parent| parent.ty == ty)
}

/// Status types of projects and portfolios.
const WORK_STATUS_TYPES: &[&str] = &[
    "on_track",
    "at_risk",
    "off_track",
    "on_hold",
    COMPLETE,
    "dropped",
];
/// Values of `status_type` for goals.
const GOAL_STATUS_TYPES: &[&str] = &[
    "on_track",
    "at_risk",
    "off_track",
    "achieved",
    "partial",
    "missed",
    "dropped",
];
/// The status of a goal for each status type.
const GOAL_STATUSES: &[(&str, &str)] = &[
    ("on_track", "green"),
    ("at_risk", "yellow"),
    ("off_track", "red"),
    ("achieved", "achieved"),
    ("partial", "partial"),
    ("missed", "missed"),
    ("dropped", "dropped"),
];
/// Values of `status_type`, for all objects.
const STATUS_TYPES: &[&str] = &[
    "on_track",
    "at_risk",
    "off_track",
    "on_hold",
    COMPLETE,
    "achieved",
    "partial",
    "missed",
    "dropped",
];
/// Status type of an object that is done.
pub const COMPLETE: &str = "complete";

/// Status types with their colours in the old form. The last one shares its colour with another.
const COLORS: &[(&str, &str)] = &[
    ("on_track", "green"),
    ("at_risk", "yellow"),
    ("off_track", "red"),
    ("on_hold", "blue"),
    (COMPLETE, "complete"),
    ("dropped", "blue"),
];

/// Returns the status type that a colour of the old form means.
#[must_use]
pub fn status_type_of(color: &str) -> Option<&'static str> {
    let found = COLORS.iter().find(|(_, name)| *name == color);
    found.map(|(status_type, _)| *status_type)
}

/// Headline.
pub const TITLE: TypedField<str> = TypedField::text("title", NAME_MAX)
    .head()
    .on_create()
    .doc("The headline; without one it names the day.");
/// Kind of object that it is about.
pub const SUBTYPE: TypedField<str> = TypedField::text("resource_subtype", 64)
    .compact()
    .doc("The kind of the status update, named after the type of its parent.");
/// Report as plain text.
pub const TEXT: TypedField<str> = TypedField::text("text", TEXT_MAX)
    .mentions(MentionRule::Links("html_text"))
    .on_create()
    .doc("The report as plain text.");
/// Report as rich text.
pub const HTML_TEXT: TypedField<str> = TypedField::html("html_text")
    .opt_in()
    .on_create()
    .doc("The report as rich text.");
/// State of the object.
pub const STATUS_TYPE: TypedField<str> =
    TypedField::word("status_type", STATUS_TYPES, "\"on_track\"")
        .on_create()
        .doc("The reported state of the object; some types of object have fewer states.");
/// Its author, under the name of the contract.
pub const AUTHOR: TypedField<LinkOne> = TypedField::inline("author", &[Type::User])
    .stored_as("created_by")
    .doc("The author.");
/// Time at which the status update was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time of writing, in UTC.");
/// Author of the status update.
pub const CREATED_BY: TypedField<LinkOne> =
    TypedField::inline("created_by", &[Type::User]).doc("The author.");
/// Time of the last change. Updates never change, so it is the time of creation.
pub const MODIFIED_AT: TypedField<Time> = TypedField::time("modified_at")
    .stored_as("created_at")
    .doc("Time of the last change, in UTC.");
/// Object that it is about.
pub const PARENT: TypedField<LinkOne> =
    TypedField::inline("parent", PARENT_TYPES).doc("The object the status update reports on.");
/// The newest status update of an object; a field of the objects.
pub const CURRENT_STATUS_UPDATE: TypedField<LinkOne> =
    TypedField::inline("current_status_update", &[Type::StatusUpdate])
        .current()
        .doc("The newest status update, or null.");

/// Declaration of status updates.
pub static STATUS_UPDATE: Resource = Resource {
    path: "status_updates",
    noun: "status update",
    read_scope: "default",
    flavor: RichTextProfile::Comment,
    title: None,
    subtype: true,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        TITLE.def,
        SUBTYPE.def,
        TEXT.def,
        HTML_TEXT.def,
        STATUS_TYPE.def,
        AUTHOR.def,
        CREATED_AT.def,
        CREATED_BY.def,
        HEARTED.def,
        HEARTS.def,
        LIKED.def,
        LIKES.def,
        REACTIONS.def,
        MODIFIED_AT.def,
        NUM_HEARTS.def,
        NUM_LIKES.def,
        PARENT.def,
    ],
    ..Resource::of(Type::StatusUpdate, "status_update")
};

const PROJECT_STATUS_TYPE: TypedField<Opaque> = TypedField::other(
    "resource_type",
    ValueType::Text(64),
    FieldSource::Always("\"project_status\""),
)
.compact()
.doc("The type of the resource.");
/// Colour for the status type.
pub const COLOR: TypedField<Opaque> = TypedField::other(
    "color",
    ValueType::Word(&["green", "yellow", "red", "blue", "complete"]),
    FieldSource::Computed(color),
)
.on_create()
.doc("The state of the project; green unless another is given.");

/// Declaration of the old form of the status updates of projects.
pub static PROJECT_STATUS: Resource = Resource {
    path: "project_statuses",
    noun: "project status",
    read_scope: "default",
    flavor: RichTextProfile::Comment,
    title: None,
    representation: Some(Representation {
        of: Type::StatusUpdate,
        applies_to: is_of_project,
    }),
    fields: &[
        GID.def,
        PROJECT_STATUS_TYPE.def,
        TITLE.def,
        TEXT.def,
        HTML_TEXT.def,
        COLOR.def,
        AUTHOR.def,
        CREATED_AT.def,
        CREATED_BY.def,
        MODIFIED_AT.def,
    ],
    ..Resource::of(Type::ProjectStatus, "project_status")
};

fn is_of_project(node: &Node) -> bool {
    node.get(SUBTYPE).as_deref() == Some(PROJECT_SUBTYPE)
}

fn color(node: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let status_type = node.get(STATUS_TYPE);
    let found = COLORS
        .iter()
        .find(|(name, _)| status_type.as_deref() == Some(*name));
    write_json_string(out, found.map_or("green", |(_, color)| *color));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_parent_has_rules_with_known_words() {
        assert_eq!(PARENT_TYPES.len(), PARENTS.len());
        for ty in PARENT_TYPES {
            let rules = parent_rules(*ty).unwrap();
            assert!(rules.status_types.iter().all(|w| STATUS_TYPES.contains(w)));
        }
    }

    #[test]
    fn every_status_type_of_projects_has_a_colour_and_every_colour_a_status_type() {
        for word in WORK_STATUS_TYPES {
            assert!(COLORS.iter().any(|(name, _)| name == word), "{word}");
        }
        for (status_type, color) in COLORS {
            let back = status_type_of(color).unwrap();
            assert!(back == *status_type || *status_type == "dropped");
        }
        assert_eq!(status_type_of("pink"), None);
    }
}
