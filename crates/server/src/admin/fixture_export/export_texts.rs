//! Names and notes of the objects in an exported fixture.
use crate::admin::fixture_export::export_state::ExportState;
use crate::admin::fixture_export::exported_fields::text_field;
use crate::admin::fixture_export::exported_requests::{ExportedRequest, RequestPhase};
use crate::admin::fixture_export::fixture_labels::plain;
use crate::admin::fixture_export::world_reader::Record;
use serde_json::{Map, Value};
use workgraph_core::{Gid, Type};

/// Adds the name of an object, and its label in the fixture if that is different.
pub(crate) fn add_name(state: &ExportState, record: &Record, out: &mut Map<String, Value>) {
    let name = plain(record.text("/name").unwrap_or_default());
    let label = state.labels.label(record.gid).map(Value::from);
    if let Some(label) = label.filter(|label| *label != name) {
        out.insert("called".to_owned(), label);
    }
    out.insert("name".to_owned(), name);
}

/// Adds the notes of a project or task. If they link to other objects, a request writes them.
pub(crate) fn add_text(
    state: &mut ExportState,
    (record, actor): (&Record, Gid),
    ty: Type,
    out: &mut Map<String, Value>,
) {
    let text = text_field(record, ("notes", "html_notes"), &state.labels);
    state.leave_out("link in a text", usize::from(text.is_reduced));
    let Some(text) = text.field else {
        return;
    };
    if !text.is_linking {
        out.insert(text.name.to_owned(), text.value);
        return;
    }
    let (operation, parameter) = match ty {
        Type::Project => ("updateProject", "project_gid"),
        _ => ("updateTask", "task_gid"),
    };
    if let Some(reference) = state.labels.reference(record.gid) {
        let request = ExportedRequest::of(operation)
            .at(parameter, reference)
            .field(text.name, text.value)
            .sent_by(state.sender(actor));
        state.requests.add(RequestPhase::Texts, request);
    }
}
