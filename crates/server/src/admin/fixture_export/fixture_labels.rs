//! Labels in an exported fixture: names of objects, and values that represent days and times.
use crate::admin::fixture_names::{IN_DAYS, IN_SECONDS, LINK, REFERENCE};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use workgraph_core::Gid;
use workgraph_core::model::time::{Date, Time};

/// Milliseconds of a day.
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// Names of the objects in a fixture. No two objects have the same name.
pub(crate) struct FixtureLabels {
    now: Time,
    labels: BTreeMap<Gid, String>,
    used: BTreeSet<String>,
    /// Number of the last object that asked for a name, by name.
    numbers: BTreeMap<String, usize>,
}

impl FixtureLabels {
    /// Creates an empty set of names. Days are counted from `now`.
    pub(crate) const fn new(now: Time) -> Self {
        Self {
            now,
            labels: BTreeMap::new(),
            used: BTreeSet::new(),
            numbers: BTreeMap::new(),
        }
    }

    /// Labels an object with its name, or with a similar name that is free. `noun` replaces the name of objects that have
    /// none.
    pub(crate) fn add(&mut self, gid: Gid, name: &str, noun: &str) -> String {
        self.add_below("", (gid, name), noun)
    }

    /// Labels a part of an object in the same way, after a prefix. Returns the label without the prefix.
    pub(crate) fn add_below(
        &mut self,
        prefix: &str,
        (gid, name): (Gid, &str),
        noun: &str,
    ) -> String {
        let name = name.trim_start_matches(REFERENCE).replace('"', "'");
        let base = if name.trim().is_empty() { noun } else { &name };
        let number = self.numbers.entry(format!("{prefix}{base}")).or_default();
        let label = loop {
            *number += 1;
            let label = match *number {
                1 => base.to_owned(),
                number => format!("{base} ({number})"),
            };
            if self.used.insert(format!("{prefix}{label}")) {
                break label;
            }
        };
        self.labels.insert(gid, format!("{prefix}{label}"));
        label
    }

    /// Labels an object with a name that is reserved for it.
    pub(crate) fn set(&mut self, gid: Gid, label: &str) {
        self.labels.insert(gid, label.to_owned());
    }

    /// Reserves a name. Returns false if it is taken.
    pub(crate) fn reserve(&mut self, name: &str) -> bool {
        self.used.insert(name.to_owned())
    }

    /// Returns the name of an object, if it is part of the fixture.
    pub(crate) fn label(&self, gid: Gid) -> Option<&str> {
        self.labels.get(&gid).map(String::as_str)
    }

    /// Returns the reference `@NAME` to an object, if the object is part of the fixture.
    pub(crate) fn reference(&self, gid: Gid) -> Option<Value> {
        let label = self.label(gid)?;
        Some(format!("{REFERENCE}{label}").into())
    }

    /// Returns the value that represents a day.
    pub(crate) fn day(&self, text: &str) -> Value {
        let Ok(day) = Date::parse(text) else {
            return text.into();
        };
        let days = day.days() - Date::of(self.now).days();
        json!({ IN_DAYS: days })
    }

    /// Returns the value that represents a time.
    pub(crate) fn time(&self, text: &str) -> Value {
        let Ok(time) = Time::parse(text) else {
            return text.into();
        };
        let millis = time.millis() - self.now.millis();
        if millis % DAY_MILLIS == 0 {
            return json!({ IN_DAYS: millis / DAY_MILLIS });
        }
        if millis % 1_000 == 0 {
            return json!({ IN_SECONDS: millis / 1_000 });
        }
        let seconds: Option<f64> = format!("{}e-3", millis).parse().ok();
        json!({ IN_SECONDS: seconds })
    }

    /// Returns a rich text in its stored form with names in place of the gids in its links; `None` if it links to an object
    /// that is not part of the fixture. The other attributes of links follow from the gids.
    pub(crate) fn html(&self, stored: &str) -> Option<String> {
        let (mut out, mut rest) = (String::with_capacity(stored.len()), stored);
        while let Some((before, after)) = rest.split_once(LINK.0) {
            let (gid, after) = after.split_once(LINK.1)?;
            let label = self.label(Gid::parse(gid)?)?;
            let (before, tag) = before.rsplit_once('<')?;
            let (tag, _) = tag.split_once(' ')?;
            let (more, after) = after.split_once('>')?;
            let end = if more.ends_with('/') { "/>" } else { ">" };
            out.push_str(before);
            out.push_str(&format!(
                "<{tag} {}{REFERENCE}{label}{}{end}",
                LINK.0, LINK.1
            ));
            rest = after;
        }
        out.push_str(rest);
        Some(out)
    }
}

/// Returns a text in the form of a fixture: if it begins with the sign of a name, the sign is doubled.
pub(crate) fn plain(text: &str) -> Value {
    match text.starts_with(REFERENCE) {
        true => format!("{REFERENCE}{text}").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::fixture_names::FixtureNames;

    fn labels() -> FixtureLabels {
        FixtureLabels::new(Time::parse("2026-03-02T09:30:00.000Z").unwrap())
    }

    fn gid(number: u64) -> Gid {
        Gid::new(number).unwrap()
    }

    #[test]
    fn each_name_stands_for_one_object() {
        let mut labels = labels();
        assert!(labels.reserve("Plan (2)"));
        assert_eq!(labels.add(gid(1), "Plan", "task"), "Plan");
        assert_eq!(labels.add(gid(2), "Plan", "task"), "Plan (3)");
        assert_eq!(labels.add(gid(3), "@ \"x\"", "task"), " 'x'");
        assert_eq!(labels.add(gid(4), "@@", "task"), "task");
        assert_eq!(labels.add_below("P/", (gid(5), "Plan"), "section"), "Plan");
        assert_eq!(labels.reference(gid(5)), Some("@P/Plan".into()));
        assert_eq!(labels.reference(gid(6)), None);
        assert_eq!(plain("@x"), "@@x");
    }

    #[test]
    fn what_stands_for_a_value_is_resolved_to_it() {
        let mut labels = labels();
        labels.add(gid(7), "Ann", "person");
        let mut names = FixtureNames::new(labels.now.to_system());
        names.add("Ann", "7".to_owned());
        let html = "<body>x <a data-asana-gid=\"7\"/></body>";
        for (field, value, exported) in [
            ("due_on", "2026-02-27", labels.day("2026-02-27")),
            (
                "due_at",
                "2026-03-04T09:30:00.000Z",
                labels.time("2026-03-04T09:30:00.000Z"),
            ),
            (
                "due_at",
                "2026-03-02T09:00:00.000Z",
                labels.time("2026-03-02T09:00:00.000Z"),
            ),
            (
                "start_at",
                "2026-03-01T23:59:59.999Z",
                labels.time("2026-03-01T23:59:59.999Z"),
            ),
            ("notes", "@Ann", plain("@Ann")),
            ("html_notes", html, labels.html(html).unwrap().into()),
        ] {
            assert_ne!(exported, value, "{field}");
            assert_eq!(names.resolved(field, exported).unwrap(), value, "{field}");
        }
        assert_eq!(labels.html("<body><a data-asana-gid=\"8\"/></body>"), None);
        let stored = "<body><a href=\"https://x\">x</a><a href=\"https://7\" data-asana-gid=\"7\" data-x=\"y\"></a></body>";
        let named = "<body><a href=\"https://x\">x</a><a data-asana-gid=\"@Ann\"></a></body>";
        assert_eq!(labels.html(stored), Some(named.to_owned()));
    }
}
