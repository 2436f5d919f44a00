//! Drafts: new nodes, or next versions of nodes, before they are written.
use crate::model::gid::Gid;
use crate::model::json_members::members;
use crate::model::node::{Node, json_string};
use crate::model::node_head::head;
use crate::model::readable::Readable;
use crate::model::registry::{ByType, FieldSource, LinkOne, Relation, Type, TypedField};
use crate::model::resources::resource;
use crate::model::time::{Date, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// A new node, or the next version of one.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Gid of the node.
    pub gid: Gid,
    /// Type of the node.
    pub ty: Type,
    /// Workspace that the node belongs to; `None` for users and workspaces.
    pub workspace: Option<Gid>,
    version: u64,
    values: BTreeMap<&'static str, String>,
    /// Stored keys whose value differs from the previous one, with the previous value.
    before: BTreeMap<&'static str, Option<String>>,
}

impl Draft {
    /// Returns a draft of a new node.
    #[must_use]
    pub fn new(ty: Type, gid: Gid, workspace: Option<Gid>) -> Self {
        Self {
            gid,
            ty,
            workspace,
            version: 0,
            values: BTreeMap::new(),
            before: BTreeMap::new(),
        }
    }

    /// Returns a draft of the next version of a node.
    #[must_use]
    pub fn edit(node: &Node) -> Self {
        let known = keys(node.ty);
        let values = members(&node.body)
            .filter_map(|(k, v)| {
                let (known, _) = known.get_key_value(k)?;
                Some((*known, v.to_owned()))
            })
            .collect();
        Self {
            gid: node.gid,
            ty: node.ty,
            workspace: node.workspace,
            version: node.version,
            values,
            before: BTreeMap::new(),
        }
    }

    /// Returns true if the draft creates the node.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.version == 0
    }

    /// Returns the value that a field will have.
    #[must_use]
    pub fn get<K: Readable + ?Sized>(&self, field: TypedField<K>) -> K::Value<'_> {
        let raw = key(field.def.source)
            .and_then(|k| self.values.get(k))
            .map(String::as_str);
        K::read(raw.unwrap_or(field.def.default))
    }

    /// Sets the value of a field.
    pub fn set<K: StoredAs<T> + ?Sized, T>(&mut self, field: TypedField<K>, value: T) {
        if let Some(key) = key(field.def.source) {
            self.set_raw(key, field.def.default, K::raw(value));
        }
    }

    /// Returns the stored value of a key, if it has one other than the default.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// Sets the value of a stored key, which must be normalised JSON; a default is not stored.
    pub fn set_raw(&mut self, key: &'static str, default: &str, raw: String) {
        let old = if raw == default {
            self.values.remove(key)
        } else {
            self.values.insert(key, raw)
        };
        if self.values.get(key) != old.as_ref() {
            let first = self.before.entry(key).or_insert(old);
            if first.as_ref() == self.values.get(key) {
                self.before.remove(key);
            }
        }
    }

    /// Removes the value of a field, which then has its default.
    pub fn clear<K: ?Sized>(&mut self, field: TypedField<K>) {
        if let Some(key) = key(field.def.source) {
            self.set_raw(key, field.def.default, field.def.default.to_owned());
        }
    }

    /// Copies the value of a field from a node.
    pub fn take<K: ?Sized>(&mut self, field: TypedField<K>, node: &Node) {
        if let Some(key) = key(field.def.source) {
            let raw = node.raw(key).unwrap_or(field.def.default);
            self.set_raw(key, field.def.default, raw.to_owned());
        }
    }

    /// Returns true if a field's value differs from the previous one.
    #[must_use]
    pub fn changed<K: ?Sized>(&self, field: TypedField<K>) -> bool {
        key(field.def.source).is_some_and(|k| self.before.contains_key(k))
    }

    /// Returns the previous value of a field.
    #[must_use]
    pub fn before<K: Readable + ?Sized>(&self, field: TypedField<K>) -> K::Value<'_> {
        let Some(key) = key(field.def.source) else {
            return K::read(field.def.default);
        };
        let raw = match self.before.get(key) {
            Some(old) => old.as_deref(),
            None => self.values.get(key).map(String::as_str),
        };
        K::read(raw.unwrap_or(field.def.default))
    }

    /// Returns the draft without its changes; `None` for a new node.
    #[must_use]
    pub fn previous(&self) -> Option<Self> {
        if self.is_new() {
            return None;
        }
        let mut previous = self.clone();
        for (key, value) in std::mem::take(&mut previous.before) {
            match value {
                Some(value) => previous.values.insert(key, value),
                None => previous.values.remove(key),
            };
        }
        Some(previous)
    }

    /// Returns the stored keys with changed values.
    pub fn changed_keys(&self) -> impl Iterator<Item = &'static str> {
        self.before.keys().copied()
    }

    /// Returns the node that a stored key links to, if that field is a link and not empty.
    #[must_use]
    pub(crate) fn linked(&self, name: &str) -> Option<Gid> {
        let def = resource(self.ty).field(name)?;
        match def.source {
            FieldSource::Inline(key) => Gid::parse(self.values.get(key)?.trim_matches('"')),
            _ => None,
        }
    }

    /// Returns the changed links that the linked nodes list: each with its relation, the previous node and the current one.
    pub(crate) fn changed_links(
        &self,
    ) -> impl Iterator<Item = (Relation, Option<Gid>, Option<Gid>)> {
        let gid = |raw: &str| Gid::parse(raw.trim_matches('"'));
        let of = resource(self.ty);
        let moved = of
            .ordered_by
            .is_some_and(|key| self.before.contains_key(key));
        of.fields.iter().filter_map(move |def| {
            let (rel, key) = (def.listed_by?, key(def.source)?);
            let now = self.values.get(key).map(String::as_str).and_then(gid);
            match self.before.get(key) {
                Some(before) => Some((rel, before.as_deref().and_then(gid), now)),
                None => moved.then_some((rel, None, now)),
            }
        })
    }

    /// Returns the rank of the record in the lists of the nodes that it links to.
    pub(crate) fn rank(&self) -> i64 {
        let day = resource(self.ty).ordered_by;
        let day = day.and_then(|key| Date::read(self.values.get(key)?));
        day.map_or(0, |day| day.days().into())
    }

    /// Returns the node with all changes, ready to be written.
    #[must_use]
    pub fn finish(&self) -> Node {
        let r = resource(self.ty);
        let mut body =
            String::with_capacity(64 + self.values.values().map(|v| v.len() + 24).sum::<usize>());
        let known = keys(self.ty);
        // Only the keys that have a value; most have none. Keys without a position come last, by name.
        let position = |key: &str| known.get(key).copied().unwrap_or(usize::MAX);
        let values = self.values.iter();
        let mut set: Vec<_> = values.map(|(key, v)| (position(key), *key, v)).collect();
        set.sort_unstable_by_key(|(position, key, _)| (*position, *key));
        for (_, key, value) in set {
            body.push(if body.is_empty() { '{' } else { ',' });
            body.push('"');
            body.push_str(key);
            body.push_str("\":");
            body.push_str(value);
        }
        body.push_str(if body.is_empty() { "{}" } else { "}" });
        let default = |name: &str| r.field(name).map_or("null", |d| d.default);
        let title = r
            .title
            .map(|k| self.values.get(k).map_or(default(k), String::as_str));
        let subtype = self
            .values
            .get("resource_subtype")
            .map_or(default("resource_subtype"), String::as_str);
        let more = r.fields.iter().filter(|d| d.head).map(|d| {
            let value = self.values.get(d.name);
            (d.name, value.map_or(d.default, String::as_str))
        });
        Node {
            gid: self.gid,
            ty: self.ty,
            workspace: self.workspace,
            version: self.version + 1,
            head: head(self.ty, self.gid, title, Some(subtype), more).into(),
            body: body.into(),
        }
    }
}

/// Stored keys of a type with their positions: first the keys of public fields in record order, then internal keys.
type KeyPositions = FxHashMap<&'static str, usize>;

/// Returns the stored keys of a type.
fn keys(ty: Type) -> &'static KeyPositions {
    static KEYS: OnceLock<ByType<KeyPositions>> = OnceLock::new();
    static NONE: LazyLock<KeyPositions> = LazyLock::new(KeyPositions::default);
    let all = KEYS.get_or_init(|| {
        ByType::new(|ty| {
            let mut keys = KeyPositions::default();
            let private = [
                "plan",
                "created_by",
                "is_edited",
                "custom_field",
                "job",
                "frozen",
                "status",
                "completed_at",
                "numbered_by",
                "new_reference_value",
                "attachment",
                "url",
                "file",
                "app",
                "access_from",
                "membership",
                "vacation_dates",
                "custom_type",
                "states",
                "target_gid",
                "given_by",
            ];
            let public = resource(ty).fields.iter().filter_map(|d| key(d.source));
            for key in public.chain(private) {
                let position = keys.len();
                keys.entry(key).or_insert(position);
            }
            keys
        })
    });
    all.get(ty).unwrap_or(&NONE)
}

fn key(source: FieldSource) -> Option<&'static str> {
    match source {
        FieldSource::Stored(key)
        | FieldSource::Inline(key)
        | FieldSource::Gids(key)
        | FieldSource::Values(key)
        | FieldSource::PerApp(key) => Some(key),
        _ => None,
    }
}

/// Conversion of the values that a typed key takes to their stored form.
pub trait StoredAs<T> {
    /// Returns the value as normalised JSON.
    fn raw(value: T) -> String;
}

impl StoredAs<&str> for str {
    fn raw(value: &str) -> String {
        json_string(value)
    }
}
impl StoredAs<Option<&str>> for str {
    fn raw(value: Option<&str>) -> String {
        value.map_or_else(|| "null".to_owned(), json_string)
    }
}
impl StoredAs<Self> for bool {
    fn raw(value: Self) -> String {
        value.to_string()
    }
}
impl StoredAs<Self> for i64 {
    fn raw(value: Self) -> String {
        value.to_string()
    }
}
impl StoredAs<Option<Self>> for Time {
    fn raw(value: Option<Self>) -> String {
        value.map_or_else(|| "null".to_owned(), |t| format!("\"{t}\""))
    }
}
impl StoredAs<Self> for Time {
    fn raw(value: Self) -> String {
        format!("\"{value}\"")
    }
}
impl StoredAs<Option<Self>> for Date {
    fn raw(value: Option<Self>) -> String {
        value.map_or_else(|| "null".to_owned(), |t| format!("\"{t}\""))
    }
}
impl StoredAs<Gid> for LinkOne {
    fn raw(value: Gid) -> String {
        let mut raw = String::with_capacity(20);
        raw.push('"');
        value.push_to(&mut raw);
        raw.push('"');
        raw
    }
}
impl StoredAs<Option<Gid>> for LinkOne {
    fn raw(value: Option<Gid>) -> String {
        value.map_or_else(|| "null".to_owned(), <Self as StoredAs<Gid>>::raw)
    }
}
impl StoredAs<String> for crate::model::registry::Opaque {
    fn raw(value: String) -> String {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::resources::{story, task};

    #[test]
    fn defaults_are_not_stored_and_read_back_as_defaults() {
        let mut draft = Draft::new(Type::Task, Gid::new(7).unwrap(), None);
        draft.set(task::NAME, "a \"b\"");
        draft.set(task::COMPLETED, false);
        draft.set(task::DUE_ON, None);
        let node = draft.finish();
        assert_eq!(&*node.body, r#"{"name":"a \"b\""}"#);
        assert_eq!(
            &*node.head,
            r#"{"gid":"7","name":"a \"b\"","resource_type":"task","resource_subtype":"default_task"}"#
        );
        assert!(!node.get(task::COMPLETED));
        assert_eq!(node.get(task::NAME).unwrap(), "a \"b\"");
    }

    #[test]
    fn a_draft_knows_what_changed_and_what_was_before() {
        let mut draft = Draft::new(Type::Task, Gid::new(7).unwrap(), None);
        draft.set(task::NAME, "old");
        let node = draft.finish();
        let mut edit = Draft::edit(&node);
        edit.set(task::NAME, "new");
        assert!(edit.changed(task::NAME));
        assert_eq!(edit.before(task::NAME).unwrap(), "old");
        edit.set(task::NAME, "old");
        assert!(!edit.changed(task::NAME), "back to what it was");
        assert_eq!(edit.finish().version, 2);
    }

    #[test]
    fn a_node_without_title_has_a_head_without_name() {
        let mut draft = Draft::new(Type::Story, Gid::new(8).unwrap(), None);
        draft.set(story::SUBTYPE, story::COMMENT);
        assert_eq!(
            &*draft.finish().head,
            r#"{"gid":"8","resource_type":"story","resource_subtype":"comment_added"}"#
        );
    }
}
