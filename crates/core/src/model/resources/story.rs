//! Stories: comments, and records of changes.
use super::{GID, RESOURCE_TYPE, likes, reaction};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::node::Node;
use crate::model::registry::{
    FieldDef, FieldSource, LinkMany, LinkOne, MentionRule, NAME_MAX, Opaque, Resource, TEXT_MAX,
    Type, TypedField, ValueType, rel,
};
use crate::model::time::Time;
use workgraph_richtext::RichTextProfile;

const STICKERS: &[&str] = &[
    "green_checkmark",
    "people_dancing",
    "dancing_unicorn",
    "heart",
    "party_popper",
    "people_waving_flags",
    "splashing_narwhal",
    "trophy",
    "yeti_riding_unicorn",
    "celebrating_people",
    "determined_climbers",
    "phoenix_spreading_love",
];

/// Time at which it was written.
pub const CREATED_AT: TypedField<Time> = TypedField::time("created_at")
    .compact()
    .doc("Time of writing, in UTC.");
/// Kind of story.
pub const SUBTYPE: TypedField<str> = TypedField::text("resource_subtype", 64)
    .compact()
    .doc("The kind of story, named after the change it records.");
/// Text of the comment; for system stories, a sentence that is composed when it is read.
pub const TEXT: TypedField<str> = TypedField::text("text", TEXT_MAX)
    .mentions(MentionRule::Story("html_text"))
    .compact()
    .writable()
    .doc("The comment as plain text, or what happened.");
/// Text of the comment as rich text.
pub const HTML_TEXT: TypedField<str> = TypedField::html("html_text")
    .opt_in()
    .writable()
    .doc("The comment as rich text.");
/// True if it is pinned to the top.
pub const IS_PINNED: TypedField<bool> = TypedField::flag("is_pinned")
    .writable()
    .doc("True if the story is pinned to the top of the task.");
/// Name of the sticker of a comment.
pub const STICKER: TypedField<str> = TypedField::word_or_null("sticker_name", STICKERS)
    .writable()
    .doc("The sticker of the comment, or null.");
/// User who wrote it.
pub const CREATED_BY: TypedField<LinkOne> = TypedField::inline("created_by", &[Type::User])
    .compact()
    .doc("The user who wrote the story or made the change.");
/// `comment` or `system`.
pub const KIND: TypedField<Opaque> =
    TypedField::other("type", ValueType::Json, FieldSource::Computed(kind))
        .compact()
        .doc("The origin of the story: comment if a user wrote it, system if a change did.");
/// True if the viewer may edit it.
pub const IS_EDITABLE: TypedField<Opaque> = TypedField::other(
    "is_editable",
    ValueType::Flag,
    FieldSource::Computed(is_editable),
)
.doc("True if the viewer may edit the text.");
/// True if it was edited.
pub const IS_EDITED: TypedField<bool> =
    TypedField::flag("is_edited").doc("True if the text was edited after it was written.");
/// True if the viewer likes the story.
pub const LIKED: TypedField<Opaque> =
    likes::shown_flag("liked", rel::STORY_LIKES).doc("True if the viewer likes the story.");
/// Users who like the story.
pub const LIKES: TypedField<LinkMany> =
    likes::list("likes", rel::STORY_LIKES).doc("The likes of the story, each with its user.");
/// Number of users who like the story.
pub const NUM_LIKES: TypedField<Opaque> =
    likes::count("num_likes", rel::STORY_LIKES).doc("Number of users who like the story.");
/// Old name of `liked`.
pub const HEARTED: TypedField<Opaque> =
    likes::shown_flag("hearted", rel::STORY_LIKES).doc("Old name of liked.");
/// Old name of `likes`.
pub const HEARTS: TypedField<LinkMany> =
    likes::list("hearts", rel::STORY_LIKES).doc("Old name of likes.");
/// Old name of `num_likes`.
pub const NUM_HEARTS: TypedField<Opaque> =
    likes::count("num_hearts", rel::STORY_LIKES).doc("Old name of num_likes.");
/// Emoji reactions, grouped by emoji; likes are the only ones.
pub const REACTIONS: TypedField<Opaque> =
    reaction::summary(REACTION_PARTS, rel::STORY_LIKES).doc("The emoji reactions to the story.");
const REACTION_PARTS: &[FieldDef] = &reaction::summary_parts(rel::STORY_LIKES);
/// Previews of links; always none.
pub const PREVIEWS: TypedField<Opaque> =
    TypedField::other("previews", ValueType::Json, FieldSource::Always("[]"))
        .opt_in()
        .needs(&["attachments:read"])
        .doc("The previews of links in the text.");
/// The task or goal it is on.
pub const TARGET: TypedField<LinkOne> =
    TypedField::edge("target", &[Type::Task, Type::Goal], rel::STORY_OF)
        .doc("The task or goal the story is on.");
/// Kind of the client that wrote it.
pub const SOURCE: TypedField<str> = TypedField::word(
    "source",
    &["web", "email", "mobile", "api", "unknown"],
    "\"api\"",
)
.doc("The kind of client that wrote the story.");
/// Name before a rename.
pub const OLD_NAME: TypedField<str> = TypedField::text_or_null("old_name", NAME_MAX)
    .if_set()
    .doc("The name of the task before the change.");
/// Name after a rename.
pub const NEW_NAME: TypedField<str> = TypedField::text_or_null("new_name", NAME_MAX)
    .if_set()
    .doc("The name of the task after the change.");
/// Dates before the change.
pub const OLD_DATES: TypedField<Opaque> = TypedField::json("old_dates")
    .if_set()
    .doc("The dates before: start_on, due_at, due_on.");
/// Dates after the change.
pub const NEW_DATES: TypedField<Opaque> = TypedField::json("new_dates")
    .if_set()
    .doc("The dates after: start_on, due_at, due_on.");
/// Subtype before the change.
pub const OLD_SUBTYPE: TypedField<str> = TypedField::text_or_null("old_resource_subtype", 64)
    .if_set()
    .doc("The task's subtype before.");
/// Subtype after the change.
pub const NEW_SUBTYPE: TypedField<str> = TypedField::text_or_null("new_resource_subtype", 64)
    .if_set()
    .doc("The task's subtype after.");
/// The story it is about.
pub const STORY_LINK: TypedField<LinkOne> = TypedField::inline("story", &[Type::Story])
    .if_set()
    .doc("The comment that was liked or pinned.");
/// User to whom the task was assigned.
pub const ASSIGNEE: TypedField<LinkOne> = TypedField::inline("assignee", &[Type::User])
    .if_set()
    .doc("The user the task was assigned to.");
/// The follower added or removed.
pub const FOLLOWER: TypedField<LinkOne> = TypedField::inline("follower", &[Type::User])
    .if_set()
    .doc("The follower added or removed.");
/// Section before the move.
pub const OLD_SECTION: TypedField<LinkOne> = TypedField::inline("old_section", &[Type::Section])
    .if_set()
    .doc("The section the task left.");
/// Section after the move.
pub const NEW_SECTION: TypedField<LinkOne> = TypedField::inline("new_section", &[Type::Section])
    .if_set()
    .doc("The section the task came into.");
/// The other task of the change, such as a subtask.
pub const TASK: TypedField<LinkOne> = TypedField::inline("task", &[Type::Task])
    .if_set()
    .doc("The other task of the change, such as the subtask.");
/// Project of the change.
pub const PROJECT: TypedField<LinkOne> = TypedField::inline("project", &[Type::Project])
    .if_set()
    .doc("The project the task was added to or removed from.");
/// Tag that was added or removed.
pub const TAG: TypedField<LinkOne> = TypedField::inline("tag", &[Type::Tag])
    .if_set()
    .doc("The tag added or removed.");
/// Approval status before the change.
pub const OLD_APPROVAL: TypedField<str> = TypedField::text_or_null("old_approval_status", 64)
    .if_set()
    .doc("The approval status before the change.");
/// Approval status after the change.
pub const NEW_APPROVAL: TypedField<str> = TypedField::text_or_null("new_approval_status", 64)
    .if_set()
    .doc("The approval status after the change.");
/// The task that this one duplicates.
pub const DUPLICATE_OF: TypedField<LinkOne> = TypedField::inline("duplicate_of", &[Type::Task])
    .if_set()
    .doc("The task it was marked a duplicate of.");
/// The task this one was copied from.
pub const DUPLICATED_FROM: TypedField<LinkOne> =
    TypedField::inline("duplicated_from", &[Type::Task])
        .if_set()
        .doc("The task it was copied from.");
/// Task that the task waits for.
pub const DEPENDENCY: TypedField<LinkOne> = TypedField::inline("dependency", &[Type::Task])
    .if_set()
    .doc("The task of a dependency change.");

/// Custom field with the changed value.
pub const CUSTOM_FIELD: TypedField<LinkOne> =
    TypedField::inline("custom_field", &[Type::CustomField])
        .if_set()
        .doc("The custom field whose value changed.");
/// Value of a text field before the change.
pub const OLD_TEXT: TypedField<str> = TypedField::text_or_null("old_text_value", 1024)
    .if_set()
    .visible_through("custom_field")
    .doc("The text value before the change.");
/// Value of a text field after the change.
pub const NEW_TEXT: TypedField<str> = TypedField::text_or_null("new_text_value", 1024)
    .if_set()
    .visible_through("custom_field")
    .doc("The text value after the change.");
/// Value of a number field before the change.
pub const OLD_NUMBER: TypedField<Opaque> = TypedField::json("old_number_value")
    .if_set()
    .visible_through("custom_field")
    .doc("The number value before the change.");
/// Value of a number field after the change.
pub const NEW_NUMBER: TypedField<Opaque> = TypedField::json("new_number_value")
    .if_set()
    .visible_through("custom_field")
    .doc("The number value after the change.");
/// Option of an enum field before the change.
pub const OLD_ENUM: TypedField<LinkOne> = TypedField::inline("old_enum_value", &[Type::EnumOption])
    .if_set()
    .visible_through("custom_field")
    .doc("The chosen option before the change.");
/// Option of an enum field after the change.
pub const NEW_ENUM: TypedField<LinkOne> = TypedField::inline("new_enum_value", &[Type::EnumOption])
    .if_set()
    .visible_through("custom_field")
    .doc("The chosen option after the change.");
/// Value of a date field before the change.
pub const OLD_DATE: TypedField<Opaque> = TypedField::json("old_date_value")
    .if_set()
    .visible_through("custom_field")
    .doc("The date before: start_on, due_at, due_on.");
/// Value of a date field after the change.
pub const NEW_DATE: TypedField<Opaque> = TypedField::json("new_date_value")
    .if_set()
    .visible_through("custom_field")
    .doc("The date after: start_on, due_at, due_on.");
/// Users of a people field before the change.
pub const OLD_PEOPLE: TypedField<Opaque> = TypedField::gids("old_people_value", &[Type::User])
    .if_set()
    .visible_through("custom_field")
    .doc("The chosen users before the change.");
/// Users of a people field after the change.
pub const NEW_PEOPLE: TypedField<Opaque> = TypedField::gids("new_people_value", &[Type::User])
    .if_set()
    .visible_through("custom_field")
    .doc("The chosen users after the change.");
/// Options of a multi_enum field before the change.
pub const OLD_MULTI_ENUM: TypedField<Opaque> =
    TypedField::gids("old_multi_enum_values", &[Type::EnumOption])
        .if_set()
        .visible_through("custom_field")
        .doc("The chosen options before the change.");
/// Options of a multi_enum field after the change.
pub const NEW_MULTI_ENUM: TypedField<Opaque> =
    TypedField::gids("new_multi_enum_values", &[Type::EnumOption])
        .if_set()
        .visible_through("custom_field")
        .doc("The chosen options after the change.");

/// Objects of a reference field after the change. The contract has no field for them; the sentence names the objects that
/// its reader sees.
pub const NEW_REFERENCE: TypedField<Opaque> = TypedField::gids("new_reference_value", &[]);

/// The attachment that was added. The contract has no field for it; the sentence names it.
pub const ATTACHMENT: TypedField<LinkOne> = TypedField::inline("attachment", &[Type::Attachment]);

/// Declaration of stories.
pub static STORY: Resource = Resource {
    path: "stories",
    read_scope: "stories:read",
    flavor: RichTextProfile::Comment,
    title: None,
    subtype: true,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        CREATED_AT.def,
        SUBTYPE.def,
        TEXT.def,
        HTML_TEXT.def,
        IS_PINNED.def,
        STICKER.def,
        CREATED_BY.def,
        KIND.def,
        IS_EDITABLE.def,
        IS_EDITED.def,
        HEARTED.def,
        HEARTS.def,
        NUM_HEARTS.def,
        LIKED.def,
        LIKES.def,
        NUM_LIKES.def,
        REACTIONS.def,
        PREVIEWS.def,
        OLD_NAME.def,
        NEW_NAME.def,
        OLD_DATES.def,
        NEW_DATES.def,
        OLD_SUBTYPE.def,
        NEW_SUBTYPE.def,
        STORY_LINK.def,
        ASSIGNEE.def,
        FOLLOWER.def,
        OLD_SECTION.def,
        NEW_SECTION.def,
        TASK.def,
        PROJECT.def,
        TAG.def,
        OLD_APPROVAL.def,
        NEW_APPROVAL.def,
        CUSTOM_FIELD.def,
        OLD_TEXT.def,
        NEW_TEXT.def,
        OLD_NUMBER.def,
        NEW_NUMBER.def,
        OLD_ENUM.def,
        NEW_ENUM.def,
        OLD_DATE.def,
        NEW_DATE.def,
        OLD_PEOPLE.def,
        NEW_PEOPLE.def,
        OLD_MULTI_ENUM.def,
        NEW_MULTI_ENUM.def,
        DUPLICATE_OF.def,
        DUPLICATED_FROM.def,
        DEPENDENCY.def,
        SOURCE.def,
        TARGET.def,
    ],
    ..Resource::of(Type::Story, "story")
};

/// The subtype of comments.
pub const COMMENT: &str = "comment_added";
/// Subtype of the stories about runs of rule triggers; they keep their sentence.
pub const RULE_TRIGGERED: &str = "rule_triggered";

/// Returns true if a story is a comment.
#[must_use]
pub fn is_comment(node: &Node) -> bool {
    node.get(SUBTYPE).as_deref() == Some(COMMENT)
}

/// Returns true if a story may be pinned: a comment, or the story of an attachment.
#[must_use]
pub fn can_be_pinned(node: &Node) -> bool {
    matches!(
        node.get(SUBTYPE).as_deref(),
        Some(COMMENT | "attachment_added")
    )
}

fn kind(node: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(if is_comment(node) {
        b"\"comment\""
    } else {
        b"\"system\""
    });
}

fn is_editable(node: &Node, scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let own = is_comment(node) && node.get(CREATED_BY) == Some(scene.viewer);
    out.extend_from_slice(if own { b"true" } else { b"false" });
}
