//! Values of custom fields: their stored form in a task, the fields that a task has, and their display form.
//!
//! A task's body has one object, `{"<field gid>": value, ...}` in the order of gids, without fields that have no value. Values
//! are normalised and refer to nodes by gid, so a renamed option or user shows everywhere; the parts that depend on the
//! definition (options, format, presence of the field in the task's projects) are joined when the value is read.
//!
//! | Type | Stored |
//! |---|---|
//! | text | a string |
//! | number | a number with the decimals that the field keeps |
//! | enum | `"gid"` |
//! | multi_enum, people, reference | `["gid", ...]` |
//! | date | `{"date":"YYYY-MM-DD","date_time":null}`, or with the instant |
use crate::model::auto_id;
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::json_members::{member, members};
use crate::model::node::{Node, decode_json_string};
use crate::model::number_format::NumberFormat;
use crate::model::registry::CustomFieldType;
use crate::model::resources::custom_field;
use crate::model::time::{Date, Time};
use std::borrow::Cow;

/// Returns the values in a stored object.
pub fn stored_values(object: &str) -> impl Iterator<Item = (Gid, &str)> {
    members(object).filter_map(|(key, value)| Some((Gid::parse(key)?, value)))
}

/// Returns the gids in a stored value of a type that links.
pub fn linked(kind: CustomFieldType, value: &str) -> impl Iterator<Item = Gid> {
    let inner = if kind.links() { value } else { "" };
    gids(inner)
}

/// Returns the gids in a stored array of gids, or in a single stored gid.
pub fn gids(value: &str) -> impl Iterator<Item = Gid> {
    let digits = |c: char| !c.is_ascii_digit();
    value.split(digits).filter_map(Gid::parse)
}

/// Returns the stored array of these gids, with one gid added at the end or removed.
pub fn with_gid(gids: impl Iterator<Item = Gid>, gid: Gid, there: bool) -> String {
    gid_list(gids.filter(|one| *one != gid).chain(there.then_some(gid)))
}

/// Returns a stored list of gids.
#[must_use]
pub fn gid_list(gids: impl Iterator<Item = Gid>) -> String {
    let all: Vec<String> = gids.map(|gid| format!("\"{gid}\"")).collect();
    format!("[{}]", all.join(","))
}

/// Returns the search keys of a stored value. The key of a number is the nearest binary number; conditions on numbers are
/// then checked on the value.
#[must_use]
pub fn keys(kind: CustomFieldType, value: &str) -> Vec<IndexKey> {
    match kind {
        CustomFieldType::Text => vec![IndexKey::text(&decode_json_string(value))],
        CustomFieldType::Number => value
            .parse()
            .ok()
            .and_then(IndexKey::number)
            .into_iter()
            .collect(),
        CustomFieldType::Date => {
            let millis = instant(value).map(|t| t.millis() as f64);
            millis.and_then(IndexKey::number).into_iter().collect()
        }
        CustomFieldType::Enum
        | CustomFieldType::MultiEnum
        | CustomFieldType::People
        | CustomFieldType::Reference => linked(kind, value).map(IndexKey::gid).collect(),
    }
}

/// Returns the instant of a stored date: its stored instant, or midnight UTC of its day.
fn instant(value: &str) -> Option<Time> {
    let part = |name: &str| member(value, name).map(|part| part.trim_matches('"'));
    match part("date_time").and_then(|t| Time::parse(t).ok()) {
        Some(time) => Some(time),
        None => Date::parse(part("date")?).ok().map(Date::start),
    }
}

/// Parts of a field's definition that decide the display of its values.
#[derive(Clone, PartialEq, Debug)]
pub struct DisplayFormat {
    /// Type of the field.
    pub kind: CustomFieldType,
    /// Form of numbers.
    pub numbers: NumberFormat,
    /// Text before automatic ids.
    pub prefix: Option<String>,
}

impl DisplayFormat {
    /// Returns the display format of a definition.
    #[must_use]
    pub fn of(field: &Node) -> Self {
        let kind = custom_field::kind(field);
        let mut look = Self {
            kind,
            numbers: NumberFormat::default(),
            prefix: auto_id::prefix(field),
        };
        if kind != CustomFieldType::Number {
            return look;
        }
        let numbers = &mut look.numbers;
        numbers.precision = u32::try_from(field.get(custom_field::PRECISION)).unwrap_or(0);
        match field.get(custom_field::FORMAT).as_deref() {
            Some(unit @ ("currency" | "percentage")) => {
                numbers.set_unit(unit, field.get(custom_field::CURRENCY).as_deref());
            }
            Some("identifier") => numbers.precision = 0,
            Some("duration") => numbers.duration = true,
            Some("custom") => {
                let label = field.get(custom_field::LABEL).unwrap_or_default();
                if field.get(custom_field::LABEL_POSITION).as_deref() == Some("prefix") {
                    numbers.before = format!("{label} ");
                } else {
                    numbers.after = format!(" {label}");
                }
            }
            _ => {}
        }
        look
    }

    /// Returns an automatic id as JSON, in the stored form.
    #[must_use]
    pub fn auto_id(&self, number: Option<i64>) -> Option<String> {
        let (prefix, number) = (self.prefix.as_ref()?, number?);
        Some(format!("\"{prefix}-{number}\""))
    }

    /// Returns a stored value in its exact form: numbers with the decimals that the field keeps, others unchanged.
    #[must_use]
    pub fn kept<'v>(&self, value: &'v str) -> Cow<'v, str> {
        match self.kind {
            CustomFieldType::Number => self.numbers.kept(value),
            _ => Cow::Borrowed(value),
        }
    }
}

/// Appends the display value: one JSON string, or null. `title` returns the stored JSON string with the name of a
/// linked node that may be shown.
pub fn display<'n>(
    look: &DisplayFormat,
    value: Option<&str>,
    title: impl Fn(Gid) -> Option<&'n str>,
    out: &mut Vec<u8>,
) {
    let Some(value) = value else {
        out.extend_from_slice(b"null");
        return;
    };
    match look.kind {
        CustomFieldType::Text => out.extend_from_slice(value.as_bytes()),
        CustomFieldType::Number => {
            crate::model::node::write_json_string(out, &look.numbers.show(value));
        }
        CustomFieldType::Date => {
            let time = member(value, "date_time").filter(|time| *time != "null");
            let shown = time.or_else(|| member(value, "date")).unwrap_or("null");
            out.extend_from_slice(shown.as_bytes());
        }
        CustomFieldType::Enum
        | CustomFieldType::MultiEnum
        | CustomFieldType::People
        | CustomFieldType::Reference => {
            let mut first = true;
            for title in linked(look.kind, value).filter_map(title) {
                out.extend_from_slice(if first { b"\"" } else { b", " });
                first = false;
                // The inside of a JSON string is also valid inside another one.
                let inner = title.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
                out.extend_from_slice(inner.unwrap_or_default().as_bytes());
            }
            out.extend_from_slice(if first { b"null" } else { b"\"" });
        }
    }
}

/// Returns the stored JSON string with the name in a node's head.
#[must_use]
pub fn title(node: &Node) -> Option<&str> {
    member(&node.head, "name")
}

#[cfg(test)]
mod tests;
