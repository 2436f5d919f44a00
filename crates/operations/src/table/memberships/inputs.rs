//! Inputs of the operations on memberships.
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, path,
};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::validate;
use workgraph_core::rules::sharing::Sharing;
use workgraph_core::storage::NodeRef;

pub(super) const MEMBER: Input<Named<NodeRef>> = Input::user_or(
    InputPlace::Query,
    "member",
    &[Type::User, Type::Team],
    "With `parent`: lists the membership of this user or team alone. Without it: lists what is shared with this team.",
);
pub(super) const PARENT: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "parent",
    Sharing::TYPES,
    "Lists the memberships in this project, portfolio, goal or custom field.",
);
/// The only type of memberships that can be listed by member.
pub(super) const PROJECT_MEMBERSHIP: &str = "project_membership";
pub(super) const SUBTYPE: Input<()> = Input::parsed(
    InputPlace::Query,
    "resource_subtype",
    InputType::Word(&[PROJECT_MEMBERSHIP]),
    |input, inputs| match inputs.query_text(input)? {
        None | Some(PROJECT_MEMBERSHIP) => Ok(None),
        Some(other) => {
            let shown = validate::clip(other);
            let reason =
                format_args!("Not a recognized value: {shown}; it is {PROJECT_MEMBERSHIP}");
            Err(DomainError::field(input.name, reason))
        }
    },
    "The type of the memberships, if they are listed by member.",
);
pub(super) const MEMBER_OF_PROJECT: Input<Named<NodeRef>> = Input::user(
    InputPlace::Query,
    "user",
    "Lists the membership of this user alone.",
);
pub(super) const SHARED: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "parent",
    Sharing::TYPES,
    "The project, portfolio, goal or custom field that is shared.",
)
.required();
pub(super) const NEW_MEMBER: Input<Named<NodeRef>> = Input::user_or(
    InputPlace::Body,
    "member",
    &[Type::User, Type::Team],
    "The user or team with whom it is shared.",
)
.required();
/// The access levels of projects, portfolios, goals and custom fields.
pub(super) const LEVELS: InputType =
    InputType::Word(&["admin", "editor", "commenter", "viewer", "user"]);
pub(super) const ACCESS_LEVEL: Input<String> = Input::parsed(
    InputPlace::Body,
    "access_level",
    LEVELS,
    read_level,
    "The access level of the member. The levels of a custom field are admin, editor and user; projects and goals have all but user, portfolios neither that nor commenter.",
);
pub(super) const ROLE: Input<String> = Input::parsed(
    InputPlace::Body,
    "role",
    LEVELS,
    read_level,
    "The old name of `access_level`.",
);
pub(super) const NEW_LEVEL: Input<String> = ACCESS_LEVEL.required();

/// Returns the word for a level. Its meaning depends on the shared object.
pub(super) fn read_level(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<String>, DomainError> {
    let value = inputs.body_value(input);
    let word = value.map(|value| validate::string(ACCESS_LEVEL.def.name, value));
    Ok(word.transpose()?.map(str::to_owned))
}

/// Inputs of a list of memberships.
pub(super) struct ListMemberships {
    pub(super) member: Option<Named<NodeRef>>,
    pub(super) parent: Option<Named<Gid>>,
    pub(super) subtype: Deferred<Option<()>>,
}

impl OperationInput for ListMemberships {
    const INPUTS: &'static [&'static InputDef] = &[&MEMBER.def, &PARENT.def, &SUBTYPE.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            member: inputs.optional(&MEMBER)?,
            parent: inputs.optional(&PARENT)?,
            subtype: inputs.deferred_optional(&SUBTYPE),
        })
    }
}

/// Inputs of a list of the memberships in a project.
pub(super) struct ListOfProject {
    pub(super) project: Named<Gid>,
    pub(super) user: Option<Named<NodeRef>>,
}

impl OperationInput for ListOfProject {
    const INPUTS: &'static [&'static InputDef] = &[&path::PROJECT.def, &MEMBER_OF_PROJECT.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            project: inputs.required(&path::PROJECT)?,
            user: inputs.optional(&MEMBER_OF_PROJECT)?,
        })
    }
}

/// Inputs of a new membership.
pub(super) struct CreateMembership {
    pub(super) parent: Named<Gid>,
    pub(super) member: Named<NodeRef>,
    pub(super) access_level: Deferred<Option<String>>,
    pub(super) role: Deferred<Option<String>>,
}

impl OperationInput for CreateMembership {
    const INPUTS: &'static [&'static InputDef] =
        &[&SHARED.def, &NEW_MEMBER.def, &ACCESS_LEVEL.def, &ROLE.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            parent: inputs.required(&SHARED)?,
            member: inputs.required(&NEW_MEMBER)?,
            access_level: inputs.deferred_optional(&ACCESS_LEVEL),
            role: inputs.deferred_optional(&ROLE),
        })
    }
}

/// A membership, and its new level.
pub(super) struct UpdateMembership {
    pub(super) membership: Named<Gid>,
    pub(super) access_level: Deferred<String>,
}

impl OperationInput for UpdateMembership {
    const INPUTS: &'static [&'static InputDef] = &[&path::MEMBERSHIP.def, &NEW_LEVEL.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            membership: inputs.required(&path::MEMBERSHIP)?,
            access_level: inputs.deferred(&NEW_LEVEL),
        })
    }
}

pub(super) struct DeleteMembership {
    pub(super) membership: Named<Gid>,
}

impl OperationInput for DeleteMembership {
    const INPUTS: &'static [&'static InputDef] = &[&path::MEMBERSHIP.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            membership: inputs.required(&path::MEMBERSHIP)?,
        })
    }
}
