//! Inputs of the operations on portfolios.
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, RecordUpdate, path,
};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::NodeRef;

pub(super) const LISTED_IN: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "The workspace whose portfolios are listed.",
)
.required();
pub(super) const OWNER: Input<Named<NodeRef>> = Input::user(
    InputPlace::Query,
    "owner",
    "The owner of the portfolios: the user of the request, unless a service account asks.",
);
const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "workspace",
    &[Type::Workspace],
    "The workspace of the portfolio; a portfolio never moves to another.",
)
.required();
const NEW: Input<CheckedInputs> =
    Input::new_record(Type::Portfolio, &[], "The fields of the new portfolio.");
const CHANGED: Input<RecordUpdate> =
    Input::updated_record(Type::Portfolio, "The fields of the portfolio to change.");

/// Inputs of a list of portfolios.
pub(super) struct ListPortfolios {
    pub(super) workspace: Named<Gid>,
    pub(super) owner: Option<Named<NodeRef>>,
}

impl OperationInput for ListPortfolios {
    const INPUTS: &'static [&'static InputDef] = &[&LISTED_IN.def, &OWNER.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&LISTED_IN)?,
            owner: inputs.optional(&OWNER)?,
        })
    }
}

/// Inputs of a new portfolio.
pub(super) struct CreatePortfolio {
    pub(super) workspace: Named<Gid>,
    pub(super) fields: Deferred<CheckedInputs>,
}

impl OperationInput for CreatePortfolio {
    const INPUTS: &'static [&'static InputDef] = &[&WORKSPACE.def, &NEW.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&WORKSPACE)?,
            fields: inputs.deferred(&NEW),
        })
    }
}

/// A portfolio, and the fields to change.
pub(super) struct UpdatePortfolio {
    pub(super) portfolio: Named<Gid>,
    pub(super) fields: RecordUpdate,
}

impl OperationInput for UpdatePortfolio {
    const INPUTS: &'static [&'static InputDef] = &[&path::PORTFOLIO.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            portfolio: inputs.required(&path::PORTFOLIO)?,
            fields: inputs.required(&CHANGED)?,
        })
    }
}
