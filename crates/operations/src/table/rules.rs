//! Rules: their triggers, which web requests run.
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, path,
};
use crate::operation::rows::action;
use crate::operation::steps::Steps;
use crate::operation::{Decision, Operation};
use crate::request_context::RequestContext;
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::rule_trigger::PROJECT;
use workgraph_core::model::validate::{object, shown};
use workgraph_core::rules::rule_trigger_rules::run_trigger;
use workgraph_core::storage::{ReadQuery, ReadView};

/// Operations on rules: a part of [`TABLES`](super::TABLES).
pub static RULES: &[Operation] = &[action(
    "triggerRule",
    "/rule_triggers/{rule_trigger_gid}/run",
    &Steps::new(needs, run),
)
.responds_with(Type::RuleTrigger)
.paid_only("Rules are not available for free users.")];

/// Maximum size in bytes of the data of a run, as JSON.
const DATA_MAX: usize = 10_000;

const RESOURCE: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "resource",
    &[Type::Task],
    "The task on which the trigger runs. It is in the project of the trigger, and the caller may change both.",
)
.required();
const ACTION_DATA: Input<String> = Input::parsed(
    InputPlace::Body,
    "action_data",
    InputType::Structure,
    |input, inputs| inputs.body_value(input).map(|data| checked(input, data)).transpose(),
    "What the request tells the rule: an object of at most 10,000 bytes as JSON. A story of the task keeps it.",
)
.required();

/// Returns the data of a run as JSON.
fn checked(input: &InputDef, data: &Value) -> Result<String, DomainError> {
    let Some(map) = object(data) else {
        let reason = format_args!("Not an object: {}; it has names and values", shown(data));
        return Err(DomainError::field(input.name, reason));
    };
    let json = Value::Object(map.clone()).to_string();
    if json.len() > DATA_MAX {
        let length = json.len();
        let reason = format_args!("Too long: {length} bytes as JSON; at most {DATA_MAX}");
        return Err(DomainError::field(input.name, reason));
    }
    Ok(json)
}

/// Inputs of a run.
struct RunTrigger {
    trigger: Named<Gid>,
    resource: Named<Gid>,
    data: Deferred<String>,
}

impl OperationInput for RunTrigger {
    const INPUTS: &'static [&'static InputDef] =
        &[&path::RULE_TRIGGER.def, &RESOURCE.def, &ACTION_DATA.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            trigger: inputs.required(&path::RULE_TRIGGER)?,
            resource: inputs.required(&RESOURCE)?,
            data: inputs.deferred(&ACTION_DATA),
        })
    }
}

fn needs(call: &RequestContext<'_>, input: &RunTrigger) -> Result<ReadQuery, DomainError> {
    let query = call.read_query().node(input.trigger.node);
    Ok(query.edges(input.resource.node, rel::SECTION))
}

fn run(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &RunTrigger,
) -> Result<Decision, DomainError> {
    let trigger = call.named_node(view, &input.trigger, Level::Editor)?;
    let task = call.named_node(view, &input.resource, Level::Editor)?;
    let project = trigger.get(PROJECT);
    let mut sections = view.links(task.gid, rel::SECTION).iter();
    if !sections.any(|edge| edge.aux == project) {
        let reason = format_args!("Not in the project of the rule trigger: {}", task.gid);
        return Err(DomainError::field(RESOURCE.def.name, reason));
    }
    let mut work = call.change_builder();
    run_trigger(&mut work, trigger, task, input.data.get()?);
    Ok(Decision::about(work.changes, trigger.gid))
}

#[cfg(test)]
mod tests;
