//! Stories: comments, and the record of what changed.
use super::{GID, LIKE_PARTS, RESOURCE_TYPE};
use crate::node::Node;
use crate::project::Scene;
use crate::registry::{
    Dir, Field, Many, Mentions, NAME_MAX, One, Opaque, Resource, Shape, Source, TEXT_MAX, Type, rel,
};
use crate::rich::Flavor;
use crate::time::Time;

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

/// When it was written.
pub const CREATED_AT: Field<Time> = Field::time("created_at")
    .compact()
    .doc("When the story was written.");
/// What kind of story it is.
pub const SUBTYPE: Field<str> = Field::text("resource_subtype", 64)
    .compact()
    .doc("The kind of story.");
/// The comment, or a sentence for system stories, which is made when it is read.
pub const TEXT: Field<str> = Field::text("text", TEXT_MAX)
    .mentions(Mentions::Story("html_text"))
    .compact()
    .writable()
    .doc("The comment as plain text, or what happened.");
/// The comment as rich text.
pub const HTML_TEXT: Field<str> = Field::html("html_text")
    .opt_in()
    .writable()
    .doc("The comment as rich text.");
/// Pinned to the top.
pub const IS_PINNED: Field<bool> = Field::flag("is_pinned")
    .writable()
    .doc("Whether the story is pinned.");
/// Sticker of a comment.
pub const STICKER: Field<str> = Field::word_or_null("sticker_name", STICKERS)
    .writable()
    .doc("The sticker of the comment, or null.");
/// Who wrote it.
pub const CREATED_BY: Field<One> = Field::inline("created_by", &[Type::User])
    .compact()
    .doc("Who wrote it.");
/// `comment` or `system`.
pub const KIND: Field<Opaque> =
    Field::other("type", Shape::Json, Source::Computed(kind)).doc("comment or system.");
/// The viewer may edit it.
pub const IS_EDITABLE: Field<Opaque> =
    Field::other("is_editable", Shape::Flag, Source::Computed(is_editable))
        .doc("Whether the viewer may edit the text.");
/// It was edited.
pub const IS_EDITED: Field<bool> = Field::flag("is_edited").doc("Whether the text was edited.");
/// The viewer likes it.
pub const LIKED: Field<Opaque> =
    Field::other("liked", Shape::Flag, Source::HasViewer(rel::STORY_LIKES))
        .doc("Whether the viewer likes it.");
/// Who likes it.
pub const LIKES: Field<Many> =
    Field::items("likes", LIKE_PARTS, rel::STORY_LIKES).doc("Who likes it.");
/// How many like it.
pub const NUM_LIKES: Field<Opaque> = Field::other(
    "num_likes",
    Shape::Int,
    Source::Count(rel::STORY_LIKES, Dir::Out),
)
.doc("How many users like it.");
const HEARTED: Field<Opaque> =
    Field::other("hearted", Shape::Flag, Source::HasViewer(rel::STORY_LIKES))
        .doc("Old name of liked.");
const HEARTS: Field<Many> =
    Field::items("hearts", LIKE_PARTS, rel::STORY_LIKES).doc("Old name of likes.");
const NUM_HEARTS: Field<Opaque> = Field::other(
    "num_hearts",
    Shape::Int,
    Source::Count(rel::STORY_LIKES, Dir::Out),
)
.doc("Old name of num_likes.");
/// Emoji reactions.
pub const REACTIONS: Field<Opaque> =
    Field::other("reaction_summary", Shape::Json, Source::Always("[]")).doc("Emoji reactions.");
/// Link previews.
pub const PREVIEWS: Field<Opaque> = Field::other("previews", Shape::Json, Source::Always("[]"))
    .opt_in()
    .needs(&["attachments:read"])
    .doc("Link previews.");
/// The task it is on.
pub const TARGET: Field<One> =
    Field::edge("target", &[Type::Task], rel::STORY_OF).doc("The task it is on.");
/// What wrote it.
pub const SOURCE: Field<str> = Field::word(
    "source",
    &["web", "email", "mobile", "api", "unknown"],
    "\"api\"",
)
.doc("The client that wrote it.");
/// Name before a rename.
pub const OLD_NAME: Field<str> = Field::text_or_null("old_name", NAME_MAX)
    .if_set()
    .doc("The name before.");
/// Name after a rename.
pub const NEW_NAME: Field<str> = Field::text_or_null("new_name", NAME_MAX)
    .if_set()
    .doc("The name after.");
/// Dates before.
pub const OLD_DATES: Field<Opaque> = Field::json("old_dates")
    .if_set()
    .doc("The dates before: start_on, due_at, due_on.");
/// Dates after.
pub const NEW_DATES: Field<Opaque> = Field::json("new_dates")
    .if_set()
    .doc("The dates after: start_on, due_at, due_on.");
/// Subtype before.
pub const OLD_SUBTYPE: Field<str> = Field::text_or_null("old_resource_subtype", 64)
    .if_set()
    .doc("The task's subtype before.");
/// Subtype after.
pub const NEW_SUBTYPE: Field<str> = Field::text_or_null("new_resource_subtype", 64)
    .if_set()
    .doc("The task's subtype after.");
/// The story it is about.
pub const STORY_LINK: Field<One> = Field::inline("story", &[Type::Story])
    .if_set()
    .doc("The story acted upon.");
/// The user assigned.
pub const ASSIGNEE: Field<One> = Field::inline("assignee", &[Type::User])
    .if_set()
    .doc("The user assigned.");
/// The follower added or removed.
pub const FOLLOWER: Field<One> = Field::inline("follower", &[Type::User])
    .if_set()
    .doc("The follower added or removed.");
/// Section before.
pub const OLD_SECTION: Field<One> = Field::inline("old_section", &[Type::Section])
    .if_set()
    .doc("The section before.");
/// Section after.
pub const NEW_SECTION: Field<One> = Field::inline("new_section", &[Type::Section])
    .if_set()
    .doc("The section after.");
/// The other task.
pub const TASK: Field<One> = Field::inline("task", &[Type::Task])
    .if_set()
    .doc("The other task involved.");
/// The project.
pub const PROJECT: Field<One> = Field::inline("project", &[Type::Project])
    .if_set()
    .doc("The project involved.");
/// The tag.
pub const TAG: Field<One> = Field::inline("tag", &[Type::Tag])
    .if_set()
    .doc("The tag involved.");
/// Approval before.
pub const OLD_APPROVAL: Field<str> = Field::text_or_null("old_approval_status", 64)
    .if_set()
    .doc("The approval status before.");
/// Approval after.
pub const NEW_APPROVAL: Field<str> = Field::text_or_null("new_approval_status", 64)
    .if_set()
    .doc("The approval status after.");
/// The task this one repeats.
pub const DUPLICATE_OF: Field<One> = Field::inline("duplicate_of", &[Type::Task])
    .if_set()
    .doc("The task it was marked a duplicate of.");
/// The task this one was copied from.
pub const DUPLICATED_FROM: Field<One> = Field::inline("duplicated_from", &[Type::Task])
    .if_set()
    .doc("The task it was copied from.");
/// The task waited for.
pub const DEPENDENCY: Field<One> = Field::inline("dependency", &[Type::Task])
    .if_set()
    .doc("The task of a dependency change.");

/// The custom field.
pub const CUSTOM_FIELD: Field<One> = Field::inline("custom_field", &[Type::CustomField])
    .if_set()
    .doc("The custom field changed.");
/// Text before.
pub const OLD_TEXT: Field<str> = Field::text_or_null("old_text_value", 1024)
    .if_set()
    .behind("custom_field")
    .doc("The text before.");
/// Text after.
pub const NEW_TEXT: Field<str> = Field::text_or_null("new_text_value", 1024)
    .if_set()
    .behind("custom_field")
    .doc("The text after.");
/// Number before.
pub const OLD_NUMBER: Field<Opaque> = Field::json("old_number_value")
    .if_set()
    .behind("custom_field")
    .doc("The number before.");
/// Number after.
pub const NEW_NUMBER: Field<Opaque> = Field::json("new_number_value")
    .if_set()
    .behind("custom_field")
    .doc("The number after.");
/// Option before.
pub const OLD_ENUM: Field<One> = Field::inline("old_enum_value", &[Type::EnumOption])
    .if_set()
    .behind("custom_field")
    .doc("The option before.");
/// Option after.
pub const NEW_ENUM: Field<One> = Field::inline("new_enum_value", &[Type::EnumOption])
    .if_set()
    .behind("custom_field")
    .doc("The option after.");
/// Date before.
pub const OLD_DATE: Field<Opaque> = Field::json("old_date_value")
    .if_set()
    .behind("custom_field")
    .doc("The date before: start_on, due_at, due_on.");
/// Date after.
pub const NEW_DATE: Field<Opaque> = Field::json("new_date_value")
    .if_set()
    .behind("custom_field")
    .doc("The date after: start_on, due_at, due_on.");
/// Users before.
pub const OLD_PEOPLE: Field<Opaque> = Field::gids("old_people_value", &[Type::User])
    .if_set()
    .behind("custom_field")
    .doc("The users before.");
/// Users after.
pub const NEW_PEOPLE: Field<Opaque> = Field::gids("new_people_value", &[Type::User])
    .if_set()
    .behind("custom_field")
    .doc("The users after.");
/// Options before.
pub const OLD_MULTI_ENUM: Field<Opaque> = Field::gids("old_multi_enum_values", &[Type::EnumOption])
    .if_set()
    .behind("custom_field")
    .doc("The options before.");
/// Options after.
pub const NEW_MULTI_ENUM: Field<Opaque> = Field::gids("new_multi_enum_values", &[Type::EnumOption])
    .if_set()
    .behind("custom_field")
    .doc("The options after.");

/// Objects after. The contract has no field for them; the sentence names those that its reader sees.
pub const NEW_REFERENCE: Field<Opaque> = Field::gids("new_reference_value", &[]);

/// The declaration.
pub static STORY: Resource = Resource {
    path: "stories",
    read_scope: "stories:read",
    flavor: Flavor::Comment,
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

/// Whether a story is a comment.
#[must_use]
pub fn is_comment(node: &Node) -> bool {
    node.get(SUBTYPE).as_deref() == Some(COMMENT)
}

fn kind(node: &Node, _scene: &Scene<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(if is_comment(node) {
        b"\"comment\""
    } else {
        b"\"system\""
    });
}

fn is_editable(node: &Node, scene: &Scene<'_>, out: &mut Vec<u8>) {
    let own = is_comment(node) && node.get(CREATED_BY) == Some(scene.view.viewer.user);
    out.extend_from_slice(if own { b"true" } else { b"false" });
}
