//! Roles: the standard ones, and descriptions of others that the admins of a workspace keep. A role gives no rights.
use super::record_family::{RecordChange, RecordFamily, Rows};
use super::record_list::{ListAnchor, Lists, RecordList};
use crate::operation::Operation;
use crate::operation::inputs::{Input, InputDef, InputPlace, InputType, Named, RecordUpdate, path};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::role;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::{NodeRef, RowFilter};

/// Operations on roles.
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

/// The family of roles, which is their list, too.
struct Roles;

impl RecordFamily for Roles {
    const TYPE: Type = Type::Role;
    const PATH: &'static Input<Named<Gid>> = &path::ROLE;
    const PARENT: &'static Input<Named<Gid>> = &Input::gid(
        InputPlace::Body,
        "workspace",
        &[Type::Workspace],
        "The workspace of the role; its admins keep the roles.",
    )
    .required();
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
        if draft.is_new() {
            draft.set(role::CREATED_AT, now);
        }
        if draft.changed_keys().next().is_some() {
            draft.set(role::MODIFIED_AT, now);
        }
        Ok(())
    }
}

const WORKSPACE: Input<Named<NodeRef>> = Input::node(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "Only roles of this workspace, and the standard ones. Without it, those of all workspaces that the caller administers.",
);

impl RecordList for Roles {
    const LISTED: Type = Self::TYPE;
    const ANCHORS: &'static [ListAnchor] = &[ListAnchor {
        input: &WORKSPACE,
        field: None,
        through: None,
    }];
    const INPUTS: &'static [&'static InputDef] = &[&WORKSPACE.def];
}

const ARCHIVED: Input<RowFilter> = Input::filter(
    "archived",
    InputType::Flag,
    |input, inputs| {
        let wanted = inputs.query_flag(input)?;
        Ok(wanted.map(|on| RowFilter::Flag("archived", on)))
    },
    "Only roles that are archived, or only those that are not. No role is archived: one that is deleted is gone.",
);
