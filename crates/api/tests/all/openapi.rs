//! The OpenAPI document: every reply of the transcripts is as it says.
use crate::golden;
use jsonschema::{Registry, Validator};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use workgraph_api::request::Method;
use workgraph_api::router::Router;
use workgraph_operations::TABLES;
use workgraph_operations::openapi::{DocumentInfo, document};

fn whole() -> Value {
    let info = DocumentInfo {
        root_url: "https://work.test",
        version: "0",
    };
    document(TABLES, info)
}

/// One request of a transcript, with the status and body of its reply.
struct Exchange {
    at: String,
    method: String,
    path: String,
    status: String,
    body: Value,
}

/// Returns the exchanges of a transcript whose replies are JSON.
fn exchanges(file: &str, text: &str) -> Vec<Exchange> {
    let mut out = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let Some(request) = line.strip_prefix("> ") else {
            continue;
        };
        let mut words = request.split(' ').skip(1);
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            continue;
        };
        let status = loop {
            match lines.next() {
                Some((_, line)) if line.starts_with("< ") => break line[2..].to_owned(),
                Some(_) => {}
                None => return out,
            }
        };
        let mut body = String::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with("> ")) {
            if !line.starts_with(['<', '#', '=']) {
                body.push_str(line);
            }
        }
        if let Ok(body) = serde_json::from_str(&body) {
            out.push(Exchange {
                at: format!("{file}:{}", number + 1),
                method: method.to_owned(),
                path: target.split('?').next().unwrap().to_owned(),
                status,
                body,
            });
        }
    }
    out
}

/// The name of the document among the schemas.
const ADDRESS: &str = "json-schema:///document";

/// Makes references within the document ones to the document.
fn rebase(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(to) if name == "$ref" => *to = format!("{ADDRESS}{to}"),
                    other => rebase(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rebase),
        _ => {}
    }
}

/// Returns the examples of a document, as exchanges.
fn examples(document: &Value) -> Vec<Exchange> {
    let mut out = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, described) in item.as_object().unwrap() {
            let responses = described["responses"].as_object().unwrap();
            for (status, response) in responses {
                let Some(body) = response.pointer("/content/application~1json/example") else {
                    continue;
                };
                let steps = path
                    .split('/')
                    .map(|step| if step.starts_with('{') { "1" } else { step });
                out.push(Exchange {
                    at: "example".to_owned(),
                    method: method.to_uppercase(),
                    path: steps.collect::<Vec<_>>().join("/"),
                    status: status.clone(),
                    body: body.clone(),
                });
            }
        }
    }
    out
}

/// Returns the faults of the replies that the document does not allow.
fn faults(document: &Value) -> (usize, BTreeSet<String>) {
    let router = Router::new(TABLES);
    let registry = Registry::new().add(ADDRESS, document).unwrap();
    let registry = registry.prepare().unwrap();
    // Many replies have the same schema, which is prepared once.
    let mut validators: BTreeMap<String, Validator> = BTreeMap::new();
    let (mut checked, mut faults) = (0, BTreeSet::new());
    let folder = golden::root("fixtures/transcripts");
    let recorded = std::fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        exchanges(&file, &std::fs::read_to_string(&path).unwrap())
    });
    for all in recorded.chain([examples(document)]) {
        for exchange in all {
            let method = Method::parse(&exchange.method);
            let Some(found) = method.and_then(|m| router.find(m, &exchange.path)) else {
                continue;
            };
            let place = format!(
                "/paths/{}/{}/responses/{}",
                found.operation.path.replace('~', "~0").replace('/', "~1"),
                exchange.method.to_lowercase(),
                exchange.status
            );
            let described = document.pointer(&place).map(|described| {
                let shared = described.get("$ref").and_then(Value::as_str);
                let place = shared.map_or(place.as_str(), |to| to.trim_start_matches('#'));
                let place = format!("{place}/content/application~1json/schema");
                let mut schema = document.pointer(&place).unwrap().clone();
                rebase(&mut schema);
                schema
            });
            checked += 1;
            let id = found.operation.id;
            match described {
                None => drop(faults.insert(format!("{id}: no status {}", exchange.status))),
                Some(schema) => {
                    let validator = validators.entry(schema.to_string()).or_insert_with(|| {
                        let options = jsonschema::options().with_registry(&registry);
                        options.build(&schema).unwrap()
                    });
                    if let Err(fault) = validator.validate(&exchange.body) {
                        let at = fault.instance_path();
                        faults.insert(format!("{} {id} {at}: {fault:.200}", exchange.at));
                    }
                }
            }
        }
    }
    (checked, faults)
}

/// Every operation of the document has an example of its reply, and of its body if it takes one.
#[test]
fn every_operation_of_the_document_has_examples() {
    let document = whole();
    let shown = examples(&document).len();
    let (mut operations, mut lacking) = (0, Vec::new());
    for item in document["paths"].as_object().unwrap().values() {
        for described in item.as_object().unwrap().values() {
            operations += 1;
            let body = &described["requestBody"]["content"]["application/json"];
            if body.is_object() && body["example"].is_null() {
                lacking.push(described["operationId"].to_string());
            }
        }
    }
    assert_eq!((shown, lacking), (operations, vec![]));
}

/// The document says no more and no less than the server does.
#[test]
fn replies_are_as_the_document_says() {
    let (checked, faults) = faults(&whole());
    assert!(checked > 500, "{checked}");
    let faults: Vec<String> = faults.into_iter().collect();
    assert!(
        faults.is_empty(),
        "{checked} replies\n{}",
        faults.join("\n")
    );
}

/// The same check finds a document that is wrong.
#[test]
fn a_document_with_another_type_is_found_out() {
    let mut document = whole();
    document["components"]["schemas"]["Task"]["properties"]["completed"] =
        json!({ "type": "string" });
    assert!(!faults(&document).1.is_empty());
}

/// The committed document is the one that the server sends.
#[test]
fn the_document_is_the_committed_one() {
    let text = serde_json::to_string_pretty(&whole()).unwrap();
    golden::check(&golden::root("docs/openapi.json"), &(text + "\n"));
}
