//! Learns identifiers from two replies to the same request.

use serde_json::Value;

use crate::field_kind::{FieldKind, kind_of};
use crate::identifier_mapping::IdentifierMapping;

/// Learns from all places where both replies have an identifier, a token or a link. Members of lists are matched by
/// position.
pub(crate) fn learn(mapping: &mut IdentifierMapping, field: &str, recorded: &Value, came: &Value) {
    match (recorded, came) {
        (Value::Object(recorded), Value::Object(came)) => {
            for (name, value) in recorded {
                if let Some(new) = came.get(name) {
                    learn(mapping, name, value, new);
                }
            }
        }
        (Value::Array(recorded), Value::Array(came)) => {
            for (value, new) in recorded.iter().zip(came) {
                learn(mapping, field, value, new);
            }
        }
        (Value::String(recorded), Value::String(came)) => match kind_of(field) {
            FieldKind::Identifier => mapping.learn_identifier(recorded, came),
            FieldKind::Token => mapping.learn_token(recorded, came),
            FieldKind::Link => learn_link(mapping, recorded, came),
            _ => {}
        },
        _ => {}
    }
}

/// Learns the gids at the end of two links, if the path segments before them are equal, and the tokens in their queries.
fn learn_link(mapping: &mut IdentifierMapping, recorded: &str, came: &str) {
    let divide = |link: &str| {
        let (path, query) = link.split_once('?').unwrap_or((link, ""));
        let mut segments = path.rsplit('/').map(str::to_owned);
        let (last, kind) = (segments.next(), segments.next());
        (last.unwrap_or_default(), kind, query.to_owned())
    };
    let (gid, kind, query) = divide(recorded);
    let (new_gid, new_kind, new_query) = divide(came);
    let is_gid = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if kind.is_some() && kind == new_kind && is_gid(&gid) && is_gid(&new_gid) {
        mapping.learn_identifier(&gid, &new_gid);
    }
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let mut pairs = new_query.split('&').filter_map(|pair| pair.split_once('='));
        if kind_of(name) == FieldKind::Token
            && let Some((_, new)) = pairs.find(|(new_name, _)| *new_name == name)
        {
            let decoded = crate::api_address::decoded;
            mapping.learn_token(&decoded(value), &decoded(new));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn gids_tokens_and_links_are_learnt() {
        let mut mapping = IdentifierMapping::default();
        let recorded = json!({
            "data": [{"gid": "1", "name": "a", "parent": {"gid": "2"}}, {"gid": "3"}],
            "next_page": {"offset": "x", "uri": "https://app.asana.com/api/1.0/tasks?limit=2&offset=y%3D"},
            "headers": {"location": "https://app.asana.com/api/1.0/tasks/12"},
            "permalink_url": "https://app.asana.com/0/20/21",
        });
        let came = json!({
            "data": [{"gid": "71", "name": "b", "parent": {"gid": "72"}}, {"gid": "73"}],
            "next_page": {"offset": "X", "uri": "http://a/w/7/api/1.0/tasks?offset=Y%3D&limit=2"},
            "headers": {"location": "http://a/w/7/api/1.0/tasks/82"},
            "permalink_url": "http://a/0/0/91",
        });
        learn(&mut mapping, "", &recorded, &came);
        for (recorded, new) in [
            ("1", Some("71")),
            ("2", Some("72")),
            ("3", Some("73")),
            ("x", Some("X")),
            ("y=", Some("Y=")),
            ("12", Some("82")),
            ("20", None),
            ("21", None),
            ("a", None),
        ] {
            assert_eq!(mapping.of(recorded), new, "{recorded}");
        }
    }
}
