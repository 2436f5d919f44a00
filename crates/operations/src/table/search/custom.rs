//! Parameters `custom_fields.{gid}.{test}`: conditions on custom fields.
//!
//! A parameter does not tell the type of the field. The keys of a field are all of one kind, so a value is parsed as every
//! possible kind, and compared only with keys of that kind.
use crate::operation::inputs::{Input, InputDef, InputPlace, InputReader, InputType, parse_gid};
use std::ops::Bound;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::decimal::Decimal;
use workgraph_core::model::time::Moment;
use workgraph_core::model::validate;
use workgraph_core::model::validate::clip;
use workgraph_core::search::ValuePredicate;
use workgraph_core::storage::custom_field_index::IndexKey;

const TESTS: &str =
    "is_set, value, starts_with, ends_with, contains, less_than, greater_than, before, after";
const DAY: f64 = 86_400_000.0;

/// Conditions on custom fields.
pub(super) const CUSTOM_FIELDS: Input<Vec<CustomFieldFilter>> = Input::parsed(
    InputPlace::Query,
    "custom_fields.{custom_field_gid}.{test}",
    InputType::Structure,
    read_filters,
    "Matches with a value of this custom field that meets a test: is_set, value, starts_with, ends_with, contains, \
     less_than, greater_than, before or after.",
);
/// Conditions on the status of custom types.
pub(super) const CUSTOM_TYPES: Input<Vec<CustomStatusFilter>> = Input::parsed(
    InputPlace::Query,
    "custom_types.{custom_type_gid}.custom_type_status_option.gid",
    InputType::Structure,
    read_statuses,
    "Tasks with this status of this custom type; one such filter in a request.",
);

/// Condition on the status of a custom type.
pub(super) struct CustomStatusFilter {
    /// The name of the parameter.
    pub(super) parameter: String,
    pub(super) custom_type: Gid,
    pub(super) status: Gid,
}

/// Condition on the value of a custom field.
pub(super) struct CustomFieldFilter {
    /// The name of the parameter.
    pub(super) parameter: String,
    pub(super) field: Gid,
    pub(super) predicate: ValuePredicate,
}

fn read_filters(
    _: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Vec<CustomFieldFilter>>, DomainError> {
    let mut filters = Vec::new();
    for (name, text) in inputs.query_pairs() {
        let Some(rest) = name.strip_prefix("custom_fields.") else {
            continue;
        };
        let (gid, how) = rest.split_once('.').unwrap_or((rest, ""));
        let field = parse_gid(name, gid)?;
        inputs.require_once(name)?;
        filters.push(CustomFieldFilter {
            parameter: name.to_owned(),
            field,
            predicate: test(name, how, text)?,
        });
    }
    Ok(Some(filters))
}

fn read_statuses(
    _: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Vec<CustomStatusFilter>>, DomainError> {
    let mut filters: Vec<CustomStatusFilter> = Vec::new();
    for (name, text) in inputs.query_pairs() {
        let Some(rest) = name.strip_prefix("custom_types.") else {
            continue;
        };
        let (gid, how) = rest.split_once('.').unwrap_or((rest, ""));
        let custom_type = parse_gid(name, gid)?;
        if how != "custom_type_status_option.gid" {
            return Err(DomainError::invalid(format!(
                "{}: Not a recognized filter; after the custom type comes custom_type_status_option.gid",
                clip(name)
            )));
        }
        if !filters.is_empty() {
            return Err(DomainError::field(name, "A search has one such filter"));
        }
        filters.push(CustomStatusFilter {
            parameter: name.to_owned(),
            custom_type,
            status: parse_gid(name, text)?,
        });
    }
    Ok(Some(filters))
}

fn test(name: &str, how: &str, text: &str) -> Result<ValuePredicate, DomainError> {
    let number = |number: f64| IndexKey::number(number).ok_or_else(|| not_a_number(name, text));
    Ok(match how {
        "is_set" => ValuePredicate::Set(
            validate::boolean(text)
                .ok_or_else(|| DomainError::field(name, "must be true or false"))?,
        ),
        "value" => value(text),
        "starts_with" => ValuePredicate::Within(vec![IndexKey::prefix_range(text)]),
        "ends_with" => ValuePredicate::EndsWith(text.to_lowercase()),
        "contains" => ValuePredicate::Contains(text.to_lowercase()),
        "less_than" => {
            let most = Bound::Excluded(parsed(name, text)?);
            ValuePredicate::Number((Bound::Unbounded, most), Vec::new())
        }
        "greater_than" => {
            let least = Bound::Excluded(parsed(name, text)?);
            ValuePredicate::Number((least, Bound::Unbounded), Vec::new())
        }
        "before" => ValuePredicate::Between(IndexKey::FIRST, number(time(name, text)?.0)?),
        "after" => ValuePredicate::Between(
            number(time(name, text)?.1)?,
            IndexKey::Number(f64::INFINITY),
        ),
        _ => {
            return Err(DomainError::invalid(format!(
                "{}: Not a recognized filter; after the field comes one of {TESTS}",
                clip(name)
            )));
        }
    })
}

/// Returns the predicate for a value given as text: a number, or a value with one of the keys that the text may mean.
fn value(text: &str) -> ValuePredicate {
    let exactly = |key: IndexKey| (key.clone(), key);
    let mut keys = vec![exactly(IndexKey::text(text))];
    keys.extend(Gid::parse(text).map(IndexKey::gid).map(exactly));
    if let Ok((first, last)) = time("", text) {
        keys.extend(IndexKey::number(first).zip(IndexKey::number(last)));
    }
    match Decimal::parse(text) {
        Some(number) => {
            let bounds = (Bound::Included(number.clone()), Bound::Included(number));
            ValuePredicate::Number(bounds, keys)
        }
        None => ValuePredicate::Within(keys),
    }
}

fn parsed(name: &str, text: &str) -> Result<Decimal, DomainError> {
    Decimal::parse(text).ok_or_else(|| not_a_number(name, text))
}

fn not_a_number(name: &str, text: &str) -> DomainError {
    DomainError::field(name, format_args!("Not a number: {}", clip(text)))
}

/// Returns the first and the last millisecond of a day, or an instant twice.
fn time(name: &str, text: &str) -> Result<(f64, f64), DomainError> {
    Ok(
        match Moment::parse(text).map_err(|e| DomainError::field(name, e))? {
            Moment::Day(day) => {
                let start = day.start().millis() as f64;
                (start, start + DAY - 1.0)
            }
            Moment::Instant(at) => (at.millis() as f64, at.millis() as f64),
        },
    )
}
