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
use workgraph_core::model::registry::Writability;
use workgraph_core::model::resources::resource;
use workgraph_core::model::time::Time;
use workgraph_wire::QueryParams;

/// Returns a value that an input accepts, as text for path and query.
fn text(input: &InputDef) -> String {
    match input.ty {
        InputType::Node(_) | InputType::Nodes(_) => "17".to_owned(),
        InputType::Text(_) | InputType::Terms(_) | InputType::Token => "words".to_owned(),
        InputType::Word(words) | InputType::Words(words) => words[0].to_owned(),
        InputType::Flag => "true".to_owned(),
        InputType::Number(least, _) | InputType::Decimal(least, _) => least.to_string(),
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
        Handler::Write(steps) => drop(steps.prepare(&reader)),
        Handler::Lookup(steps) => drop(steps.prepare(&reader)),
        Handler::ComputedPage(list) => drop(list.read_inputs(&reader)),
        Handler::Search(search) => drop(search.read_inputs(&reader)),
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

/// Returns the declarations of a row, each with those of the path parameters that may replace it.
fn declarations(row: &Operation) -> Vec<&'static InputDef> {
    let with_alternatives = |input: &'static InputDef| {
        std::iter::successors(Some(input), |input| input.path_alternative)
    };
    let declared = row.declared_inputs().chain(row.inputs.iter().copied());
    declared.flat_map(with_alternatives).collect()
}

/// Returns the fault of a declaration.
fn fault(input: &InputDef) -> Option<&'static str> {
    let begins = |c: char| c.is_uppercase() || c == '`' || c.is_ascii_digit();
    let is_sentence = input.doc.starts_with(begins) && input.doc.ends_with('.');
    if !is_sentence {
        return Some("the documentation is no sentence");
    }
    match input.ty {
        InputType::Text(0) | InputType::Terms(0) => Some("no text is short enough"),
        InputType::Word([]) | InputType::Words([]) => Some("no word is accepted"),
        InputType::Number(least, most) | InputType::Decimal(least, most) if least > most => {
            Some("no number is accepted")
        }
        InputType::Record(record) => {
            let mut fields = resource(record.ty).fields.iter();
            let undocumented = fields.any(|field| {
                let is_written = match field.write {
                    Writability::Always => true,
                    Writability::OnCreate => record.creating,
                    _ => false,
                };
                is_written && !field.doc.ends_with('.')
            });
            undocumented.then_some("a field of the record has no documentation")
        }
        _ => None,
    }
}

/// Each input of each operation is documented, and has bounds that a value can meet.
#[test]
fn every_input_is_documented() {
    for row in all() {
        for input in declarations(row) {
            assert_eq!(fault(input), None, "{}: {}", row.id, input.name);
        }
    }
    // The check finds faults.
    let whole = *all().flat_map(declarations).next().unwrap();
    let undocumented = InputDef { doc: "", ..whole };
    let ty = InputType::Word(&[]);
    let impossible = InputDef { ty, ..whole };
    assert_eq!(fault(&whole), None);
    assert!(fault(&undocumented).is_some());
    assert!(fault(&impossible).is_some());
}

/// Each parameter of each path is a declared input, and no input is declared twice.
#[test]
fn every_path_parameter_is_declared_once() {
    for row in all() {
        let mut own: Vec<_> = row.declared_inputs().map(key).collect();
        let count = own.len();
        own.sort_unstable();
        own.dedup();
        assert_eq!(own.len(), count, "{}", row.id);
        let declared = declarations(row);
        for path in std::iter::once(&row.path).chain(row.alias_paths) {
            for part in path.split('{').skip(1) {
                let name = part.split('}').next().unwrap();
                let mut paths = declared.iter().filter(|i| i.place == InputPlace::Path);
                assert!(paths.any(|i| i.name == name), "{}: {name}", row.id);
            }
        }
    }
}
