//! Notes on a request before it is logged: its unknown names, and its body.
use parking_lot::Mutex;
use std::collections::BTreeMap;
use workgraph_api::request_watch::UnknownInput;

/// Maximum number of requests whose notes wait for their log entry; a client that goes away leaves some behind.
const WAITING_MAX: usize = 1_000;
/// Maximum number of unknown names that are kept for a request, and of bytes of its body.
const UNKNOWN_MAX: usize = 100;
const BODY_MAX: usize = 256 << 10;
/// Greatest distance between a name and the one that was probably meant.
const SIMILAR: usize = 2;

/// Notes on a request that has not ended yet.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct RequestNote {
    /// Names that its operation does not know, with the part of the request, and with the name that was probably meant.
    pub(crate) unknown: Vec<String>,
    /// Body; `None` if it is too large to be kept.
    pub(crate) body: Option<Vec<u8>>,
}

/// Notes on requests in progress, by request id.
#[derive(Default)]
pub(crate) struct RequestNotes(Mutex<BTreeMap<String, RequestNote>>);

impl RequestNotes {
    fn change(&self, request_id: String, change: impl FnOnce(&mut RequestNote)) {
        let mut notes = self.0.lock();
        if notes.len() >= WAITING_MAX && !notes.contains_key(&request_id) {
            notes.pop_first();
        }
        change(notes.entry(request_id).or_default());
    }

    /// Adds unknown names.
    pub(crate) fn add_unknown(&self, request_id: String, unknown: &[UnknownInput]) {
        self.change(request_id, |note| {
            let room = UNKNOWN_MAX.saturating_sub(note.unknown.len());
            note.unknown
                .extend(unknown.iter().take(room).map(described));
        });
    }

    /// Keeps the body of a request.
    pub(crate) fn set_body(&self, request_id: String, body: &[u8]) {
        self.change(request_id, |note| {
            note.body = (body.len() <= BODY_MAX).then(|| body.to_vec());
        });
    }

    /// Removes and returns the notes on a request.
    pub(crate) fn take(&self, request_id: &str) -> RequestNote {
        self.0.lock().remove(request_id).unwrap_or_default()
    }
}

/// Returns the message that refuses a request with unknown names; `None` if there are none.
pub(crate) fn refusal(unknown: &[UnknownInput]) -> Option<String> {
    let first = unknown.first()?;
    let mut message = format!(
        "{}: No operation input has this name in {}",
        first.name, first.part
    );
    if let Some(meant) = meant(first) {
        message += &format!("; did you mean {meant}?");
    }
    Some(message)
}

/// Returns the text that describes an unknown name to tests.
fn described(unknown: &UnknownInput) -> String {
    let name = format!("{}: {}", unknown.part, unknown.name);
    match meant(unknown) {
        Some(meant) => format!("{name} (did you mean {meant}?)"),
        None => name,
    }
}

/// Returns the name that was probably meant.
fn meant(unknown: &UnknownInput) -> Option<&'static str> {
    let name = unknown.name.rsplit('.').next()?;
    let near = unknown
        .known
        .iter()
        .map(|known| (strsim::osa_distance(name, known), *known));
    let (distance, known) = near.min()?;
    (distance <= SIMILAR).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(part: &'static str, name: &str) -> UnknownInput {
        UnknownInput {
            part,
            name: name.to_owned(),
            known: vec!["assignee", "name"],
        }
    }

    #[test]
    fn an_unknown_name_comes_with_the_one_that_was_meant() {
        let notes = RequestNotes::default();
        let names = [
            unknown("data", "asignee"),
            unknown("opt_fields", "parent.nmae"),
        ];
        notes.add_unknown("1".to_owned(), &names);
        notes.add_unknown("1".to_owned(), &[unknown("query", "colour")]);
        notes.set_body("1".to_owned(), b"{}");
        let note = notes.take("1");
        let expected = [
            "data: asignee (did you mean assignee?)",
            "opt_fields: parent.nmae (did you mean name?)",
            "query: colour",
        ];
        assert_eq!(note.unknown, expected);
        assert_eq!(note.body.as_deref(), Some(&b"{}"[..]));
        assert_eq!(notes.take("1"), RequestNote::default());
        let message = refusal(&names).unwrap();
        assert_eq!(
            message,
            "asignee: No operation input has this name in data; did you mean assignee?"
        );
    }

    #[test]
    fn requests_that_never_end_are_forgotten() {
        let notes = RequestNotes::default();
        for number in 0..2 * WAITING_MAX {
            notes.set_body(format!("{number:05}"), b"{}");
        }
        assert_eq!(notes.0.lock().len(), WAITING_MAX);
        notes.set_body("large".to_owned(), &vec![0; BODY_MAX + 1]);
        assert_eq!(notes.take("large").body, None);
    }
}
