//! Values of custom fields: their stored form in a task, the fields that a task has, and their display form.
//!
//! A task's body keeps one object, `{"<field gid>": value, ...}` in the order of gids, without fields that have no
//! value. Values are normalised and hold gids where they mean nodes, so a renamed option or user shows everywhere; the
//! parts that depend on the definition (options, format, presence of the field in the task's projects) are joined when
//! the value is read.
//!
//! | Type | Stored |
//! |---|---|
//! | text | a string |
//! | number | a number as it was sent |
//! | enum | `"gid"` |
//! | multi_enum, people, reference | `["gid", ...]` |
//! | date | `{"date":"YYYY-MM-DD","date_time":null}`, or with the instant |
use crate::model::auto_id;
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::{Node, decode_json_string, members};
use crate::model::registry::CustomFieldType;
use crate::model::resources::custom_field;
use crate::model::time::{Date, Time};

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

/// Returns the stored array of these gids with one of them added at the end, or without it.
pub fn with_gid(gids: impl Iterator<Item = Gid>, gid: Gid, there: bool) -> String {
    let rest = gids.filter(|one| *one != gid);
    let all: Vec<String> = rest
        .chain(there.then_some(gid))
        .map(|gid| format!("\"{gid}\""))
        .collect();
    format!("[{}]", all.join(","))
}

/// Returns the keys by which search finds a stored value.
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

/// Returns the instant of a stored date: that of its time, or midnight UTC.
fn instant(value: &str) -> Option<Time> {
    let part = |name: &str| {
        let found = members(value).find(|(key, _)| *key == name);
        found.map(|(_, v)| v.trim_matches('"'))
    };
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
    /// Number of decimals shown.
    pub precision: usize,
    /// Factor by which a number is multiplied before it is shown.
    pub factor: f64,
    /// Text before the number.
    pub before: String,
    /// Text after the number.
    pub after: String,
    /// True if the number is in minutes, shown as hours and minutes.
    pub duration: bool,
    /// Text before automatic ids.
    pub prefix: Option<String>,
}

impl DisplayFormat {
    /// Returns the display format of values of a type, without anything beside them.
    #[must_use]
    pub fn plain(kind: CustomFieldType) -> Self {
        Self {
            kind,
            precision: 0,
            factor: 1.0,
            before: String::new(),
            after: String::new(),
            duration: false,
            prefix: None,
        }
    }

    /// Adds the parts of a currency or a percentage.
    pub fn set_unit(&mut self, unit: &str, currency: Option<&str>) {
        match unit {
            "currency" => self.before = sign(currency),
            "percentage" => {
                self.factor = 100.0;
                self.after.push('%');
            }
            _ => {}
        }
    }

    /// Returns the display format of a definition.
    #[must_use]
    pub fn of(field: &Node) -> Self {
        let kind = custom_field::kind(field);
        let mut look = Self {
            prefix: auto_id::prefix(field),
            ..Self::plain(kind)
        };
        if kind != CustomFieldType::Number {
            return look;
        }
        look.precision = usize::try_from(field.get(custom_field::PRECISION)).unwrap_or(0);
        match field.get(custom_field::FORMAT).as_deref() {
            Some(unit @ ("currency" | "percentage")) => {
                look.set_unit(unit, field.get(custom_field::CURRENCY).as_deref());
            }
            Some("identifier") => look.precision = 0,
            Some("duration") => look.duration = true,
            Some("custom") => {
                let label = field.get(custom_field::LABEL).unwrap_or_default();
                if field.get(custom_field::LABEL_POSITION).as_deref() == Some("prefix") {
                    look.before = format!("{label} ");
                } else {
                    look.after = format!(" {label}");
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

    /// Returns a number in its display form.
    #[must_use]
    pub fn number(&self, number: f64) -> String {
        if self.duration {
            let minutes = number.abs().round();
            let (hours, rest) = ((minutes / 60.0).floor(), minutes % 60.0);
            let minus = if number < 0.0 && minutes > 0.0 {
                "-"
            } else {
                ""
            };
            return match (hours > 0.0, rest > 0.0) {
                (true, true) => format!("{minus}{hours}h {rest}m"),
                (true, false) => format!("{minus}{hours}h"),
                _ => format!("{minus}{rest}m"),
            };
        }
        let shown = rounded(number * self.factor, self.precision);
        let (minus, digits) = match shown.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", shown.as_str()),
        };
        if self.before.ends_with(' ') {
            return format!("{}{minus}{digits}{}", self.before, self.after);
        }
        format!("{minus}{}{digits}{}", self.before, self.after)
    }
}

/// Returns a number with this many decimals; halves are rounded away from zero.
fn rounded(number: f64, precision: usize) -> String {
    let mut shown = format!("{number:.precision$}");
    let scaled = number.abs() * 10f64.powi(i32::try_from(precision).unwrap_or(0));
    if (scaled.fract() - 0.5).abs() < 1e-6 {
        // The decimal digits decide about a half, not the nearest binary number: 1.005 is shown as 1.01.
        let typed = number.to_string();
        let half = typed.strip_suffix('5').filter(|rest| {
            let decimals = rest.split_once('.').map(|(_, decimals)| decimals.len());
            decimals == Some(precision)
        });
        if let Some(up) = half.and_then(|rest| format!("{rest}6").parse::<f64>().ok()) {
            shown = format!("{up:.precision$}");
        }
    }
    match shown.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|b| matches!(b, b'0' | b'.')) => zero.to_owned(),
        _ => shown,
    }
}

/// Returns the text before an amount of a currency: the currency's sign, or its code.
fn sign(code: Option<&str>) -> String {
    match code.unwrap_or("") {
        "USD" => "$".to_owned(),
        "EUR" => "€".to_owned(),
        "GBP" => "£".to_owned(),
        "JPY" => "¥".to_owned(),
        "INR" => "₹".to_owned(),
        "" => String::new(),
        other => format!("{other} "),
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
            let shown = look.number(value.parse().unwrap_or(0.0));
            crate::model::node::write_json_string(out, &shown);
        }
        CustomFieldType::Date => {
            let part = |name: &str| members(value).find(|(key, _)| *key == name);
            let time = part("date_time").filter(|(_, v)| *v != "null");
            let shown = time.or_else(|| part("date")).map_or("null", |(_, v)| v);
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
                // The inside of a JSON string is valid inside another.
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
    members(&node.head)
        .find(|(key, _)| *key == "name")
        .map(|(_, v)| v)
}

#[cfg(test)]
mod tests;
