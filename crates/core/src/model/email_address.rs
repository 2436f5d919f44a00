//! E-mail addresses: one check and one form for all code that stores or compares them.
use std::fmt;
use thiserror::Error;

/// Longest address, in bytes: 64 before the `@` and 255 after it, the limits of mail servers (RFC 5321).
pub const ADDRESS_MAX: usize = 320;

/// A checked e-mail address, normalized for storing and comparing: trimmed and in lower case.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EmailAddress(String);

/// Reason why a text is not an e-mail address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum AddressError {
    /// It is longer than [`ADDRESS_MAX`].
    #[error("it may be at most {ADDRESS_MAX} bytes long")]
    TooLong,
    /// It does not have exactly one `@`.
    #[error("it must have exactly one @")]
    AtSign,
    /// The part before or after the `@` is empty.
    #[error("something must be on both sides of the @")]
    Empty,
    /// A part begins or ends with a dot, or has two in a row.
    #[error("dots must stand between other characters")]
    Dots,
    /// A character that is not allowed in addresses: a blank, a control or an invisible character, a bracket.
    #[error(
        "only letters, digits and . ! # $ % & ' * + - / = ? ^ _ ` {{ | }} ~ may stand before the @, only letters, digits, dots and hyphens after it"
    )]
    Character,
}

impl EmailAddress {
    /// Checks an address and normalizes it for comparison. Surrounding blanks are removed.
    ///
    /// # Errors
    /// Returns an error if the text is not the address of a mailbox, with the reason.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let folded = normalize_address(text);
        if folded.len() > ADDRESS_MAX {
            return Err(AddressError::TooLong);
        }
        let (mailbox, domain) = folded.split_once('@').ok_or(AddressError::AtSign)?;
        if domain.contains('@') {
            return Err(AddressError::AtSign);
        }
        if mailbox.is_empty() || domain.is_empty() {
            return Err(AddressError::Empty);
        }
        let in_mailbox = |c: char| c.is_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(c);
        if !mailbox.chars().all(in_mailbox) || !domain.chars().all(in_domain) {
            return Err(AddressError::Character);
        }
        if has_loose_dots(mailbox) || has_loose_dots(domain) {
            return Err(AddressError::Dots);
        }
        Ok(Self(folded))
    }

    /// Returns the address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part before the `@`, the name of a user until the user has given one.
    #[must_use]
    pub fn mailbox(&self) -> &str {
        self.0.split_once('@').map_or("", |(mailbox, _)| mailbox)
    }
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns an address normalized for comparison, even if it is not valid.
#[must_use]
pub fn normalize_address(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Returns a domain normalized for comparison.
///
/// # Errors
/// Returns an error if the text is not the domain of an address.
pub fn parse_domain(text: &str) -> Result<String, AddressError> {
    let folded = normalize_address(text);
    if folded.is_empty() {
        return Err(AddressError::Empty);
    }
    if folded.len() > 255 {
        return Err(AddressError::TooLong);
    }
    if !folded.chars().all(in_domain) {
        return Err(AddressError::Character);
    }
    if has_loose_dots(&folded) {
        return Err(AddressError::Dots);
    }
    Ok(folded)
}

fn in_domain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-')
}

fn has_loose_dots(part: &str) -> bool {
    part.split('.').any(str::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", AddressError::AtSign),
            ("ann", AddressError::AtSign),
            ("@@@", AddressError::AtSign),
            ("ann@a@b", AddressError::AtSign),
            ("@a.test", AddressError::Empty),
            ("ann@", AddressError::Empty),
            ("ann@a..test", AddressError::Dots),
            (".ann@a.test", AddressError::Dots),
            ("ann@a.test.", AddressError::Dots),
            ("an n@a.test", AddressError::Character),
            ("ann@a\u{a}.test", AddressError::Character),
            ("a@b\u{202e}.c", AddressError::Character),
            ("a\u{200b}@b.c", AddressError::Character),
            ("<script>@x", AddressError::Character),
            ("a,b@x", AddressError::Character),
            ("ann@[127.0.0.1]", AddressError::Character),
        ] {
            assert_eq!(EmailAddress::parse(text), Err(reason), "{text:?}");
        }
        let long = format!("{}@a.test", "x".repeat(ADDRESS_MAX));
        assert_eq!(EmailAddress::parse(&long), Err(AddressError::TooLong));
    }

    #[test]
    fn addresses_are_kept_whole_and_in_one_form() {
        for (text, kept) in [
            (" Ann.Lee+Tag@Example.COM ", "ann.lee+tag@example.com"),
            ("o'neil@a", "o'neil@a"),
            ("Jürgen@BÜCHER.example", "jürgen@bücher.example"),
        ] {
            assert_eq!(EmailAddress::parse(text).unwrap().as_str(), kept);
        }
        let long = format!("{}@example.com", "x".repeat(200));
        assert_eq!(EmailAddress::parse(&long).unwrap().as_str(), long);
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_plain_and_stays_as_it_is(text in "\\PC{0,12}@?[a-zA-Z\\u{202e}.@ -]{0,12}") {
            if let Ok(address) = EmailAddress::parse(&text) {
                prop_assert_eq!(EmailAddress::parse(address.as_str()), Ok(address.clone()));
                prop_assert_eq!(address.as_str().matches('@').count(), 1);
                prop_assert!(!address.mailbox().is_empty());
                prop_assert!(!address.as_str().chars().any(|c| c.is_control() || c.is_whitespace()));
            }
        }
    }
}
