//! Metrics by which goals measure their progress.
use crate::operation::Decision;
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, path,
};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::decimal::Decimal;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::resources::goal;
use workgraph_core::model::resources::goal_metric::{
    GoalMetric, PRECISION_MAX, ProgressSource, UNITS,
};
use workgraph_core::storage::{ReadQuery, ReadView};

/// Bounds of the values: numbers of this size keep their digits.
const BOUNDS: (i64, i64) = (-1_000_000_000_000_000, 1_000_000_000_000_000);

const PRECISION: Input<i64> = Input::whole(
    "precision",
    (0, PRECISION_MAX),
    "The number of decimals; for percentages, of the percentage. Without it there are none.",
);
const UNIT: Input<&'static str> = Input::word(
    InputPlace::Body,
    "unit",
    UNITS,
    "The unit of the values; none without it. A percentage is written as a part of 1.",
);
const CURRENCY: Input<String> = Input::text(
    "currency_code",
    64,
    "The ISO 4217 code of the currency, for values with this unit.",
);
const INITIAL: Input<Decimal> = Input::decimal(
    "initial_number_value",
    BOUNDS,
    "The first value; 0 without it.",
);
const TARGET: Input<Decimal> = Input::decimal(
    "target_number_value",
    BOUNDS,
    "The value at which the goal is reached, another one than the first; 100 without it, or 1 for a percentage.",
);
const CURRENT: Input<Decimal> = Input::decimal(
    "current_number_value",
    BOUNDS,
    "The present value; the first one without it.",
);
const SOURCE: Input<&'static str> = Input::word(
    InputPlace::Body,
    "progress_source",
    ProgressSource::NAMES,
    "The source of the present value: set by hand or by an app, or computed from what supports the goal. By hand without it.",
);
const CUSTOM_WEIGHT: Input<bool> = Input::flag(
    InputPlace::Body,
    "is_custom_weight",
    "True if the supporters count by the weights of their relationships, not equally.",
);
const NEW_VALUE: Input<Decimal> =
    Input::decimal("current_number_value", BOUNDS, "The present value.").required();

/// A metric in a body.
struct MetricFields {
    precision: Option<i64>,
    unit: Option<&'static str>,
    currency: Option<String>,
    initial: Option<Decimal>,
    target: Option<Decimal>,
    current: Option<Decimal>,
    source: Option<&'static str>,
    custom_weight: Option<bool>,
}

impl MetricFields {
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            precision: inputs.optional(&PRECISION)?,
            unit: inputs.optional(&UNIT)?,
            currency: inputs.optional(&CURRENCY)?,
            initial: inputs.optional(&INITIAL)?,
            target: inputs.optional(&TARGET)?,
            current: inputs.optional(&CURRENT)?,
            source: inputs.optional(&SOURCE)?,
            custom_weight: inputs.optional(&CUSTOM_WEIGHT)?,
        })
    }
}

/// A goal, and its new metric.
pub(super) struct SetMetric {
    goal: Named<Gid>,
    fields: Deferred<MetricFields>,
}

impl OperationInput for SetMetric {
    const INPUTS: &'static [&'static InputDef] = &[
        &path::GOAL.def,
        &PRECISION.def,
        &UNIT.def,
        &CURRENCY.def,
        &INITIAL.def,
        &TARGET.def,
        &CURRENT.def,
        &SOURCE.def,
        &CUSTOM_WEIGHT.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            goal: inputs.required(&path::GOAL)?,
            fields: Deferred::new(MetricFields::read(inputs)),
        })
    }
}

/// A goal, and the current value of its metric.
pub(super) struct SetCurrentValue {
    goal: Named<Gid>,
    value: Deferred<Decimal>,
}

impl OperationInput for SetCurrentValue {
    const INPUTS: &'static [&'static InputDef] = &[&path::GOAL.def, &NEW_VALUE.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            goal: inputs.required(&path::GOAL)?,
            value: inputs.deferred(&NEW_VALUE),
        })
    }
}

/// Inputs that name a goal.
pub(super) trait OfGoal {
    fn goal(&self) -> &Named<Gid>;
}

impl OfGoal for SetMetric {
    fn goal(&self) -> &Named<Gid> {
        &self.goal
    }
}
impl OfGoal for SetCurrentValue {
    fn goal(&self) -> &Named<Gid> {
        &self.goal
    }
}

pub(super) fn goal_needs<T: OfGoal>(
    call: &RequestContext<'_>,
    input: &T,
) -> Result<ReadQuery, DomainError> {
    Ok(call.read_query().node(input.goal().node))
}

/// Replaces the metric of a goal. The gid stays the same.
pub(super) fn set_metric(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &SetMetric,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.goal, Level::Editor)?;
    let fields = input.fields.get()?;
    let work = call.change_builder();
    let unit = fields.unit.unwrap_or("none");
    let initial = fields.initial.clone().unwrap_or_default();
    let usual_target = if unit == "percentage" { 1 } else { 100 };
    let metric = GoalMetric {
        gid: match GoalMetric::of(node) {
            Some(before) => before.gid,
            None => work.next_gid().to_string(),
        },
        precision: fields.precision.unwrap_or(0),
        unit: unit.to_owned(),
        currency_code: currency(unit, fields.currency.as_deref())?,
        target_number_value: (fields.target.clone()).unwrap_or_else(|| Decimal::from(usual_target)),
        current_number_value: fields.current.clone().unwrap_or_else(|| initial.clone()),
        initial_number_value: initial,
        progress_source: fields
            .source
            .and_then(ProgressSource::parse)
            .unwrap_or_default(),
        is_custom_weight: fields.custom_weight.unwrap_or(false),
    }
    .rounded();
    if metric.distance() == Decimal::default() {
        return Err(DomainError::field(
            TARGET.def.name,
            "The same as initial_number_value; there is no way from one to the other",
        ));
    }
    write(call, node, &metric)
}

/// Returns the currency of a metric; metrics with other units have none.
fn currency(unit: &str, code: Option<&str>) -> Result<Option<String>, DomainError> {
    let is_code = |code: &&str| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase());
    match code.filter(|code| !code.is_empty()) {
        None => Ok(None),
        Some(_) if unit != "currency" => Err(DomainError::field(
            CURRENCY.def.name,
            "Only a metric with the unit currency has one",
        )),
        Some(code) if is_code(&code) => Ok(Some(code.to_owned())),
        Some(_) => Err(DomainError::field(
            CURRENCY.def.name,
            "Not a code of a currency: it has three capital letters",
        )),
    }
}

pub(super) fn set_current_value(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &SetCurrentValue,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.goal, Level::Editor)?;
    let value = input.value.get()?;
    let refused = |reason: &str| DomainError::field(NEW_VALUE.def.name, reason);
    let Some(metric) = GoalMetric::of(node) else {
        return Err(refused("The goal has no metric; set one first"));
    };
    if metric.progress_source.is_computed() {
        return Err(refused(
            "The value is computed from what supports the goal; set a metric with another progress_source",
        ));
    }
    let current_number_value = value.clone();
    let metric = GoalMetric {
        current_number_value,
        ..metric
    }
    .rounded();
    write(call, node, &metric)
}

fn write(
    call: &RequestContext<'_>,
    node: &Node,
    metric: &GoalMetric,
) -> Result<Decision, DomainError> {
    if GoalMetric::of(node).as_ref() == Some(metric) {
        return Ok(Decision::about(call.change_builder().changes, node.gid));
    }
    let mut draft = Draft::edit(node);
    let json = serde_json::to_string(metric);
    let json = json.map_err(|error| DomainError::invalid(error.to_string()))?;
    draft.set(goal::METRIC, json);
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

#[cfg(test)]
mod tests;
