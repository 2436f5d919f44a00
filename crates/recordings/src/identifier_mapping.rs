//! Mapping between recorded identifiers and the other server's identifiers.

use std::collections::BTreeMap;

/// Mapping from recorded identifiers and tokens to the other server's identifiers and tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdentifierMapping {
    identifiers: BTreeMap<String, String>,
    /// Recorded identifiers, by the identifiers of the other server that replace them.
    recorded: BTreeMap<String, String>,
    tokens: BTreeMap<String, String>,
}

impl IdentifierMapping {
    /// Makes a mapping that begins with these identifiers.
    pub(crate) fn new(identifiers: BTreeMap<String, String>) -> Self {
        Self {
            recorded: identifiers
                .iter()
                .map(|(recorded, new)| (new.clone(), recorded.clone()))
                .collect(),
            identifiers,
            tokens: BTreeMap::new(),
        }
    }

    /// Returns the replacement of a recorded identifier or token, if there is one.
    pub(crate) fn of(&self, recorded: &str) -> Option<&str> {
        let found = self.identifiers.get(recorded);
        found
            .or_else(|| self.tokens.get(recorded))
            .map(String::as_str)
    }

    /// Returns the recorded identifier that an identifier of the other server replaces.
    pub(crate) fn recorded_for(&self, new: &str) -> Option<&str> {
        self.recorded.get(new).map(String::as_str)
    }

    /// Learns the replacement of a recorded identifier. Existing pairs stay, and an identifier belongs to at most one pair.
    pub(crate) fn learn_identifier(&mut self, recorded: &str, new: &str) {
        let is_known = self.identifiers.contains_key(recorded) || self.recorded.contains_key(new);
        if !is_known && !recorded.is_empty() {
            self.identifiers.insert(recorded.to_owned(), new.to_owned());
            self.recorded.insert(new.to_owned(), recorded.to_owned());
        }
    }

    /// Learns the replacement of a recorded token; the last one counts.
    pub(crate) fn learn_token(&mut self, recorded: &str, new: &str) {
        self.tokens.insert(recorded.to_owned(), new.to_owned());
    }

    /// Returns a text with the recorded identifiers in it replaced. Only whole runs of letters and digits are identifiers.
    pub(crate) fn translate(&self, text: &str) -> String {
        let mut translated = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let run = rest
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(rest.len());
            let (word, after) = rest.split_at(run);
            translated.push_str(self.identifiers.get(word).map_or(word, String::as_str));
            let gap = after.find(char::is_alphanumeric).unwrap_or(after.len());
            let (between, next) = after.split_at(gap);
            translated.push_str(between);
            rest = next;
        }
        translated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_learnt_once_and_stands_for_one() {
        let mut mapping = IdentifierMapping::new(BTreeMap::from([("1".into(), "11".into())]));
        mapping.learn_identifier("1", "12");
        mapping.learn_identifier("2", "11");
        mapping.learn_identifier("3", "13");
        assert_eq!(mapping.of("1"), Some("11"));
        assert_eq!(mapping.of("2"), None);
        assert_eq!(mapping.recorded_for("11"), Some("1"));
        assert_eq!(mapping.of("3"), Some("13"));
    }

    #[test]
    fn the_last_token_counts() {
        let mut mapping = IdentifierMapping::default();
        mapping.learn_token("a", "b");
        mapping.learn_token("a", "c");
        assert_eq!(mapping.of("a"), Some("c"));
    }

    #[test]
    fn whole_words_are_translated() {
        let mut mapping = IdentifierMapping::default();
        mapping.learn_identifier("12", "345");
        let text = "task: Unknown object: 12 (not 112, 12a or é12), 12";
        let translated = "task: Unknown object: 345 (not 112, 12a or é12), 345";
        assert_eq!(mapping.translate(text), translated);
        assert_eq!(mapping.translate("…"), "…");
        assert_eq!(mapping.translate(""), "");
    }
}
