//! Format of a log line: the library's format, with the id of the request that the line belongs to.
use crate::log::request_scope::current_request;
use std::fmt;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Format that adds the field `request_id` to lines written while the thread works on a request.
pub(crate) struct WithRequestId<F> {
    /// Format without the field: a JSON object, or text, and a line feed.
    pub(crate) format: F,
}

impl<S, N, F> FormatEvent<S, N> for WithRequestId<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(id) = current_request() else {
            return self.format.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.format
            .format_event(context, Writer::new(&mut line), event)?;
        match line.strip_prefix('{') {
            // An event has at least a level, so the object is not empty.
            Some(fields) => write!(writer, "{{\"request_id\":\"{id}\",{fields}"),
            None => writeln!(writer, "{} request_id={id}", line.trim_end_matches('\n')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::request_id::RequestId;
    use crate::log::request_scope::RequestScope;
    use std::io;
    use std::sync::{Arc, Mutex};
    use tracing_subscriber::fmt::format::{JsonFields, format};

    const ID: &str = "01234567-89ab-7cde-8f01-23456789abcd";

    /// Log in memory.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn write_lines() {
        tracing::error!(phrase = "a {\"b\"", "request failed");
        let _scope = RequestScope::enter(RequestId::given(ID));
        tracing::error!(phrase = "a {\"b\"", "request failed");
    }

    #[test]
    fn a_line_of_a_request_carries_its_id_and_another_line_none() {
        let json = Lines::default();
        let writer = json.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .fmt_fields(JsonFields::new())
            .event_format(WithRequestId {
                format: format().json().flatten_event(true),
            })
            .finish();
        tracing::subscriber::with_default(subscriber, write_lines);
        let text = String::from_utf8(json.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0].get("request_id"), None);
        assert_eq!(lines[1]["request_id"], ID);
        assert_eq!(lines[1]["phrase"], lines[0]["phrase"]);
        assert_eq!(lines[1]["message"], "request failed");

        let plain = Lines::default();
        let writer = plain.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .event_format(WithRequestId {
                format: format().with_ansi(false),
            })
            .finish();
        tracing::subscriber::with_default(subscriber, write_lines);
        let text = String::from_utf8(plain.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(!lines[0].contains("request_id"), "{text}");
        assert!(lines[1].ends_with(&format!(" request_id={ID}")), "{text}");
    }
}
