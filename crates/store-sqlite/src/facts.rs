//! How the journal keeps what happened: one JSON array per commit.
//!
//! `[[gid, type, "a", parent], [gid, type, "r", parent], [gid, type, "c", field, added, removed],
//! [gid, type, "d"]]`; what there is none of is null.
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use workgraph_core::gid::Gid;
use workgraph_core::graph::{Action, Fact};
use workgraph_core::registry::Type;
use workgraph_core::resources::resource;

/// The stored form.
pub(crate) fn write(facts: &[Fact]) -> String {
    let all: Vec<Value> = facts.iter().map(one).collect();
    Value::from(all).to_string()
}

fn one(fact: &Fact) -> Value {
    let (gid, ty) = (fact.gid.get(), fact.ty as u8);
    let number = |g: &Option<Gid>| g.map(Gid::get);
    match &fact.action {
        Action::Added { parent } => json!([gid, ty, "a", number(parent)]),
        Action::Removed { parent } => json!([gid, ty, "r", parent.get()]),
        Action::Changed {
            field,
            added,
            removed,
        } => json!([gid, ty, "c", field, number(added), number(removed)]),
        Action::Deleted => json!([gid, ty, "d"]),
    }
}

/// Reads the stored form; `None` if it is not one.
pub(crate) fn read(text: &str) -> Option<Vec<Fact>> {
    let all: Vec<Vec<Value>> = serde_json::from_str(text).ok()?;
    all.iter().map(|row| fact(row)).collect()
}

fn fact(row: &[Value]) -> Option<Fact> {
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
        ("a", [parent]) => Action::Added {
            parent: maybe(parent)?,
        },
        ("r", [parent]) => Action::Removed {
            parent: maybe(parent)??,
        },
        ("c", [field, added, removed]) => Action::Changed {
            field: field_name(ty, field.as_str()?),
            added: maybe(added)?,
            removed: maybe(removed)?,
        },
        ("d", []) => Action::Deleted,
        _ => return None,
    };
    Some(Fact { gid, ty, action })
}

/// The name as the registry has it. Names that are not in it are kept for ever, once each: they
/// come from literals in the rules, so there are few.
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
        let changed = |field, added, removed| Action::Changed {
            field,
            added,
            removed,
        };
        let facts: Vec<Fact> = [
            Action::Added { parent: None },
            Action::Added {
                parent: Some(largest),
            },
            Action::Removed { parent: gid(3) },
            changed("name", None, None),
            changed("a field \"rules\" made up", Some(gid(1)), Some(largest)),
            Action::Deleted,
        ]
        .into_iter()
        .map(|action| Fact {
            gid: largest,
            ty: Type::Task,
            action,
        })
        .collect();
        assert_eq!(read(&write(&facts)), Some(facts));
        assert_eq!(read(&write(&[])), Some(Vec::new()));
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
