//! Examples of requests and replies. A test of the API sends each request and records its reply.
use serde_json::{Map, Value};

/// Examples of all operations, by their ids: `path`, `query` and `body` of the request, `status` and `reply`.
pub(super) struct Examples(Map<String, Value>);

impl Examples {
    /// Reads the examples, whose text is part of the program.
    pub(super) fn read() -> Self {
        // A test finds operations without an example.
        Self(serde_json::from_str(include_str!("examples.json")).unwrap_or_default())
    }

    /// Adds the example of an operation to the operation object.
    pub(super) fn add_to(&self, id: &str, described: &mut Value) {
        let Some(example) = self.0.get(id) else {
            return;
        };
        let parameters = described
            .get_mut("parameters")
            .and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            let named = ["path", "query"].into_iter().find_map(|place| {
                let name = parameter.get("name")?.as_str()?;
                example.get(place)?.get(name)
            });
            if let (Some(value), Value::Object(parameter)) = (named.cloned(), parameter) {
                parameter.insert("example".to_owned(), value);
            }
        }
        if let Some(body) = example.get("body") {
            put(described.pointer_mut("/requestBody"), body);
        }
        let status = example.get("status").map(Value::to_string);
        if let (Some(status), Some(reply)) = (status, example.get("reply")) {
            put(
                described.pointer_mut(&format!("/responses/{status}")),
                reply,
            );
        }
    }
}

/// Puts an example of JSON into a body or a response.
fn put(described: Option<&mut Value>, example: &Value) {
    let content = described.and_then(|object| object.pointer_mut("/content/application~1json"));
    if let Some(Value::Object(content)) = content {
        content.insert("example".to_owned(), example.clone());
    }
}
