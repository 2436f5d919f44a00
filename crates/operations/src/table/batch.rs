//! The batch operation, which runs several requests in one.
use crate::operation::Operation;
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, OperationInput,
};
use crate::operation::requests::BatchActions;
use crate::operation::rows::batch;
use workgraph_core::domain_error::DomainError;
use workgraph_wire::batch_actions;
use workgraph_wire::batch_actions::BatchAction;

/// Operation for several requests in one: a part of [`TABLES`](super::TABLES).
pub static BATCH: &[Operation] = &[batch("createBatchRequest", "/batch")];

const ACTIONS: Input<BatchActions> = Input::parsed(
    InputPlace::Body,
    "actions",
    InputType::Structure,
    |_, inputs| read_actions(inputs).map(Some),
    "The actions, 1 to 10: objects with `relative_path` and `method`, and if wanted `data` and `options`.",
)
.required();

fn read_actions(inputs: &InputReader<'_>) -> Result<BatchActions, DomainError> {
    let actions = batch_actions::actions(inputs.data());
    let actions = actions.map_err(|error| DomainError::invalid(error.to_string()))?;
    Ok(BatchActions(
        actions.iter().map(BatchAction::read).collect(),
    ))
}

impl OperationInput for BatchActions {
    const INPUTS: &'static [&'static InputDef] = &[&ACTIONS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        inputs.required(&ACTIONS)
    }
}
