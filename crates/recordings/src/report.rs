//! The outcome of a comparison, as text and as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::difference::Difference;

/// Maximum number of differences that a report keeps; all are counted.
pub const DIFFERENCES_MAX: usize = 100;

/// Report on a comparison: counts, and the first differences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Number of exchanges in the recording.
    pub entries: usize,
    /// Number of replies that were compared.
    pub compared: usize,
    /// Number of entries of the file that were not used.
    pub skipped: usize,
    /// Number of all differences.
    pub total: usize,
    /// The first [`DIFFERENCES_MAX`] differences.
    pub differences: Vec<Difference>,
}

impl Report {
    /// Counts a difference, and keeps it if there is room.
    pub(crate) fn add(&mut self, difference: Difference) {
        self.total += 1;
        if self.differences.len() < DIFFERENCES_MAX {
            self.differences.push(difference);
        }
    }

    /// Returns true if the replies to all recorded requests were compared, at least one, and nothing differs.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.total == 0 && self.compared > 0 && self.compared == self.entries
    }

    /// Returns the outcome as lines: a summary, then the differences with their numbers.
    #[must_use]
    pub fn text(&self) -> String {
        let Self {
            entries,
            compared,
            skipped,
            total,
            differences,
        } = self;
        let mut text =
            format!("{compared} of {entries} requests compared, {skipped} entries skipped: ");
        text += &match total {
            0 if self.holds() => "no differences".to_owned(),
            0 => "not all was compared".to_owned(),
            1 => "1 difference".to_owned(),
            _ => format!("{total} differences"),
        };
        text.push('\n');
        // Writing to a `String` can't fail.
        for (number, difference) in (1..).zip(differences) {
            let _ = writeln!(text, "{number}. {difference}");
        }
        if let Some(more) = total
            .checked_sub(differences.len())
            .filter(|more| *more > 0)
        {
            let _ = writeln!(text, "and {more} more");
        }
        text
    }

    /// Returns the outcome as JSON: the fields of this type, and `holds`.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            object.insert("holds".to_owned(), Value::Bool(self.holds()));
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::difference::DifferenceKind;

    fn difference() -> Difference {
        Difference {
            entry: 2,
            method: "GET".to_owned(),
            path: "/tasks/12".to_owned(),
            pointer: "/data/name".to_owned(),
            kind: DifferenceKind::MissingField,
            recorded: "\"a\"".to_owned(),
            came: "nothing".to_owned(),
        }
    }

    #[test]
    fn differences_have_a_bound_and_are_counted() {
        let mut report = Report {
            entries: 2,
            compared: 2,
            ..Report::default()
        };
        assert!(report.holds());
        for _ in 0..DIFFERENCES_MAX + 5 {
            report.add(difference());
        }
        assert!(!report.holds());
        assert_eq!(report.differences.len(), DIFFERENCES_MAX);
        let text = report.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "2 of 2 requests compared, 0 entries skipped: 105 differences"
        );
        assert_eq!(
            lines[1],
            "1. entry 2, GET /tasks/12, /data/name: recorded \"a\", came nothing"
        );
        assert_eq!(lines[101], "and 5 more");
        let json = report.json();
        assert_eq!(json["holds"], false);
        assert_eq!(json["total"], 105);
        assert_eq!(json["differences"][0]["kind"], "missing_field");
    }

    #[test]
    fn nothing_compared_does_not_hold() {
        let report = Report::default();
        assert!(!report.holds());
        assert_eq!(
            report.text(),
            "0 of 0 requests compared, 0 entries skipped: not all was compared\n"
        );
    }
}
