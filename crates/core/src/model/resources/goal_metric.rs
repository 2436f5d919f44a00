//! Metrics of goals: a number between a first and a last value, set by hand or computed from the progress of the goal's
//! supporters.
use crate::model::decimal::Decimal;
use crate::model::node::{Node, write_json_string};
use crate::model::number_format::NumberFormat;
use crate::model::registry::{FieldDef, FieldSource, TypedField, ValueType};
use serde::{Deserialize, Serialize};

/// Key under which a goal keeps its metric.
pub const KEY: &str = "metric";
/// Values of `unit`.
pub const UNITS: &[&str] = &["none", "currency", "percentage"];
/// Maximum number of decimals of a metric.
pub const PRECISION_MAX: i64 = 6;

/// Source from which the value of a metric comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgressSource {
    /// A user sets the value.
    #[default]
    Manual,
    /// The progress of the goals that support the goal.
    SubgoalProgress,
    /// The completed tasks of the projects that support the goal.
    ProjectTaskCompletion,
    /// The completed milestones of the projects that support the goal.
    ProjectMilestoneCompletion,
    /// The completion of the tasks that support the goal.
    TaskCompletion,
    /// Set by an app.
    External,
}

impl ProgressSource {
    /// Names of the sources in the contract, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &[
        "manual",
        "subgoal_progress",
        "project_task_completion",
        "project_milestone_completion",
        "task_completion",
        "external",
    ];
    const ALL: [Self; 6] = [
        Self::Manual,
        Self::SubgoalProgress,
        Self::ProjectTaskCompletion,
        Self::ProjectMilestoneCompletion,
        Self::TaskCompletion,
        Self::External,
    ];

    /// Returns the source of this name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|name| *name == word)?;
        Self::ALL.get(at).copied()
    }

    /// Returns true if the value is computed from the goal's supporters.
    #[must_use]
    pub const fn is_computed(self) -> bool {
        !matches!(self, Self::Manual | Self::External)
    }
}

/// Metric of a goal, as stored in its body.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GoalMetric {
    /// Gid of the metric, which is not a node.
    pub gid: String,
    /// Number of decimals; for a percentage, the number of decimals of the percentage.
    pub precision: i64,
    /// Unit of the values, one of [`UNITS`].
    pub unit: String,
    /// Code of the currency.
    pub currency_code: Option<String>,
    /// Value at which the goal starts.
    pub initial_number_value: Decimal,
    /// Value at which the goal is reached.
    pub target_number_value: Decimal,
    /// Value that was set last.
    pub current_number_value: Decimal,
    /// Source of the current value.
    pub progress_source: ProgressSource,
    /// True if each supporter has its own weight.
    pub is_custom_weight: bool,
}

impl GoalMetric {
    /// Returns the metric of a goal, if it has one. Metrics of earlier versions were not rounded when they were written.
    #[must_use]
    pub fn of(goal: &Node) -> Option<Self> {
        let metric: Self = serde_json::from_str(goal.raw(KEY)?).ok()?;
        Some(metric.rounded())
    }

    /// Returns the metric, with its values rounded to the decimals that they keep.
    #[must_use]
    pub fn rounded(self) -> Self {
        let decimals = self.format().decimals();
        Self {
            initial_number_value: self.initial_number_value.rounded(decimals),
            target_number_value: self.target_number_value.rounded(decimals),
            current_number_value: self.current_number_value.rounded(decimals),
            ..self
        }
    }

    /// Returns the form of the values.
    fn format(&self) -> NumberFormat {
        let mut format = NumberFormat {
            precision: u32::try_from(self.precision).unwrap_or_default(),
            ..NumberFormat::default()
        };
        format.set_unit(&self.unit, self.currency_code.as_deref());
        format
    }

    /// Returns the progress from the first to the last value, between 0 and 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        let done = self.current_number_value.minus(&self.initial_number_value);
        let done = done.nearest_f64() / self.distance().nearest_f64();
        if done.is_finite() {
            done.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// Returns the distance from the first to the last value.
    #[must_use]
    pub fn distance(&self) -> Decimal {
        self.target_number_value.minus(&self.initial_number_value)
    }

    /// Returns the current value as JSON: the value that was set, or the value that follows from the progress of the
    /// supporters.
    #[must_use]
    pub fn current(&self, progress: Option<f64>) -> String {
        if !self.progress_source.is_computed() {
            return self.current_number_value.to_string();
        }
        let part = Decimal::parse(&progress.unwrap_or_default().to_string()).unwrap_or_default();
        let exact = self
            .initial_number_value
            .plus(&self.distance().times(&part));
        exact.rounded(self.format().decimals()).to_string()
    }

    /// Returns the current value as text.
    #[must_use]
    pub fn display(&self, progress: Option<f64>) -> String {
        self.format().show(&self.current(progress))
    }
}

const fn constant(name: &'static str, json: &'static str, doc: &'static str) -> FieldDef {
    TypedField::other(name, ValueType::Text(64), FieldSource::Always(json))
        .doc(doc)
        .def
}

const fn number(name: &'static str, doc: &'static str) -> FieldDef {
    TypedField::other(name, ValueType::Number, FieldSource::Stored(name))
        .doc(doc)
        .def
}

const fn computed(
    name: &'static str,
    value_type: ValueType,
    write: fn(&Node, Option<f64>, &mut Vec<u8>),
    doc: &'static str,
) -> FieldDef {
    TypedField::other(name, value_type, FieldSource::WithProgress(write))
        .doc(doc)
        .def
}

/// Fields of a goal's metric.
pub const METRIC_PARTS: &[FieldDef] = &[
    TypedField::text("gid", 16)
        .doc("Globally unique identifier of the metric, a string of digits.")
        .def,
    constant("resource_type", "\"goal_metric\"", "The type of the resource."),
    constant("resource_subtype", "\"number\"", "The kind of metric."),
    TypedField::int("precision")
        .doc("Number of decimals, 0 to 6; for percentages, of the percentage.")
        .def,
    TypedField::word("unit", UNITS, "\"none\"").doc("The unit of the values.").def,
    TypedField::text_or_null("currency_code", 3)
        .doc("The ISO 4217 code of the currency, or null.")
        .def,
    number("initial_number_value", "The first value."),
    number("target_number_value", "The value at which the goal is reached."),
    computed("current_number_value", ValueType::Number, current, "The present value."),
    computed("current_display_value", ValueType::Text(64), display, "The present value as text."),
    TypedField::word("progress_source", ProgressSource::NAMES, "\"manual\"")
        .doc("The source of the present value: set by hand or by an app, or computed from what supports the goal.")
        .def,
    TypedField::flag("is_custom_weight")
        .doc("True if each supporter has a weight of its own.")
        .def,
];

fn current(goal: &Node, progress: Option<f64>, out: &mut Vec<u8>) {
    let value = GoalMetric::of(goal).map(|metric| metric.current(progress));
    out.extend_from_slice(value.as_deref().unwrap_or("null").as_bytes());
}

fn display(goal: &Node, progress: Option<f64>, out: &mut Vec<u8>) {
    match GoalMetric::of(goal) {
        Some(metric) => write_json_string(out, &metric.display(progress)),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(unit: &str, precision: i64, values: [f64; 3]) -> GoalMetric {
        let [first, last, now] = values.map(|value| Decimal::parse(&value.to_string()).unwrap());
        GoalMetric {
            gid: "7".to_owned(),
            precision,
            unit: unit.to_owned(),
            currency_code: (unit == "currency").then(|| "EUR".to_owned()),
            initial_number_value: first,
            target_number_value: last,
            current_number_value: now,
            progress_source: ProgressSource::Manual,
            is_custom_weight: false,
        }
    }

    #[test]
    fn progress_is_the_part_of_the_way_that_is_done() {
        for (values, part) in [
            ([0.0, 10.0, 5.0], 0.5),
            ([10.0, 0.0, 7.5], 0.25),
            ([0.0, 10.0, 15.0], 1.0),
            ([0.0, 10.0, -5.0], 0.0),
            ([3.0, 3.0, 3.0], 0.0),
        ] {
            assert_eq!(metric("none", 0, values).progress(), part, "{values:?}");
        }
    }

    #[test]
    fn a_computed_value_has_the_decimals_of_the_metric() {
        let computed = |unit, precision, values| GoalMetric {
            progress_source: ProgressSource::SubgoalProgress,
            ..metric(unit, precision, values)
        };
        let third = Some(1.0 / 3.0);
        let plain = computed("none", 1, [0.0, 10.0, 0.0]);
        assert_eq!(
            (plain.current(third), plain.display(third)),
            ("3.3".into(), "3.3".into())
        );
        let percent = computed("percentage", 0, [0.0, 1.0, 0.0]);
        assert_eq!(
            (percent.current(third), percent.display(third)),
            ("0.33".into(), "33%".into())
        );
        let down = computed("currency", 0, [10.0, 0.0, 0.0]);
        assert_eq!(
            (down.current(Some(1.0)), down.display(Some(1.0))),
            ("0".into(), "€0".into())
        );
    }

    #[test]
    fn values_keep_the_decimals_that_are_shown() {
        let exact = GoalMetric {
            current_number_value: Decimal::parse("123456789012345.675").unwrap(),
            ..metric("none", 2, [0.0, 10.0, 0.0])
        };
        let kept = exact.rounded();
        assert_eq!(kept.current(None), "123456789012345.68");
        assert_eq!(kept.display(None), "123456789012345.68");
        let json = serde_json::to_string(&kept).unwrap();
        assert!(
            json.contains(r#""current_number_value":123456789012345.68,"#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<GoalMetric>(&json).unwrap(), kept);
        let percent = metric("percentage", 1, [0.0, 1.0, 0.12345]).rounded();
        assert_eq!(
            (percent.current(None), percent.display(None)),
            ("0.123".into(), "12.3%".into())
        );
    }

    #[test]
    fn every_source_has_its_name() {
        for (name, source) in ProgressSource::NAMES.iter().zip(ProgressSource::ALL) {
            assert_eq!(ProgressSource::parse(name), Some(source));
            assert_eq!(
                serde_json::to_string(&source).unwrap(),
                format!("\"{name}\"")
            );
        }
        assert_eq!(ProgressSource::parse("luck"), None);
    }
}
