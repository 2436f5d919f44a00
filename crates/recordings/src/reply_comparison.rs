//! Compares a reply with the recorded one.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use crate::difference::{DifferenceKind, shortened, shown};
use crate::field_kind::{FieldKind, form_of_time, kind_of};
use crate::identifier_mapping::IdentifierMapping;
use crate::recording::RecordedReply;
use crate::rich_text::{translate_tags, without_object_links};
use crate::written_times::WrittenTimes;

/// Part of a reply that must agree with the recorded one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Status, fields, types, lengths of lists and values. Identifiers must belong to the same objects; links, tokens and
    /// times that the server makes may differ.
    #[default]
    Values,
    /// Status, fields and types. Of a list only the first member counts.
    Shape,
}

/// Difference between two replies, at a place of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplyDifference {
    pub(crate) pointer: String,
    pub(crate) kind: DifferenceKind,
    pub(crate) recorded: String,
    pub(crate) came: String,
}

/// Text in place of a missing value.
const NOTHING: &str = "nothing";

/// Comparison of one reply with the recorded one.
pub(crate) struct ReplyComparison<'a> {
    mapping: &'a IdentifierMapping,
    written: &'a WrittenTimes,
    strictness: Strictness,
    found: Vec<ReplyDifference>,
}

impl<'a> ReplyComparison<'a> {
    /// Makes a comparison with the identifiers learnt so far, and the times that the client has written so far.
    pub(crate) const fn new(
        mapping: &'a IdentifierMapping,
        written: &'a WrittenTimes,
        strictness: Strictness,
    ) -> Self {
        Self {
            mapping,
            written,
            strictness,
            found: Vec::new(),
        }
    }

    /// Returns the differences between two replies.
    pub(crate) fn differences(
        mut self,
        recorded: &RecordedReply,
        came: &RecordedReply,
    ) -> Vec<ReplyDifference> {
        let came_body = came.body.as_deref().unwrap_or("");
        if recorded.status != came.status {
            let came = format!("{} {}", came.status, shortened(came_body));
            let came = came.trim_end().to_owned();
            self.add(
                "",
                DifferenceKind::Status,
                recorded.status.to_string(),
                came,
            );
        } else if let Some(body) = &recorded.body {
            self.bodies(body, came_body);
        }
        self.found
    }

    fn add(&mut self, pointer: &str, kind: DifferenceKind, recorded: String, came: String) {
        self.found.push(ReplyDifference {
            pointer: pointer.to_owned(),
            kind,
            recorded,
            came,
        });
    }

    fn bodies(&mut self, recorded: &str, came: &str) {
        match (serde_json::from_str(recorded), serde_json::from_str(came)) {
            (Ok(recorded), Ok(came)) => self.values("", "", &recorded, &came),
            (Err(_), Err(_)) if self.strictness == Strictness::Shape => {}
            (Err(_), Err(_)) if self.means_same(recorded, came) => {}
            _ => {
                let text = |body: &str| match body {
                    "" => NOTHING.to_owned(),
                    body => shortened(body),
                };
                self.add("", DifferenceKind::Body, text(recorded), text(came));
            }
        }
    }

    fn values(&mut self, pointer: &str, field: &str, recorded: &Value, came: &Value) {
        let is_exact = self.strictness == Strictness::Values;
        match (recorded, came) {
            (Value::Object(recorded), Value::Object(came)) => {
                self.objects(pointer, recorded, came);
            }
            (Value::Array(recorded), Value::Array(came)) => {
                self.lists(pointer, field, recorded, came);
            }
            (Value::String(recorded), Value::String(came)) => {
                if is_exact {
                    self.texts(pointer, field, recorded, came);
                }
            }
            (Value::Number(left), Value::Number(right)) => {
                if is_exact && !is_same_number(left, right) {
                    self.add(pointer, DifferenceKind::Value, shown(recorded), shown(came));
                }
            }
            (Value::Bool(left), Value::Bool(right)) => {
                if is_exact && left != right {
                    self.add(pointer, DifferenceKind::Value, shown(recorded), shown(came));
                }
            }
            (Value::Null, Value::Null) => {}
            _ => self.add(pointer, DifferenceKind::Type, shown(recorded), shown(came)),
        }
    }

    fn objects(&mut self, pointer: &str, recorded: &Map<String, Value>, came: &Map<String, Value>) {
        let place = |name: &str| {
            let name = name.replace('~', "~0").replace('/', "~1");
            format!("{pointer}/{name}")
        };
        // The names of a map may be identifiers.
        let mapping = self.mapping;
        let new_name = |name: &str| {
            let new = mapping.of(name).filter(|new| came.contains_key(*new));
            new.unwrap_or(name).to_owned()
        };
        let mut expected = BTreeSet::new();
        for (name, value) in recorded {
            let new_name = new_name(name);
            if let Some(new) = came.get(&new_name) {
                self.values(&place(name), name, value, new);
            } else {
                let kind = DifferenceKind::MissingField;
                self.add(&place(name), kind, shown(value), NOTHING.to_owned());
            }
            expected.insert(new_name);
        }
        for (name, value) in came {
            if !expected.contains(name) {
                let kind = DifferenceKind::AdditionalField;
                self.add(&place(name), kind, NOTHING.to_owned(), shown(value));
            }
        }
    }

    fn lists(&mut self, pointer: &str, field: &str, recorded: &[Value], came: &[Value]) {
        let compared = match self.strictness {
            Strictness::Shape => 1,
            Strictness::Values if recorded.len() == came.len() => recorded.len(),
            // One missing or additional member shifts all others, and each of them would be a difference.
            Strictness::Values => {
                let length = |list: &[Value]| format!("a list of {}", list.len());
                self.add(
                    pointer,
                    DifferenceKind::ListLength,
                    length(recorded),
                    length(came),
                );
                0
            }
        };
        for (index, (value, new)) in recorded.iter().zip(came).take(compared).enumerate() {
            self.values(&format!("{pointer}/{index}"), field, value, new);
        }
    }

    fn texts(&mut self, pointer: &str, field: &str, recorded: &str, came: &str) {
        let kind = match kind_of(field) {
            FieldKind::Identifier => {
                self.identifiers(pointer, recorded, came);
                return;
            }
            FieldKind::Token | FieldKind::Link | FieldKind::Incidental => return,
            kind => kind,
        };
        let is_same = recorded == came
            || match kind {
                FieldKind::Time | FieldKind::Day => self.is_other_time(recorded, came),
                FieldKind::RichText => {
                    let recorded = translate_tags(recorded, self.mapping);
                    without_object_links(&recorded) == without_object_links(came)
                }
                _ => self.means_same(recorded, came),
            };
        if !is_same {
            let text = |text: &str| shown(&Value::from(text));
            self.add(pointer, DifferenceKind::Value, text(recorded), text(came));
        }
    }

    fn identifiers(&mut self, pointer: &str, recorded: &str, came: &str) {
        let known = self.mapping.of(recorded);
        if known == Some(came) {
            return;
        }
        let with = |text: &str, words: &str, other: Option<&str>| {
            let text = shown(&Value::from(text));
            let other = other.map(|other| format!(", {words} {}", shown(&Value::from(other))));
            text + &other.unwrap_or_default()
        };
        let stands_for = self.mapping.recorded_for(came);
        let recorded = with(recorded, "which here is", known);
        let came = with(came, "which was", stands_for);
        self.add(pointer, DifferenceKind::Identifier, recorded, came);
    }

    /// Returns true if a text equals the recorded one, once the other server's identifiers replace the recorded ones.
    fn means_same(&self, recorded: &str, came: &str) -> bool {
        recorded == came
            || self.mapping.of(recorded) == Some(came)
            || self.mapping.translate(recorded) == came
    }

    /// Returns true if both texts are times or days of the same form, and the server made them.
    fn is_other_time(&self, recorded: &str, came: &str) -> bool {
        let form = form_of_time(recorded);
        form.is_some() && form == form_of_time(came) && !self.written.contains(recorded)
    }
}

/// Returns true if two numbers are equal, such as 1 and 1.0.
fn is_same_number(left: &Number, right: &Number) -> bool {
    left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
}

#[cfg(test)]
mod tests;
