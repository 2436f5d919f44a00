//! Inputs of the operations on teams.
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, Named, OperationInput, RecordUpdate, path,
};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::NodeRef;

pub(super) const ORGANIZATION: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "organization",
    &[Type::Workspace],
    "The organization of the team.",
)
.required();
pub(super) const NEW: Input<CheckedInputs> =
    Input::new_record(Type::Team, &["name"], "The fields of the new team.");
pub(super) const CHANGED: Input<RecordUpdate> =
    Input::updated_record(Type::Team, "The fields of the team to change.");
/// The user who is added or removed.
pub(super) const USER: Input<Named<NodeRef>> = Input::user(
    InputPlace::Body,
    "user",
    "The user to add or remove: a gid, an e-mail address or `me`.",
)
.required();

/// Inputs of a new team.
pub(super) struct CreateTeam {
    pub(super) fields: CheckedInputs,
    pub(super) organization: Named<Gid>,
}

impl OperationInput for CreateTeam {
    const INPUTS: &'static [&'static InputDef] = &[&NEW.def, &ORGANIZATION.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            fields: inputs.required(&NEW)?,
            organization: inputs.required(&ORGANIZATION)?,
        })
    }
}

/// A team, and the fields to change.
pub(super) struct UpdateTeam {
    pub(super) fields: RecordUpdate,
    pub(super) team: Named<Gid>,
}

impl OperationInput for UpdateTeam {
    const INPUTS: &'static [&'static InputDef] = &[&path::TEAM.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let fields = inputs.required(&CHANGED)?;
        fields.written()?;
        Ok(Self {
            fields,
            team: inputs.required(&path::TEAM)?,
        })
    }
}

/// A team, and the user who is added to it or removed from it.
pub(super) struct TeamUser {
    pub(super) team: Named<Gid>,
    pub(super) user: Named<NodeRef>,
}

impl OperationInput for TeamUser {
    const INPUTS: &'static [&'static InputDef] = &[&path::TEAM.def, &USER.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            team: inputs.required(&path::TEAM)?,
            user: inputs.required(&USER)?,
        })
    }
}

pub(super) const TEAMS_IN: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "organization",
    &[Type::Workspace],
    "The workspace or organization of the teams.",
)
.required();
pub(super) const MEMBERSHIPS_IN: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "The workspace of the teams.",
)
.required();

/// User, and the workspace in which the operation looks.
pub(super) struct UserIn {
    pub(super) user: Named<NodeRef>,
    pub(super) workspace: Named<Gid>,
}

/// A user, and the organization whose teams are listed.
pub(super) struct TeamsOfUser(pub(super) UserIn);

impl OperationInput for TeamsOfUser {
    const INPUTS: &'static [&'static InputDef] = &[&path::USER.def, &TEAMS_IN.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self(UserIn {
            user: inputs.required(&path::USER)?,
            workspace: inputs.required(&TEAMS_IN)?,
        }))
    }
}

/// A user, and the workspace whose team memberships are listed.
pub(super) struct MembershipsOfUser(pub(super) UserIn);

impl OperationInput for MembershipsOfUser {
    const INPUTS: &'static [&'static InputDef] = &[&path::USER.def, &MEMBERSHIPS_IN.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self(UserIn {
            user: inputs.required(&path::USER)?,
            workspace: inputs.required(&MEMBERSHIPS_IN)?,
        }))
    }
}

pub(super) const TEAM: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "team",
    &[Type::Team],
    "Lists the memberships in this team; with `user` that of the user alone.",
);
pub(super) const MEMBER: Input<Named<NodeRef>> = Input::user(
    InputPlace::Query,
    "user",
    "Lists the memberships of this user; it needs `team` or `workspace`.",
);
pub(super) const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "With `user`: the workspace of the teams.",
);

/// Inputs of a list of team memberships.
pub(super) struct ListMemberships {
    pub(super) team: Option<Named<Gid>>,
    pub(super) user: Option<Named<NodeRef>>,
    pub(super) workspace: Option<Named<Gid>>,
}

impl OperationInput for ListMemberships {
    const INPUTS: &'static [&'static InputDef] = &[&TEAM.def, &MEMBER.def, &WORKSPACE.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            team: inputs.optional(&TEAM)?,
            user: inputs.optional(&MEMBER)?,
            workspace: inputs.optional(&WORKSPACE)?,
        })
    }
}
