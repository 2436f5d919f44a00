//! Roles: the standard ones, and descriptions of others that the admins of a workspace keep. Roles give no rights.
use super::list_filters::flag_filter;
use super::record_family::{RecordChange, RecordFamily, Rows, workspace_parent};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::Operation;
use crate::operation::inputs::{Input, Named, RecordUpdate, path};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::role;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::RowFilter;

/// Operations on roles: a part of [`TABLES`](super::TABLES).
pub static ROLES: &[Operation] = &[
    Lists::<Roles>::list("getRoles", "/roles")
        .filtered_by(&[&ARCHIVED])
        .scope("roles:read"),
    Rows::<Roles>::create("createRole", "/roles").scope("roles:write"),
    Rows::<Roles>::get("getRole", RECORD).scope("roles:read"),
    Rows::<Roles>::update("updateRole", RECORD).scope("roles:write"),
    Rows::<Roles>::delete("deleteRole", RECORD).scope("roles:delete"),
];

const RECORD: &str = "/roles/{role_gid}";

/// Roles, as a family of records and as a list.
struct Roles;

impl RecordFamily for Roles {
    const TYPE: Type = Type::Role;
    const PATH: &'static Input<Named<Gid>> = &path::ROLE;
    const PARENT: &'static Input<Named<Gid>> =
        &workspace_parent("The workspace of the role; its admins keep the roles.");
    const PARENT_LEVEL: Level = Level::Admin;
    const NEW: &'static Input<CheckedInputs> = &Input::new_record(
        Self::TYPE,
        &["name", "description", "base_role_type"],
        "The fields of the new role.",
    );
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the role to change.");

    fn complete(change: &mut RecordChange<'_>, _fields: &CheckedInputs) -> Result<(), DomainError> {
        let (draft, now) = (&mut change.draft, change.call.now);
        if draft
            .get(role::NAME)
            .is_none_or(|name| name.trim().is_empty())
        {
            return Err(DomainError::field(role::NAME.def.name, "Cannot be empty"));
        }
        if draft.is_new() {
            draft.set(role::CREATED_AT, now);
        }
        if draft.changed_keys().next().is_some() {
            draft.set(role::MODIFIED_AT, now);
        }
        Ok(())
    }
}

impl RecordList for Roles {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] = &[ListAnchor::workspace(
        "Only roles of this workspace, and the standard ones. Without it, those of all workspaces that the caller administers.",
    )];
}

const ARCHIVED: Input<RowFilter> = flag_filter(
    "archived",
    "Only roles that are archived, or only those that are not. No role is archived: one that is deleted is gone.",
);

#[cfg(test)]
mod tests;
