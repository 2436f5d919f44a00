//! Members of a group: the JSON object that a field with parts is stored as. Values stay text, so numbers keep their digits.
use crate::model::json_members::members;
use std::fmt;

/// Members of a group, in their order, each with its value as JSON.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupMembers(Vec<(String, String)>);

impl GroupMembers {
    /// Returns the members of a stored object; none of other text.
    #[must_use]
    pub fn parse(object: &str) -> Self {
        let all = members(object).map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self(all.collect())
    }

    /// Returns the value of a member, as JSON.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let member = self.0.iter().find(|(member, _)| member == name);
        member.map(|(_, value)| value.as_str())
    }

    /// Sets the value of a member; a new one comes last.
    pub fn set(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(member, _)| member == name) {
            Some((_, kept)) => *kept = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }
}

impl fmt::Display for GroupMembers {
    /// Writes the members as the stored object.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.0.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            write!(f, "{before}\"{name}\":{value}")?;
        }
        f.write_str(if self.0.is_empty() { "{}" } else { "}" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_their_text() {
        let stored = r#"{"a":12345678901234567890.5,"b":"x"}"#;
        let mut group = GroupMembers::parse(stored);
        assert_eq!(group.to_string(), stored);
        group.set("a", "null".to_owned());
        group.set("c", "1".to_owned());
        assert_eq!(group.get("b"), Some("\"x\""));
        assert_eq!(group.to_string(), r#"{"a":null,"b":"x","c":1}"#);
        assert_eq!(GroupMembers::parse("null").to_string(), "{}");
    }
}
