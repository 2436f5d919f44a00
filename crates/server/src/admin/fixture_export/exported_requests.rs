//! Requests of an exported fixture, in an order in which they can be sent.
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Phases of the requests: each needs only objects from earlier phases.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RequestPhase {
    LooseTasks,
    Tags,
    CustomFields,
    FurtherProjects,
    Values,
    Options,
    Texts,
    Comments,
    Dependencies,
    Likes,
    Sections,
    Teams,
    Followers,
    Members,
}

/// Request that an exported fixture sends.
pub(crate) struct ExportedRequest {
    operation: &'static str,
    path: Map<String, Value>,
    data: Map<String, Value>,
    sender: Option<String>,
    called: Option<String>,
}

impl ExportedRequest {
    /// Returns a request of an operation, sent by the default person, who creates the objects without a named creator.
    pub(crate) fn of(operation: &'static str) -> Self {
        Self {
            operation,
            path: Map::new(),
            data: Map::new(),
            sender: None,
            called: None,
        }
    }

    /// Sets a parameter of the path.
    pub(crate) fn at(mut self, parameter: &str, value: Value) -> Self {
        self.path.insert(parameter.to_owned(), value);
        self
    }

    /// Adds fields to the body.
    pub(crate) fn with(mut self, fields: Map<String, Value>) -> Self {
        self.data.extend(fields);
        self
    }

    /// Adds a field to the body.
    pub(crate) fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the person who sends the request.
    pub(crate) fn sent_by(mut self, sender: Option<String>) -> Self {
        self.sender = sender;
        self
    }

    /// Sets the name of the object that it creates.
    pub(crate) fn called(mut self, name: &str) -> Self {
        self.called = Some(name.to_owned());
        self
    }

    fn json(self) -> Value {
        let mut out = Map::new();
        out.insert("operation".to_owned(), self.operation.into());
        for (name, fields) in [("path", self.path), ("data", self.data)] {
            if !fields.is_empty() {
                out.insert(name.to_owned(), fields.into());
            }
        }
        for (name, text) in [("as", self.sender), ("called", self.called)] {
            if let Some(text) = text {
                out.insert(name.to_owned(), text.into());
            }
        }
        out.into()
    }
}

/// Requests of an exported fixture, by their phase.
#[derive(Default)]
pub(crate) struct ExportedRequests {
    phases: BTreeMap<RequestPhase, Vec<Value>>,
}

impl ExportedRequests {
    pub(crate) fn add(&mut self, phase: RequestPhase, request: ExportedRequest) {
        self.phases.entry(phase).or_default().push(request.json());
    }

    /// Returns the requests in their order.
    pub(crate) fn into_json(self) -> Vec<Value> {
        self.phases.into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_come_in_the_order_of_their_phases_and_have_only_what_they_need() {
        let mut requests = ExportedRequests::default();
        let comment = ExportedRequest::of("createStoryForTask")
            .at("task_gid", "@Write".into())
            .field("text", "Soon")
            .sent_by(Some("Ben".to_owned()));
        requests.add(RequestPhase::Comments, comment);
        let tag = ExportedRequest::of("createTag").called("urgent");
        requests.add(RequestPhase::Tags, tag);
        let expected = json!([
            {"operation": "createTag", "called": "urgent"},
            {"operation": "createStoryForTask", "path": {"task_gid": "@Write"}, "data": {"text": "Soon"}, "as": "Ben"},
        ]);
        assert_eq!(Value::from(requests.into_json()), expected);
    }
}
