//! Aliases as stored in the table. A text in PostgreSQL cannot contain the character U+0000, and an index cannot hold a key of
//! more than 2.7 kB.
use std::borrow::Cow;

/// Maximum size in bytes of a key that is stored unchanged.
const KEY_MAX: usize = 1000;
/// Character that begins an escape, and is escaped itself.
const ESCAPE: char = '\u{1}';

/// Alias in the columns of its table.
pub(crate) struct AliasKey<'k> {
    /// Key of the row.
    pub(crate) key: Cow<'k, str>,
    /// The text, if the key is its digest.
    pub(crate) text: Option<Cow<'k, str>>,
}

/// Returns the columns of an alias. Different aliases have different keys.
pub(crate) fn alias_key(alias: &str) -> AliasKey<'_> {
    let text = escaped(alias);
    if text.len() <= KEY_MAX {
        return AliasKey {
            key: text,
            text: None,
        };
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let mut key = format!("{ESCAPE}#");
    for byte in digest.as_ref() {
        key.push_str(&format!("{byte:02x}"));
    }
    AliasKey {
        key: key.into(),
        text: Some(text),
    }
}

fn escaped(alias: &str) -> Cow<'_, str> {
    if !alias.contains(['\0', ESCAPE]) {
        return alias.into();
    }
    let mut out = String::with_capacity(alias.len() + 8);
    for c in alias.chars() {
        match c {
            '\0' => out.extend([ESCAPE, '0']),
            ESCAPE => out.extend([ESCAPE, ESCAPE]),
            c => out.push(c),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_aliases_have_different_keys_that_the_table_can_hold() {
        let long = "x".repeat(5000);
        let longer = "x".repeat(5001);
        let aliases = [
            "a",
            "a\0",
            "a\u{1}0",
            "a\u{1}",
            "a\u{1}\u{1}",
            "",
            "\u{1}#",
            &long,
            &longer,
        ];
        let keys: std::collections::HashSet<String> = aliases
            .iter()
            .map(|alias| alias_key(alias).key.into_owned())
            .collect();
        assert_eq!(keys.len(), aliases.len());
        assert!(
            keys.iter()
                .all(|key| key.len() <= KEY_MAX && !key.contains('\0'))
        );
        assert_eq!(alias_key(&long).text.as_deref(), Some(long.as_str()));
        assert!(alias_key("email:a@b").text.is_none());
    }
}
