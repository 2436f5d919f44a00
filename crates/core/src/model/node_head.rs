//! The compact stored form of a node.
use crate::model::gid::Gid;
use crate::model::registry::Type;
use crate::model::resources::resource;
use std::fmt::Write as _;

/// Returns the head of a node: its compact JSON object, with the further members that the type keeps in it.
#[must_use]
pub fn head<'v>(
    ty: Type,
    gid: Gid,
    title: Option<&str>,
    subtype: Option<&str>,
    more: impl Iterator<Item = (&'static str, &'v str)>,
) -> String {
    let r = resource(ty);
    let mut out = String::with_capacity(128 + title.map_or(0, str::len));
    // Writing to a String cannot fail.
    let _ = write!(out, "{{\"gid\":\"{gid}\"");
    if let Some(title) = title.filter(|_| r.title.is_some()) {
        out.push_str(",\"name\":");
        out.push_str(title);
    }
    out.push_str(",\"resource_type\":\"");
    out.push_str(r.name);
    out.push('"');
    if let Some(subtype) = subtype.filter(|_| r.subtype) {
        out.push_str(",\"resource_subtype\":");
        out.push_str(subtype);
    }
    for (name, value) in more {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        out.push_str(value);
    }
    out.push('}');
    out
}
