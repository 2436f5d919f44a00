//! Names in a fixture that represent gids, and values that represent times.
use anyhow::{Context, Result};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use workgraph_core::Gid;
use workgraph_core::model::time::{Date, Time};

/// First character of a text that names an object instead of its gid.
pub(crate) const REFERENCE: char = '@';
/// Member of an object that represents a day or a time.
pub(crate) const IN_DAYS: &str = "in_days";
/// Member of an object that represents a time.
pub(crate) const IN_SECONDS: &str = "in_seconds";
/// Start and end of a reference in a rich text.
pub(crate) const LINK: (&str, &str) = ("data-asana-gid=\"", "\"");
/// Prefix of the names of fields whose values are rich texts.
const HTML_PREFIX: &str = "html_";
/// Suffixes of the names of fields whose values are times instead of days.
const TIME_SUFFIXES: [&str; 2] = ["_at", "_time"];
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Gids of the objects that a fixture has named so far.
pub(crate) struct FixtureNames {
    /// Gids by name; `None` if several objects have the name.
    gids: BTreeMap<String, Option<String>>,
    now: SystemTime,
}

impl FixtureNames {
    /// Creates an empty set of names. Days are counted from `now`.
    pub(crate) const fn new(now: SystemTime) -> Self {
        Self {
            gids: BTreeMap::new(),
            now,
        }
    }

    /// Adds the name of an object. If several objects have the same name, it names none of them.
    pub(crate) fn add(&mut self, name: &str, gid: String) {
        let known = self.gids.entry(name.to_owned());
        known
            .and_modify(|before| {
                if before.as_ref() != Some(&gid) {
                    *before = None;
                }
            })
            .or_insert_with(|| Some(gid.clone()));
    }

    /// Returns the names that only one object has, each with the gid of the object.
    pub(crate) fn unique(&self) -> BTreeMap<String, String> {
        let names = self.gids.iter();
        names
            .filter_map(|(name, gid)| Some((name.clone(), gid.clone()?)))
            .collect()
    }

    /// Returns the gid of the object with a name.
    ///
    /// # Errors
    /// Fails if no object has the name so far, or several objects have it.
    pub(crate) fn gid(&self, name: &str) -> Result<Gid> {
        let text = self.text(name)?;
        Gid::parse(text).with_context(|| format!("`{name}`: `{text}` is no gid"))
    }

    fn text(&self, name: &str) -> Result<&str> {
        let found = self.gids.get(name);
        let found = found
            .with_context(|| format!("`{name}`: nothing in the fixture has this name so far"))?;
        found.as_deref().with_context(|| {
            format!("`{name}`: several objects have this name; give one another name by `called`")
        })
    }

    /// Returns the value of a field with names replaced by gids, and distances in days or seconds by days and times.
    ///
    /// # Errors
    /// Fails if a name is unknown, or a distance is too large.
    pub(crate) fn resolved(&self, field: &str, value: Value) -> Result<Value> {
        Ok(match value {
            Value::String(text) => match text.strip_prefix(REFERENCE) {
                Some(rest) if rest.starts_with(REFERENCE) => rest.into(),
                Some(name) => self.text(name)?.into(),
                None if field.starts_with(HTML_PREFIX) => self.linked(&text)?.into(),
                None => text.into(),
            },
            Value::Array(values) => {
                let values = values.into_iter().map(|value| self.resolved(field, value));
                values.collect::<Result<Vec<_>>>()?.into()
            }
            Value::Object(object) => match (days(&object), seconds(&object)) {
                (Some(days), _) => self.day(field, days)?.into(),
                (None, Some(seconds)) => self.time(seconds)?.into(),
                (None, None) => {
                    let pairs = object.into_iter();
                    let pairs = pairs.map(|(name, value)| {
                        let value = self.resolved(&name, value)?;
                        // A name can also be a key, for instance that of a custom field.
                        let name = match name.strip_prefix(REFERENCE) {
                            Some(named) => self.text(named)?.to_owned(),
                            None => name,
                        };
                        Ok((name, value))
                    });
                    pairs.collect::<Result<Map<_, _>>>()?.into()
                }
            },
            other => other,
        })
    }

    /// Returns a rich text whose links have gids in place of names.
    fn linked(&self, html: &str) -> Result<String> {
        let (mut out, mut rest) = (String::with_capacity(html.len()), html);
        while let Some((before, after)) = rest.split_once(LINK.0) {
            out.push_str(before);
            out.push_str(LINK.0);
            rest = after;
            if let Some((name, after)) = after
                .strip_prefix(REFERENCE)
                .and_then(|named| named.split_once(LINK.1))
            {
                out.push_str(self.text(name)?);
                out.push_str(LINK.1);
                rest = after;
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Returns the time at this many seconds from now.
    fn time(&self, seconds: f64) -> Result<String> {
        let distance = Duration::try_from_secs_f64(seconds.abs()).ok();
        // Times have milliseconds.
        let millis = distance.map(|distance| distance.as_micros().saturating_add(500) / 1_000);
        let millis = millis.and_then(|millis| i64::try_from(millis).ok());
        let millis = millis
            .with_context(|| format!("{IN_SECONDS}: {seconds} seconds are too far from now"))?;
        let millis = if seconds < 0.0 { -millis } else { millis };
        Ok(Time::from_system(self.now).add_millis(millis).to_string())
    }

    /// Returns the day, or the time, at this many days from now.
    fn day(&self, field: &str, days: i64) -> Result<String> {
        let too_far = || format!("{field}: {days} days are too far from now");
        if TIME_SUFFIXES.iter().any(|end| field.ends_with(end)) {
            let distance = u32::try_from(days.unsigned_abs()).ok();
            let distance = distance.and_then(|days| DAY.checked_mul(days));
            let time = distance.and_then(|distance| match days {
                0.. => self.now.checked_add(distance),
                _ => self.now.checked_sub(distance),
            });
            return Ok(Time::from_system(time.with_context(too_far)?).to_string());
        }
        let today = Date::of(Time::from_system(self.now));
        let day = i32::try_from(days)
            .ok()
            .and_then(|days| today.add_days(days));
        Ok(day.with_context(too_far)?.to_string())
    }
}

/// Returns the number of days if an object has only that field.
fn days(object: &Map<String, Value>) -> Option<i64> {
    let days = object.get(IN_DAYS).filter(|_| object.len() == 1);
    days.and_then(Value::as_i64)
}

/// Returns the number of seconds if an object has only that field.
fn seconds(object: &Map<String, Value>) -> Option<f64> {
    let seconds = object.get(IN_SECONDS).filter(|_| object.len() == 1);
    seconds.and_then(Value::as_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names() -> FixtureNames {
        let begin = Time::parse("2026-03-02T09:30:00.000Z").unwrap();
        let mut names = FixtureNames::new(begin.to_system());
        names.add("Ann", "12".to_owned());
        names.add("Plan", "13".to_owned());
        names.add("Plan", "14".to_owned());
        names
    }

    #[test]
    fn names_stand_for_gids_and_numbers_of_days_for_times() {
        let sent = json!({"assignee": "@Ann", "custom_fields": {"@Ann": ["@Ann", "x@y"]}, "due_on": {"in_days": 3},
            "due_at": {"in_days": -1}, "data": {"in_days": 1, "more": 2}});
        let resolved = names().resolved("", sent).unwrap();
        let expected = json!({"assignee": "12", "custom_fields": {"12": ["12", "x@y"]}, "due_on": "2026-03-05",
            "due_at": "2026-03-01T09:30:00.000Z", "data": {"in_days": 1, "more": 2}});
        assert_eq!(resolved, expected);
    }

    #[test]
    fn texts_that_begin_with_the_sign_of_a_name_and_links_in_rich_texts_are_resolved() {
        let sent = json!({"name": "@@Ann", "notes": "@@@x", "html_notes": "<body><a data-asana-gid=\"@Ann\"/>, \
            <a data-asana-gid=\"7\"/></body>", "due_at": {"in_seconds": -1.5}, "date_time": {"in_days": 1}});
        let resolved = names().resolved("", sent).unwrap();
        let expected = json!({"name": "@Ann", "notes": "@@x", "html_notes": "<body><a data-asana-gid=\"12\"/>, \
            <a data-asana-gid=\"7\"/></body>", "due_at": "2026-03-02T09:29:58.500Z",
            "date_time": "2026-03-03T09:30:00.000Z"});
        assert_eq!(resolved, expected);
        let unknown = json!({"html_text": "<body><a data-asana-gid=\"@Ben\"/></body>"});
        assert!(names().resolved("", unknown).is_err());
    }

    #[test]
    fn names_of_nothing_and_of_several_objects_are_refused() {
        let refused = |name: &str| names().gid(name).unwrap_err().to_string();
        assert!(refused("Ben").contains("nothing"));
        assert!(refused("Plan").contains("several"));
        assert_eq!(names().unique().keys().collect::<Vec<_>>(), ["Ann"]);
        let far = names().resolved("due_on", json!({"in_days": i64::MAX}));
        assert!(far.unwrap_err().to_string().contains("due_on"));
    }
}
