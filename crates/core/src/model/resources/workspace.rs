//! Workspaces and organizations: the tenants.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{NAME_MAX, Opaque, Resource, Type, TypedField};

/// Display name of the workspace.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the workspace.");
/// Domains of e-mail addresses that belong to it.
pub const EMAIL_DOMAINS: TypedField<Opaque> = {
    let mut f = TypedField::json("email_domains").doc("The e-mail domains tied to the workspace.");
    f.def.default = "[]";
    f
};
/// True if it is an organization, which has teams.
pub const IS_ORGANIZATION: TypedField<bool> =
    TypedField::flag("is_organization").doc("True if the workspace is an organization.");
/// Plan of the workspace, `free` or `paid`; not part of the public record.
pub const PLAN: TypedField<str> = TypedField::word("plan", &["free", "paid"], "\"free\"").opt_in();

/// Declaration of workspaces.
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
