//! Names in a request that its operation does not know. They are ignored, as the contract says, but nearly always a mistake of the
//! client, so a tester may want to know.
use crate::error::ApiError;
use crate::features::task_counts::NAMES as COUNTS;
use crate::input::{OperationInput, parse_inputs};
use crate::request::Method;
use crate::request_watch::{RequestWatch, UnknownInput};
use serde_json::{Map, Value};
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::resources::resource;
use workgraph_core::plan::{FieldPaths, unknown_names};
use workgraph_operations::ApiSettings;
use workgraph_operations::operation::inputs::{InputDef, InputPlace, InputType, PathParameters};
use workgraph_operations::operation::{Operation, ResponseKind};
use workgraph_wire::{QueryParams, form_body};

/// Parameters that every operation takes, and names in `opt_fields` that clients of lists send although they are not fields.
const OF_ALL: [&str; 2] = ["limit", "offset"];
const OF_PAGES: [&str; 3] = ["offset", "path", "uri"];
/// Parameter in which the official library for Python repeats the body.
const BODY_AGAIN: &str = "body";
/// Beginning of the names of output options.
const OUTPUT_OPTION: &str = "opt_";
const OUTPUT_OPTIONS: [&str; 4] = ["opt_fields", "opt_expand", "opt_pretty", "opt_jsonp"];

/// Reports the names that an operation does not know to a watch.
///
/// # Errors
/// Refuses the request if the watch does. Inputs that can't be read are not reported.
pub(crate) fn show_unknown(
    watch: &dyn RequestWatch,
    sent: OperationInput<'_>,
    (operation, parameters): (&Operation, &PathParameters),
    settings: &ApiSettings,
) -> Result<(), ApiError> {
    let Ok((query, data, options)) = parse_inputs(sent, operation, parameters, settings) else {
        return Ok(());
    };
    let mut unknown = unknown_in_query(operation, parameters, &query);
    unknown.extend(unknown_in_data(operation, parameters, &data));
    if let Some(fields) = &options.fields {
        unknown.extend(unknown_in_fields(operation, &fields.join(",")));
    }
    if unknown.is_empty() {
        return Ok(());
    }
    match watch.refuse_unknown(&unknown) {
        Some(message) => Err(DomainError::invalid(message).into()),
        None => Ok(()),
    }
}

/// Returns the unknown names in `opt_fields`, where the reply has records, or counts by name.
fn unknown_in_fields(operation: &Operation, fields: &str) -> Vec<UnknownInput> {
    let unknown = |name: String, known: Vec<&'static str>| UnknownInput {
        part: "opt_fields",
        name,
        known,
    };
    if operation.response == ResponseKind::Counts {
        let names = fields.split(',').map(str::trim);
        return names
            .filter(|name| !name.is_empty() && !COUNTS.contains(name))
            .map(|name| unknown(name.to_owned(), COUNTS.to_vec()))
            .collect();
    }
    let (Some(ty), Ok(paths)) = (operation.record(), FieldPaths::parse(fields)) else {
        return Vec::new();
    };
    let found = unknown_names(ty, &paths).into_iter();
    found
        .filter(|found| !OF_PAGES.contains(&&*found.path))
        .map(|found| unknown(found.path, found.known))
        .collect()
}

/// Returns the unknown names in the query of a read or a deletion. Those of a write become fields of its body.
fn unknown_in_query(
    operation: &Operation,
    parameters: &PathParameters,
    query: &QueryParams,
) -> Vec<UnknownInput> {
    let is_write = matches!(operation.method, Method::Post | Method::Put);
    let declared: Vec<&'static InputDef> = operation
        .declared_inputs()
        .filter(|input| input.place == InputPlace::Query)
        .collect();
    let is_known = |name: &str| {
        let name = form_body::field_of(name);
        OF_ALL.contains(&name)
            || name == "access_token"
            || OUTPUT_OPTIONS.contains(&name)
            || parameters.iter().any(|(given, _)| *given == name)
            || declared.iter().any(|input| is_named(input.name, name))
    };
    let unknown = query.iter().map(|(name, _)| name);
    let unknown = unknown.filter(|name| !is_write || name.starts_with(OUTPUT_OPTION));
    let unknown = unknown.filter(|name| !is_known(name));
    let known = || {
        declared
            .iter()
            .map(|input| input.name)
            .chain(OUTPUT_OPTIONS)
            .chain(OF_ALL)
    };
    unknown
        .map(|name| UnknownInput {
            part: "query",
            name: name.to_owned(),
            known: known().collect(),
        })
        .collect()
}

/// Returns the unknown names among the fields of the body.
fn unknown_in_data(
    operation: &Operation,
    parameters: &PathParameters,
    data: &Map<String, Value>,
) -> Vec<UnknownInput> {
    let known = known_fields(operation);
    let unknown = data.keys().filter(|name| {
        !known.iter().any(|known| is_named(known, name))
            && !parameters.iter().any(|(given, _)| *given == name.as_str())
            && *name != BODY_AGAIN
    });
    unknown
        .map(|name| UnknownInput {
            part: "data",
            name: name.clone(),
            known: known.clone(),
        })
        .collect()
}

/// Returns the names of the fields that a body of an operation may have, including those that are ignored when a client
/// sends a record back.
fn known_fields(operation: &Operation) -> Vec<&'static str> {
    let mut known: Vec<&'static str> = OF_ALL.to_vec();
    for input in operation.inputs {
        match input.ty {
            InputType::Record(record) => {
                known.extend(resource(record.ty).fields.iter().map(|field| field.name));
            }
            _ => known.push(input.name),
        }
    }
    if let Some(ty) = operation.record() {
        known.extend(resource(ty).fields.iter().map(|field| field.name));
    }
    known.sort_unstable();
    known.dedup();
    known
}

/// Returns true if a name is the name of an input, or belongs to a family such as `custom_fields.{custom_field_gid}.{test}`.
fn is_named(declared: &str, name: &str) -> bool {
    if !declared.contains('{') {
        return declared == name;
    }
    let (mut declared, mut parts) = (declared.split('.'), name.split('.'));
    loop {
        match (declared.next(), parts.next()) {
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted.starts_with('{') || wanted == found => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_all_names_of_its_form() {
        let family = "custom_fields.{custom_field_gid}.{test}";
        assert!(is_named(family, "custom_fields.12.value"));
        assert!(!is_named(family, "custom_fields.12"));
        assert!(!is_named(family, "custom_field.12.value"));
        assert!(is_named("limit", "limit") && !is_named("limit", "limits"));
    }
}
