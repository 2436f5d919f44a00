//! Workspaces and organizations: the tenants.
use super::{GID, RESOURCE_TYPE};
use crate::registry::{Field, NAME_MAX, Opaque, Resource, Type};

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the workspace.");
/// Domains tied to it.
pub const EMAIL_DOMAINS: Field<Opaque> = {
    let mut f = Field::json("email_domains").doc("E-mail domains tied to the workspace.");
    f.def.default = "[]";
    f
};
/// Whether it is an organization, which has teams.
pub const IS_ORGANIZATION: Field<bool> =
    Field::flag("is_organization").doc("Whether the workspace is an organization.");
/// `free` or `paid`; not part of the public record.
pub const PLAN: Field<str> = Field::word("plan", &["free", "paid"], "\"free\"").opt_in();

/// The declaration.
pub static WORKSPACE: Resource = Resource {
    path: "workspaces",
    read_scope: "workspaces:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        EMAIL_DOMAINS.def,
        IS_ORGANIZATION.def,
    ],
    ..Resource::of(Type::Workspace, "workspace")
};
