//! Fields whose names have brackets: `followers[]=1`, `filters[0][action]=added`, `external[gid]=a`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::query_params::{QueryError, QueryProblem};

/// Maximum number of brackets in one name.
pub const BRACKETS_MAX: usize = 5;

/// Content of one pair of brackets.
enum BracketKey<'n> {
    /// Nothing: the next item of a list.
    Next,
    /// The number of an item.
    Item(u32),
    /// The name of a part.
    Part(&'n str),
}

/// Value that is being built from fields.
enum BracketValue {
    Text(String),
    /// Items of an array, in order, without numbers.
    Next(Vec<Self>),
    /// Items by number, possibly with gaps.
    Items(BTreeMap<u32, Self>),
    Parts(BTreeMap<String, Self>),
}

/// Returns the name of the whole field: the part before the brackets.
#[must_use]
pub fn field_of(name: &str) -> &str {
    name.split_once('[').map_or(name, |(field, _)| field)
}

/// Parses the fields as one JSON object. Every value is a string. Brackets name the items of an array, in
/// numerical order, or the parts of an object. A number is the name of a part if `keyed` returns true
/// for the field, as for a map of gids.
///
/// # Errors
/// Fails if brackets are malformed or too many, or if a value is given twice or in two ways.
pub fn nested<'p>(
    pairs: impl Iterator<Item = (&'p str, &'p str)>,
    keyed: impl Fn(&str) -> bool,
) -> Result<Map<String, Value>, QueryError> {
    let mut fields = BTreeMap::new();
    for (name, value) in pairs {
        let (field, keys) = keys(name, &keyed)?;
        let wrong = |problem| QueryError::new(name, problem);
        put(fields.entry(field.to_owned()), &keys, value).map_err(wrong)?;
    }
    Ok(object(fields))
}

/// Splits a name into its field and the contents of its brackets.
fn keys<'n>(
    name: &'n str,
    keyed: &impl Fn(&str) -> bool,
) -> Result<(&'n str, Vec<BracketKey<'n>>), QueryError> {
    let wrong = || QueryError::new(name, QueryProblem::Brackets);
    let Some((field, rest)) = name.split_once('[') else {
        return Ok((name, Vec::new()));
    };
    let inner = rest.strip_suffix(']').ok_or_else(wrong)?;
    if field.is_empty() || field.contains(']') {
        return Err(wrong());
    }
    let mut keys = Vec::new();
    for key in inner.split("][") {
        if key.contains(['[', ']']) || keys.len() == BRACKETS_MAX {
            return Err(wrong());
        }
        let number = key.bytes().all(|b| b.is_ascii_digit());
        let name = keys.is_empty() && keyed(field);
        keys.push(match key.parse() {
            _ if key.is_empty() => BracketKey::Next,
            Ok(item) if number && !name => BracketKey::Item(item),
            _ => BracketKey::Part(key),
        });
    }
    // It is ambiguous whether brackets after `[]` belong to the previous item or to a new one.
    let last = keys.len().saturating_sub(1);
    let next = keys.iter().position(|key| matches!(key, BracketKey::Next));
    if next.is_some_and(|at| at < last) {
        return Err(wrong());
    }
    Ok((field, keys))
}

/// Puts a value at the position given by its keys.
fn put<K: Ord>(
    at: std::collections::btree_map::Entry<'_, K, BracketValue>,
    keys: &[BracketKey<'_>],
    value: &str,
) -> Result<(), QueryProblem> {
    use std::collections::btree_map::Entry;
    let node = match (at, keys.first()) {
        (Entry::Occupied(_), None) => return Err(QueryProblem::Repeated),
        (Entry::Vacant(at), None) => {
            at.insert(BracketValue::Text(value.to_owned()));
            return Ok(());
        }
        (Entry::Occupied(at), Some(_)) => at.into_mut(),
        (Entry::Vacant(at), Some(key)) => at.insert(match key {
            BracketKey::Next => BracketValue::Next(Vec::new()),
            BracketKey::Item(_) => BracketValue::Items(BTreeMap::new()),
            BracketKey::Part(_) => BracketValue::Parts(BTreeMap::new()),
        }),
    };
    let rest = keys.get(1..).unwrap_or_default();
    match (node, keys.first()) {
        (BracketValue::Next(items), Some(BracketKey::Next)) => {
            items.push(BracketValue::Text(value.to_owned()));
            Ok(())
        }
        (BracketValue::Items(items), Some(BracketKey::Item(number))) => {
            put(items.entry(*number), rest, value)
        }
        (BracketValue::Parts(parts), Some(BracketKey::Part(name))) => {
            put(parts.entry((*name).to_owned()), rest, value)
        }
        _ => Err(QueryProblem::Conflicting),
    }
}

fn object(parts: BTreeMap<String, BracketValue>) -> Map<String, Value> {
    let parts = parts.into_iter();
    parts.map(|(name, node)| (name, node.into())).collect()
}

impl From<BracketValue> for Value {
    fn from(node: BracketValue) -> Self {
        match node {
            BracketValue::Text(text) => Self::String(text),
            BracketValue::Next(items) => items.into_iter().map(Self::from).collect(),
            BracketValue::Items(items) => items.into_values().map(Self::from).collect(),
            BracketValue::Parts(parts) => Self::Object(object(parts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(fields: &[(&str, &str)]) -> Result<Value, String> {
        let keyed = |field: &str| field == "custom_fields";
        let read = nested(fields.iter().copied(), keyed);
        read.map(Value::Object).map_err(|e| e.to_string())
    }

    /// S131.
    #[test]
    fn brackets_name_items_and_parts() {
        for (fields, value) in [
            (vec![("a", "1"), ("b]", "2")], json!({"a": "1", "b]": "2"})),
            (vec![("a[]", "1"), ("a[]", "2")], json!({"a": ["1", "2"]})),
            (vec![("a[7]", "2"), ("a[0]", "1")], json!({"a": ["1", "2"]})),
            (
                vec![("e[gid]", "1"), ("e[data]", "[x]")],
                json!({"e": {"gid": "1", "data": "[x]"}}),
            ),
            (
                vec![
                    ("f[0][type]", "a"),
                    ("f[1][type]", "b"),
                    ("f[0][fields][]", "c"),
                ],
                json!({"f": [{"type": "a", "fields": ["c"]}, {"type": "b"}]}),
            ),
            (
                vec![("custom_fields[12]", "x"), ("custom_fields[13][0]", "y")],
                json!({"custom_fields": {"12": "x", "13": ["y"]}}),
            ),
            (
                vec![("a[99999999999]", "x")],
                json!({"a": {"99999999999": "x"}}),
            ),
        ] {
            assert_eq!(read(&fields), Ok(value), "{fields:?}");
        }
    }

    /// S131.
    #[test]
    fn other_brackets_are_refused() {
        let rule = "brackets must be name[], name[0] or name[part], at most 5 of them";
        for name in [
            "a[",
            "a[0",
            "a[0]b",
            "a]b[0]",
            "[0]",
            "[]",
            "a[[0]]",
            "a[0]]",
            "a[[]",
            "a[][b]",
            "a[][]",
            "a[1][2][3][4][5][6]",
            "a[b][",
        ] {
            assert_eq!(read(&[(name, "x")]), Err(format!("{name}: {rule}")));
        }
        let twice = "given twice";
        let ways = "given in two ways; use one of name=, name[]=, name[0]= and name[part]=";
        for (one, other, reason) in [
            ("a", "a", twice),
            ("a[0]", "a[0]", twice),
            ("a[b][c]", "a[b][c]", twice),
            ("a", "a[0]", ways),
            ("a[0]", "a", twice),
            ("a[]", "a[0]", ways),
            ("a[b]", "a[0]", ways),
            ("a[0][b]", "a[0][]", ways),
            ("a[0]", "a[0][b]", ways),
        ] {
            let refused = read(&[(one, "x"), (other, "y")]);
            assert_eq!(refused, Err(format!("{other}: {reason}")), "{one} {other}");
        }
    }
}
