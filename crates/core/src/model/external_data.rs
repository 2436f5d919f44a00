//! External data: a text and an id that an app keeps with a task, each app for itself.
//!
//! The body of a task has one object for all apps, with a member `{gid, data}` for each. Versions before 0.2 stored a single
//! `{gid, data}`. Its app is unknown: every app sees it, until one writes its own.
use crate::model::json_members::{member, members};
use crate::model::node::{decode_json_string, json_string};
use std::borrow::Cow;

/// Longest id, in characters.
pub const ID_MAX: u32 = 1024;
/// Longest text, in characters.
pub const DATA_MAX: u32 = 32_768;

/// Data that one app keeps with a task. Both parts are in their stored form: JSON texts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExternalData {
    gid: Option<String>,
    data: Option<String>,
}

impl ExternalData {
    /// Returns the data that an app sees in the object of all apps.
    #[must_use]
    pub fn read(all: Option<&str>, app: u64) -> Self {
        let own = all.and_then(|all| of(all, app)).unwrap_or_default();
        let part = |name: &str| member(own, name).map(str::to_owned);
        Self {
            gid: part("gid"),
            data: part("data"),
        }
    }

    /// Returns the id that the app gave the task.
    #[must_use]
    pub fn id(&self) -> Option<Cow<'_, str>> {
        self.gid.as_deref().map(decode_json_string)
    }

    /// Sets the id, or removes it.
    pub fn set_id(&mut self, id: Option<&str>) {
        self.gid = id.map(json_string);
    }

    /// Sets or removes the text.
    pub fn set_data(&mut self, data: Option<&str>) {
        self.data = data.map(json_string);
    }

    /// Returns the object of all apps with this data as the app's member; null if no app keeps any data.
    #[must_use]
    pub fn write(&self, all: Option<&str>, app: u64) -> String {
        let app = app.to_string();
        let others = all.filter(|all| !is_of_nobody(all)).unwrap_or_default();
        let others = members(others).filter(|(key, _)| *key != app);
        let mut members: Vec<String> = others
            .map(|(key, own)| format!("\"{key}\":{own}"))
            .collect();
        let parts = [("gid", &self.gid), ("data", &self.data)];
        let parts = parts.map(|(name, raw)| raw.as_ref().map(|raw| format!("\"{name}\":{raw}")));
        let own: Vec<String> = parts.into_iter().flatten().collect();
        if !own.is_empty() {
            members.push(format!("\"{app}\":{{{}}}", own.join(",")));
        }
        if members.is_empty() {
            return "null".to_owned();
        }
        format!("{{{}}}", members.join(","))
    }
}

/// Returns the member of an app, as JSON, in the object of all apps.
pub(crate) fn of(all: &str, app: u64) -> Option<&str> {
    if is_of_nobody(all) {
        return Some(all);
    }
    member(all, &app.to_string())
}

/// Returns true if an older version wrote the object, which names no app.
fn is_of_nobody(all: &str) -> bool {
    members(all)
        .next()
        .is_some_and(|(key, _)| matches!(key, "gid" | "data"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(gid: Option<&str>, data: Option<&str>) -> ExternalData {
        let mut external = ExternalData::default();
        external.set_id(gid);
        external.set_data(data);
        external
    }

    #[test]
    fn each_app_has_its_own_and_leaves_that_of_others_alone() {
        let one = kept(Some("a \"1\""), Some("x")).write(None, 7);
        let two = kept(Some("b"), None).write(Some(&one), 8);
        assert_eq!(of(&two, 7), Some(r#"{"gid":"a \"1\"","data":"x"}"#));
        assert_eq!(of(&two, 8), Some(r#"{"gid":"b"}"#));
        assert_eq!(of(&two, 78), None);
        assert_eq!(ExternalData::read(Some(&two), 7).id().unwrap(), "a \"1\"");
        let gone = ExternalData::default().write(Some(&two), 7);
        assert_eq!(gone, r#"{"8":{"gid":"b"}}"#);
        assert_eq!(ExternalData::default().write(Some(&gone), 8), "null");
    }

    #[test]
    fn what_an_older_version_wrote_is_seen_by_all_until_an_app_writes_its_own() {
        let old = r#"{"gid":"a","data":"x"}"#;
        assert_eq!(of(old, 7), Some(old));
        let mut mine = ExternalData::read(Some(old), 7);
        mine.set_data(None);
        let new = mine.write(Some(old), 7);
        assert_eq!(new, r#"{"7":{"gid":"a"}}"#);
        assert_eq!(of(&new, 8), None);
        assert_eq!(ExternalData::default().write(Some(old), 7), "null");
    }
}
