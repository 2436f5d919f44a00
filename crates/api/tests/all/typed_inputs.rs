//! Declarations of inputs against what the operations read.
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use workgraph_api::operations::all;
use workgraph_api::operations::operation::inputs::{
    InputDef, InputPlace, InputReader, InputType, OperationInput, RawInputs,
};
use workgraph_api::operations::operation::requests::BatchActions;
use workgraph_api::operations::operation::{Handler, Operation};
use workgraph_core::Gid;
use workgraph_core::model::time::Time;
use workgraph_wire::QueryParams;

/// Returns a value that an input accepts, as text for path and query.
fn text(input: &InputDef) -> String {
    match input.ty {
        InputType::Node(_) | InputType::Nodes(_) => "17".to_owned(),
        InputType::Text(_) | InputType::Terms(_) | InputType::Token => "words".to_owned(),
        InputType::Word(words) | InputType::Words(words) => words[0].to_owned(),
        InputType::Flag => "true".to_owned(),
        InputType::Number(least, _) => least.to_string(),
        InputType::Day => "2026-01-31".to_owned(),
        InputType::Instant => "2026-01-31T12:00:00Z".to_owned(),
        InputType::Structure | InputType::Record(_) | InputType::File => "{}".to_owned(),
    }
}

/// Returns the inputs that a row reads from a request that has all of them.
fn requested(row: &Operation) -> Vec<(&'static str, &'static str)> {
    let place = |place| row.inputs.iter().filter(move |input| input.place == place);
    let parameters: Vec<(&'static str, String)> = place(InputPlace::Path)
        .map(|input| (input.name, text(input)))
        .collect();
    let query: Vec<String> = place(InputPlace::Query)
        .filter(|input| !input.is_family())
        .map(|input| format!("{}={}", input.name, text(input)))
        .collect();
    let mut data = Map::new();
    for input in place(InputPlace::Body) {
        let value = match input.ty {
            InputType::Record(_) | InputType::Structure | InputType::File => continue,
            // A request may have one of two positions.
            _ if input.name.contains("before") => continue,
            InputType::Flag => json!(true),
            _ => Value::String(text(input)),
        };
        data.insert(input.name.to_owned(), value);
    }
    let raw = RawInputs {
        parameters: &parameters,
        query: QueryParams::of_request(&query.join("&")).unwrap(),
        data,
        file: None,
        me: Gid::new(17).unwrap(),
        now: Time::from_millis(0),
    };
    let seen = RefCell::new(Vec::new());
    let reader = InputReader::recording(&raw, &seen);
    // A malformed structure is an error, but only after it was asked for.
    match row.handler {
        Handler::PreparedWrite(steps) => drop(steps.prepare(&reader)),
        Handler::PreparedLookup(steps) => drop(steps.prepare(&reader)),
        Handler::DescribedPage(list) => drop(list.read_inputs(&reader)),
        Handler::DescribedSearch(search) => drop(search.read_inputs(&reader)),
        Handler::Events(list) => drop(list.read_inputs(&reader)),
        Handler::Audit(list) => drop(list.read_inputs(&reader)),
        Handler::Webhooks(action) => drop(action.read_inputs(&reader)),
        Handler::Batch => drop(BatchActions::read(&reader)),
        _ => {}
    }
    let seen = seen.into_inner();
    let mut seen: Vec<_> = seen.into_iter().map(key).collect();
    seen.sort_unstable();
    seen
}

fn key(input: &'static InputDef) -> (&'static str, &'static str) {
    let place = match input.place {
        InputPlace::Path => "path",
        InputPlace::Query => "query",
        InputPlace::Body => "body",
    };
    (place, input.name)
}

/// The struct of a row asks for exactly the inputs that it declares, each once.
#[test]
fn every_operation_reads_the_inputs_that_it_declares() {
    let mut rows = 0;
    for row in all() {
        let mut declared: Vec<_> = row.inputs.iter().copied().map(key).collect();
        declared.sort_unstable();
        let requested = requested(row);
        rows += usize::from(!requested.is_empty());
        assert_eq!(requested, declared, "{}", row.id);
    }
    assert!(rows > 0);
}
