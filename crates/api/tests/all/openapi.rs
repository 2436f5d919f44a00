//! The OpenAPI document: its examples, and the committed copy. `clients/python/replies.py` validates recorded replies against it.
use crate::golden;
use serde_json::Value;
use workgraph_operations::TABLES;
use workgraph_operations::openapi::{DocumentInfo, document};

fn whole() -> Value {
    let info = DocumentInfo {
        root_url: "https://work.test",
        version: "0",
    };
    document(TABLES, info)
}

/// Every operation of the document has an example of its reply, and of its body if it takes one.
#[test]
fn every_operation_of_the_document_has_examples() {
    let document = whole();
    let (mut operations, mut shown, mut lacking) = (0, 0, Vec::new());
    for item in document["paths"].as_object().unwrap().values() {
        for described in item.as_object().unwrap().values() {
            operations += 1;
            let responses = described["responses"].as_object().unwrap();
            let example = |response: &&Value| {
                let example = response.pointer("/content/application~1json/example");
                example.is_some()
            };
            shown += responses.values().filter(example).count();
            let body = &described["requestBody"]["content"]["application/json"];
            if body.is_object() && body["example"].is_null() {
                lacking.push(described["operationId"].to_string());
            }
        }
    }
    assert_eq!((shown, lacking), (operations, vec![]));
}

/// The committed document is the one that the server sends.
#[test]
fn the_document_is_the_committed_one() {
    let text = serde_json::to_string_pretty(&whole()).unwrap();
    golden::check(&golden::root("docs/generated/openapi.json"), &(text + "\n"));
}
