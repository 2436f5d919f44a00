//! What apps keep with a task, each for itself: a text, and an id that the app calls the task by.
//!
//! The body of a task has one object for all apps, with a member `{gid, data}` for each. Versions before 0.2 had one
//! `{gid, data}` for all apps. Nobody knows whose that is: every app sees it, until one writes its own.
use crate::node::{decode, entries, quoted};
use std::borrow::Cow;

/// Longest id, in characters.
pub const ID_MAX: u32 = 1024;
/// Longest text, in characters.
pub const DATA_MAX: u32 = 32_768;

/// What one app keeps with a task. Both parts are as they are stored: JSON texts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct External {
    gid: Option<String>,
    data: Option<String>,
}

impl External {
    /// What an app sees in the object of all apps.
    #[must_use]
    pub fn read(all: Option<&str>, app: u64) -> Self {
        let own = all.and_then(|all| of(all, app)).unwrap_or_default();
        let part = |name: &str| {
            let mut parts = entries(own);
            parts
                .find(|(key, _)| *key == name)
                .map(|(_, raw)| raw.to_owned())
        };
        Self {
            gid: part("gid"),
            data: part("data"),
        }
    }

    /// The id, if there is one.
    #[must_use]
    pub fn id(&self) -> Option<Cow<'_, str>> {
        self.gid.as_deref().map(decode)
    }

    /// Gives it another id, or none.
    pub fn set_id(&mut self, id: Option<&str>) {
        self.gid = id.map(quoted);
    }

    /// Gives it another text, or none.
    pub fn set_data(&mut self, data: Option<&str>) {
        self.data = data.map(quoted);
    }

    /// The object of all apps in which this is what the app keeps; null if nobody keeps anything.
    #[must_use]
    pub fn write(&self, all: Option<&str>, app: u64) -> String {
        let app = app.to_string();
        let others = all.filter(|all| !is_of_nobody(all)).unwrap_or_default();
        let others = entries(others).filter(|(key, _)| *key != app);
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

/// The member of an app, as JSON, in the object of all apps.
pub(crate) fn of(all: &str, app: u64) -> Option<&str> {
    if is_of_nobody(all) {
        return Some(all);
    }
    let app = app.to_string();
    entries(all)
        .find(|(key, _)| *key == app)
        .map(|(_, own)| own)
}

/// Whether an older version wrote it, for no app.
fn is_of_nobody(all: &str) -> bool {
    entries(all)
        .next()
        .is_some_and(|(key, _)| matches!(key, "gid" | "data"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(gid: Option<&str>, data: Option<&str>) -> External {
        let mut external = External::default();
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
        assert_eq!(External::read(Some(&two), 7).id().unwrap(), "a \"1\"");
        let gone = External::default().write(Some(&two), 7);
        assert_eq!(gone, r#"{"8":{"gid":"b"}}"#);
        assert_eq!(External::default().write(Some(&gone), 8), "null");
    }

    #[test]
    fn what_an_older_version_wrote_is_seen_by_all_until_an_app_writes_its_own() {
        let old = r#"{"gid":"a","data":"x"}"#;
        assert_eq!(of(old, 7), Some(old));
        let mut mine = External::read(Some(old), 7);
        mine.set_data(None);
        let new = mine.write(Some(old), 7);
        assert_eq!(new, r#"{"7":{"gid":"a"}}"#);
        assert_eq!(of(&new, 8), None);
        assert_eq!(External::default().write(Some(old), 7), "null");
    }
}
