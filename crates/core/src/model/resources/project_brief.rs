//! Project briefs: pages that say what a project is about, at most one for each project.
use super::{GID, PERMALINK, RESOURCE_TYPE};
use crate::model::registry::{
    LinkOne, MentionRule, NAME_MAX, Resource, TEXT_MAX, Type, TypedField,
};
use workgraph_richtext::RichTextProfile;

/// Headline.
pub const TITLE: TypedField<str> = TypedField::text("title", NAME_MAX)
    .writable()
    .doc("The headline.");
/// Body as rich text.
pub const HTML_TEXT: TypedField<str> = TypedField::html("html_text")
    .writable()
    .doc("The text as HTML.");
/// Body as plain text.
pub const TEXT: TypedField<str> = TypedField::text("text", TEXT_MAX)
    .opt_in()
    .writable()
    .mentions(MentionRule::Links("html_text"))
    .doc("The text without its tags.");
/// The project that it is about.
pub const PROJECT: TypedField<LinkOne> =
    TypedField::inline("project", &[Type::Project]).doc("The project it is about.");

/// Declaration of project briefs.
pub static PROJECT_BRIEF: Resource = Resource {
    path: "project_briefs",
    noun: "project brief",
    read_scope: "default",
    flavor: RichTextProfile::Brief,
    title: None,
    container: Some("project"),
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        TITLE.def,
        HTML_TEXT.def,
        TEXT.def,
        PERMALINK.def,
        PROJECT.def,
    ],
    ..Resource::of(Type::ProjectBrief, "project_brief")
};
