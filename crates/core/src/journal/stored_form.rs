//! Stored form of a commit: its change records as one JSON array.
//!
//! `[[gid, type, "a", parent], [gid, type, "r", parent], [gid, type, "c", field, added, removed], [gid, type, "d"]]`; missing
//! values are null. The contexts of the nodes are stored beside it: `[[gid, type, subtype, within...]]`.
use crate::model::gid::Gid;
use crate::model::node::json_string;
use crate::model::registry::Type;
use crate::model::resources::resource;
use crate::storage::{ChangeAction, ChangeRecord, NodeContext};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Returns the stored form of change records.
#[must_use]
pub fn write(change_records: &[ChangeRecord]) -> String {
    let mut out = String::with_capacity(2 + change_records.len() * 64);
    for change in change_records {
        begin_row(&mut out, change.gid, change.ty);
        match &change.action {
            ChangeAction::Added { parent } => {
                out.push_str(",\"a\"");
                push_gid(&mut out, *parent);
            }
            ChangeAction::Removed { parent } => {
                out.push_str(",\"r\"");
                push_gid(&mut out, Some(*parent));
            }
            ChangeAction::Changed {
                field,
                added,
                removed,
            } => {
                out.push_str(",\"c\",");
                out.push_str(&json_string(field));
                push_gid(&mut out, *added);
                push_gid(&mut out, *removed);
            }
            ChangeAction::Deleted => out.push_str(",\"d\""),
        }
        out.push(']');
    }
    end_rows(out)
}

/// Begins the row of a node.
fn begin_row(out: &mut String, gid: Gid, ty: Type) {
    out.push_str(if out.is_empty() { "[[" } else { ",[" });
    gid.push_to(out);
    out.push(',');
    out.push_str(itoa::Buffer::new().format(ty as u8));
}

/// Appends a gid, or null, to a row.
fn push_gid(out: &mut String, gid: Option<Gid>) {
    out.push(',');
    match gid {
        Some(gid) => gid.push_to(out),
        None => out.push_str("null"),
    }
}

/// Ends an array of rows.
fn end_rows(mut rows: String) -> String {
    rows.push_str(if rows.is_empty() { "[]" } else { "]" });
    rows
}

/// Returns the stored form of node contexts.
#[must_use]
pub fn write_nodes(nodes: &[NodeContext]) -> String {
    let mut out = String::with_capacity(2 + nodes.len() * 64);
    for about in nodes {
        begin_row(&mut out, about.gid, about.ty);
        out.push(',');
        match &about.subtype {
            Some(subtype) => out.push_str(&json_string(subtype)),
            None => out.push_str("null"),
        }
        for gid in &about.containers {
            push_gid(&mut out, Some(*gid));
        }
        out.push(']');
    }
    end_rows(out)
}

/// Reads node contexts from their stored form; `None` if the text is in another form.
#[must_use]
pub fn read_nodes(text: &str) -> Option<Vec<NodeContext>> {
    let all: Vec<Vec<Value>> = serde_json::from_str(text).ok()?;
    let about = |row: &Vec<Value>| {
        let [gid, ty, subtype, within @ ..] = row.as_slice() else {
            return None;
        };
        let subtype = match subtype {
            Value::Null => None,
            text => Some(text.as_str()?.into()),
        };
        let within = within.iter().map(|v| Gid::new(v.as_u64()?));
        Some(NodeContext {
            gid: Gid::new(gid.as_u64()?)?,
            ty: Type::from_code(u8::try_from(ty.as_u64()?).ok()?)?,
            subtype,
            containers: within.collect::<Option<_>>()?,
        })
    };
    all.iter().map(about).collect()
}

/// Reads change records from their stored form; `None` if the text is in another form.
#[must_use]
pub fn read(text: &str) -> Option<Vec<ChangeRecord>> {
    let all: Vec<Vec<Value>> = serde_json::from_str(text).ok()?;
    all.iter().map(|row| change_of(row)).collect()
}

fn change_of(row: &[Value]) -> Option<ChangeRecord> {
    let maybe = |v: &Value| match v {
        Value::Null => Some(None),
        v => Gid::new(v.as_u64()?).map(Some),
    };
    let [gid, ty, kind, rest @ ..] = row else {
        return None;
    };
    let (gid, ty) = (
        maybe(gid)??,
        Type::from_code(u8::try_from(ty.as_u64()?).ok()?)?,
    );
    let action = match (kind.as_str()?, rest) {
        ("a", [parent]) => ChangeAction::Added {
            parent: maybe(parent)?,
        },
        ("r", [parent]) => ChangeAction::Removed {
            parent: maybe(parent)??,
        },
        ("c", [field, added, removed]) => ChangeAction::Changed {
            field: field_name(ty, field.as_str()?),
            added: maybe(added)?,
            removed: maybe(removed)?,
        },
        ("d", []) => ChangeAction::Deleted,
        _ => return None,
    };
    Some(ChangeRecord { gid, ty, action })
}

/// Returns the name of a field from the registry. Unregistered names are kept forever, once each: they come from literals in
/// the rules, so there are few.
fn field_name(ty: Type, name: &str) -> &'static str {
    if let Some(def) = resource(ty).field(name) {
        return def.name;
    }
    static OTHERS: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    let others = others.get_or_insert_default();
    if let Some(known) = others.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    others.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_as_they_were() {
        let gid = |n| Gid::new(n).unwrap();
        let largest = gid((1 << 53) - 1);
        let changed = |field, added, removed| ChangeAction::Changed {
            field,
            added,
            removed,
        };
        let facts: Vec<ChangeRecord> = [
            ChangeAction::Added { parent: None },
            ChangeAction::Added {
                parent: Some(largest),
            },
            ChangeAction::Removed { parent: gid(3) },
            changed("name", None, None),
            changed("a field \"rules\" made up", Some(gid(1)), Some(largest)),
            ChangeAction::Deleted,
        ]
        .into_iter()
        .map(|action| ChangeRecord {
            gid: largest,
            ty: Type::Task,
            action,
        })
        .collect();
        let text = format!(
            "[{}]",
            [
                r#"[9007199254740991,9,"a",null]"#,
                r#"[9007199254740991,9,"a",9007199254740991]"#,
                r#"[9007199254740991,9,"r",3]"#,
                r#"[9007199254740991,9,"c","name",null,null]"#,
                r#"[9007199254740991,9,"c","a field \"rules\" made up",1,9007199254740991]"#,
                r#"[9007199254740991,9,"d"]"#,
            ]
            .join(",")
        );
        assert_eq!(
            write(&facts),
            text.replace(",9,", &format!(",{},", Type::Task as u8))
        );
        assert_eq!(read(&text), Some(facts));
        assert_eq!(write(&[]), "[]");
        assert_eq!(read("[]"), Some(Vec::new()));
    }

    #[test]
    fn what_is_known_of_nodes_comes_back_as_it_was() {
        let gid = |n| Gid::new(n).unwrap();
        let nodes = [
            NodeContext {
                gid: gid((1 << 53) - 1),
                ty: Type::Story,
                subtype: Some("a \"subtype\"".into()),
                containers: vec![gid(1), gid(2)],
            },
            NodeContext {
                gid: gid(1),
                ty: Type::Task,
                subtype: None,
                containers: Vec::new(),
            },
        ];
        assert_eq!(read_nodes(&write_nodes(&nodes)).unwrap(), nodes);
        assert_eq!(read_nodes("[]").unwrap(), []);
        for bad in [
            "",
            "{}",
            "[[]]",
            "[[1,9]]",
            "[[0,9,null]]",
            "[[1,99,null]]",
            "[[1,9,2]]",
        ] {
            assert_eq!(read_nodes(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_not_a_list_of_facts_is_not_read() {
        for bad in [
            "",
            "{}",
            "[[]]",
            "[[1,9]]",
            "[[0,9,\"d\"]]",
            "[[1,99,\"d\"]]",
            "[[1,9,\"x\"]]",
            "[[1,9,\"r\",null]]",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
