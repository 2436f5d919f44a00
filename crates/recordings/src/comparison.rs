//! Comparison without I/O: gives the requests of a recording one by one, and takes the replies of another server.

use std::collections::BTreeMap;

use crate::difference::{Difference, DifferenceKind};
use crate::identifier_learning::learn;
use crate::identifier_mapping::IdentifierMapping;
use crate::recording::{RecordedExchange, RecordedReply, RecordedRequest, Recording};
use crate::reply_comparison::{ReplyComparison, ReplyDifference, Strictness};
use crate::report::Report;
use crate::request_rewriting::rewrite;
use crate::written_times::WrittenTimes;

/// Comparison of another server with a recording.
///
/// Get a request, send it and hand in the reply, until there are no more requests. The comparison learns the identifiers of
/// the other server from its replies, and puts them in place of the recorded ones in later requests.
#[derive(Clone, Debug)]
pub struct Comparison {
    recording: Recording,
    strictness: Strictness,
    mapping: IdentifierMapping,
    written: WrittenTimes,
    /// Index of the exchange whose request is given next.
    next: usize,
    /// Index of the exchange that waits for its reply.
    open: Option<usize>,
    report: Report,
}

impl Comparison {
    /// Makes a comparison that expects the recorded values.
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        let report = Report {
            entries: recording.exchanges().len(),
            skipped: recording.skipped(),
            ..Report::default()
        };
        Self {
            recording,
            strictness: Strictness::default(),
            mapping: IdentifierMapping::default(),
            written: WrittenTimes::default(),
            next: 0,
            open: None,
            report,
        }
    }

    /// Sets how strictly replies are compared.
    #[must_use]
    pub const fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Sets the first replacements of recorded identifiers, for example of the recorded workspace by a world's workspace.
    #[must_use]
    pub fn with_names(mut self, names: BTreeMap<String, String>) -> Self {
        self.mapping = IdentifierMapping::new(names);
        self
    }

    /// Returns the next request, with the identifiers of the other server, or `None` after the last one. If the previous
    /// request got no reply, that is a difference.
    pub fn next_request(&mut self) -> Option<RecordedRequest> {
        self.close();
        let exchange = self.recording.exchanges().get(self.next)?;
        self.open = Some(self.next);
        self.next += 1;
        self.written.add(&exchange.request);
        Some(rewrite(&exchange.request, &self.mapping))
    }

    /// Takes the reply to the last request: learns identifiers from it, and compares it. A second reply to the same request
    /// is ignored.
    pub fn compare(&mut self, reply: &RecordedReply) {
        let Some(index) = self.open.take() else {
            return;
        };
        let Some(exchange) = self.recording.exchanges().get(index) else {
            return;
        };
        learn_from(&mut self.mapping, &exchange.reply, reply);
        let comparison = ReplyComparison::new(&self.mapping, &self.written, self.strictness);
        for found in comparison.differences(&exchange.reply, reply) {
            self.report.add(difference(index, exchange, found));
        }
        self.report.compared += 1;
    }

    /// Returns the report. It does not hold if some requests were never asked for, since their replies were not compared.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.close();
        self.report
    }

    /// Ends an exchange that got no reply.
    fn close(&mut self) {
        let Some(index) = self.open.take() else {
            return;
        };
        if let Some(exchange) = self.recording.exchanges().get(index) {
            let missing = ReplyDifference {
                pointer: String::new(),
                kind: DifferenceKind::NoReply,
                recorded: exchange.reply.status.to_string(),
                came: "nothing".to_owned(),
            };
            self.report.add(difference(index, exchange, missing));
        }
    }
}

/// Returns a difference, together with the request whose reply has it.
fn difference(index: usize, exchange: &RecordedExchange, found: ReplyDifference) -> Difference {
    Difference {
        entry: index + 1,
        method: exchange.request.method.clone(),
        path: exchange.request.path().to_owned(),
        pointer: found.pointer,
        kind: found.kind,
        recorded: found.recorded,
        came: found.came,
    }
}

/// Learns from two replies if both are successes or both are errors of the same class.
fn learn_from(mapping: &mut IdentifierMapping, recorded: &RecordedReply, came: &RecordedReply) {
    let parsed = |reply: &RecordedReply| {
        let body = reply.body.as_deref().unwrap_or("");
        serde_json::from_str(body).ok()
    };
    if recorded.status / 100 == came.status / 100
        && let (Some(recorded), Some(came)) = (parsed(recorded), parsed(came))
    {
        learn(mapping, "", &recorded, &came);
    }
}

#[cfg(test)]
mod tests;
