use super::*;
use crate::table::TABLES;

fn whole() -> Value {
    let info = DocumentInfo {
        root_url: "http://localhost",
        version: "0",
    };
    document(TABLES, info)
}

/// Calls a function with every object of a JSON document.
fn each_object(value: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            visit(object);
            object.values().for_each(|part| each_object(part, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| each_object(item, visit)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = whole();
    let mut references = 0;
    each_object(&document, &mut |object| {
        if let Some(Value::String(to)) = object.get("$ref") {
            references += 1;
            let target = document.pointer(to.strip_prefix('#').unwrap());
            assert!(target.is_some_and(|t| !t.is_null()), "{to}");
        }
    });
    assert!(references > 1_000);
}

#[test]
fn every_operation_is_described_once_with_the_parameters_of_its_path() {
    let document = whole();
    let paths = document["paths"].as_object().unwrap();
    let mut ids = BTreeSet::new();
    for (path, item) in paths {
        for operation in item.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} twice");
            let parameters = operation["parameters"].as_array().unwrap();
            let named: BTreeSet<&str> = parameters
                .iter()
                .filter(|p| p["in"] == "path")
                .map(|p| p["name"].as_str().unwrap())
                .collect();
            let of_path: BTreeSet<&str> = path
                .split('/')
                .filter_map(|s| s.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            assert_eq!(named, of_path, "{id}");
        }
    }
    for operation in TABLES.iter().copied().flatten() {
        assert!(ids.contains(operation.id), "{}", operation.id);
    }
}

#[test]
fn every_input_and_field_has_a_sentence() {
    let document = whole();
    each_object(&document["paths"], &mut |object| {
        if object.contains_key("in") {
            let text = object["description"].as_str().unwrap();
            assert!(text.ends_with('.'), "{}: {text}", object["name"]);
        }
    });
}

#[test]
fn every_body_names_a_field_once_and_is_required_where_one_is_needed() {
    let document = whole();
    let (mut bodies, mut needed) = (0, 0);
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let Some(body) = operation.get("requestBody") else {
                continue;
            };
            bodies += 1;
            needed += usize::from(body["required"] == true);
            let schema = &body["content"]["application/json"]["schema"];
            let data = &schema["properties"]["data"];
            let mut names: Vec<&String> = data["properties"].as_object().unwrap().keys().collect();
            for record in data["allOf"].as_array().into_iter().flatten() {
                let to = record["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
                let fields = document.pointer(to).unwrap()["properties"].as_object();
                names.extend(fields.unwrap().keys());
            }
            let once: BTreeSet<_> = names.iter().collect();
            assert_eq!(once.len(), names.len(), "{path}: {names:?}");
            let answers = operation["responses"].as_object().unwrap();
            if answers.contains_key("201") {
                assert_eq!(body["required"], true, "{path}");
            }
        }
    }
    assert!(needed > 100 && needed < bodies, "{needed} of {bodies}");
}
