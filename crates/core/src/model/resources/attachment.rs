//! Attachments: files at tasks, projects and project briefs, and links to files elsewhere.
use super::{GID, RESOURCE_TYPE};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::node::{Node, write_json_string};
use crate::model::page_address::pages_url;
use crate::model::registry::{
    FieldSource, LinkOne, NAME_MAX, Opaque, Resource, Type, TypedField, ValueType, rel,
};
use crate::model::time::Time;

/// Subtype of attachments with a file on this server.
pub const HOSTED: &str = "asana";
/// Subtype of links to other sites.
pub const EXTERNAL: &str = "external";
/// Every subtype of the contract. This server creates only the two above.
pub const SUBTYPES: &[&str] = &[
    HOSTED, "dropbox", "gdrive", "onedrive", "box", "vimeo", EXTERNAL,
];
/// Types of the objects that can have attachments.
pub const PARENTS: &[Type] = &[Type::Task, Type::Project, Type::ProjectBrief];
/// Longest address of a link, in characters.
pub const URL_MAX: u32 = 2048;

/// Name of the file or link.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .doc("The file name with its extension, or the text of the link.");
/// Kind of attachment, named after the service that has the file.
pub const SUBTYPE: TypedField<str> = TypedField::word("resource_subtype", SUBTYPES, "\"asana\"")
    .compact()
    .doc("The service that stores the content: asana for this server, external for a link.");
/// Time at which it was attached.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time of attaching, in UTC.");
/// Address of the content for a short time.
pub const DOWNLOAD_URL: TypedField<Opaque> = TypedField::other(
    "download_url",
    ValueType::Text(URL_MAX),
    FieldSource::Computed(download_url),
)
.doc("Address of the content, valid for two minutes; null for a link.");
/// Address that needs a session.
pub const PERMANENT_URL: TypedField<Opaque> = TypedField::other(
    "permanent_url",
    ValueType::Text(URL_MAX),
    FieldSource::Computed(permanent_url),
)
.doc("Lasting address of the file for signed-in users; null for a link.");
/// Service that has the file.
pub const HOST: TypedField<Opaque> = TypedField::other(
    "host",
    ValueType::Word(SUBTYPES),
    FieldSource::Stored("resource_subtype"),
)
.default("\"asana\"")
.doc("Service that stores the content; same as resource_subtype.");
/// Object it is on.
pub const PARENT: TypedField<LinkOne> = TypedField::edge("parent", PARENTS, rel::ATTACHED_TO)
    .doc("The task, project or project brief that has the attachment.");
/// Size of the file, in bytes.
pub const SIZE: TypedField<i64> = TypedField::int("size")
    .applies_to(is_hosted)
    .doc("The size in bytes; absent for a link.");
/// Address at which a browser shows the file.
pub const VIEW_URL: TypedField<Opaque> = TypedField::other(
    "view_url",
    ValueType::Text(URL_MAX),
    FieldSource::Computed(view_url),
)
.doc("Address at which a browser shows the content; null if it can only be downloaded.");
/// True if the requesting app made the link for its own widget.
pub const CONNECTED: TypedField<Opaque> = TypedField::other(
    "connected_to_app",
    ValueType::Flag,
    FieldSource::Computed(connected_to_app),
)
.applies_to(is_external)
.doc("True if the link belongs to the app that makes the request.");

/// Address of a link; sent as the view address.
pub const URL: TypedField<str> = TypedField::text_or_null("url", URL_MAX);
/// User who attached it. The contract has no field for it.
pub const CREATED_BY: TypedField<LinkOne> = TypedField::inline("created_by", &[Type::User]);
/// Attachment that was uploaded with the file: this attachment, or the original that it is a copy of.
pub const FILE: TypedField<LinkOne> = TypedField::inline("file", &[Type::Attachment]);
/// App that the link is connected to, in digits.
pub const APP: TypedField<str> = TypedField::text_or_null("app", 20);

/// Declaration of attachments.
pub static ATTACHMENT: Resource = Resource {
    path: "attachments",
    read_scope: "attachments:read",
    subtype: true,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        SUBTYPE.def,
        CREATED_AT.def,
        DOWNLOAD_URL.def,
        PERMANENT_URL.def,
        HOST.def,
        PARENT.def,
        SIZE.def,
        VIEW_URL.def,
        CONNECTED.def,
    ],
    ..Resource::of(Type::Attachment, "attachment")
};

/// Returns true if the server has the file.
#[must_use]
pub fn is_hosted(node: &Node) -> bool {
    node.get(SUBTYPE).as_deref() == Some(HOSTED)
}

fn is_external(node: &Node) -> bool {
    !is_hosted(node)
}

/// Returns the address at which a signed-in user finds the file of an attachment at any time; `None` for a link, and for
/// nodes of other types.
#[must_use]
pub fn permanent_address(node: &Node, base_url: &str) -> Option<String> {
    let root = pages_url(base_url);
    let hosted = node.ty == Type::Attachment && is_hosted(node);
    hosted.then(|| format!("{root}/-/attachments/{}", node.gid))
}

fn write_text_or_null(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => write_json_string(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

fn download_url(node: &Node, scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let made = node.get(CREATED_AT).filter(|_| is_hosted(node));
    let address = made.and_then(|made| scene.files?.address(node, made));
    write_text_or_null(out, address.as_deref());
}

fn permanent_url(node: &Node, scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let address = permanent_address(node, scene.base_url);
    write_text_or_null(out, address.as_deref());
}

fn view_url(node: &Node, scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    if is_hosted(node) {
        let address = scene.files.and_then(|files| files.view_address(node));
        return write_text_or_null(out, address.as_deref());
    }
    write_text_or_null(out, node.get(URL).as_deref());
}

fn connected_to_app(node: &Node, scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let of = node.get(APP).and_then(|app| app.parse().ok());
    let connected = of.is_some() && of == scene.app;
    out.extend_from_slice(if connected { b"true" } else { b"false" });
}

/// Returns true if a text is an http or https address with a host, without blanks and control characters.
#[must_use]
pub fn is_web_address(text: &str) -> bool {
    let rest = text.split_once("://").and_then(|(scheme, rest)| {
        let mut web = ["http", "https"].iter();
        web.any(|known| scheme.eq_ignore_ascii_case(known))
            .then_some(rest)
    });
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    host.is_some_and(|host| !host.is_empty() && !host.starts_with(':'))
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}
