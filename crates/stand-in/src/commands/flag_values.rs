//! Parsers for the values of flags.

/// Reads the value of a flag in the form `KEY=VALUE`.
///
/// # Errors
/// Fails if it has no `=`.
pub(super) fn parse_pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=');
    let (key, value) = pair.ok_or_else(|| format!("`{text}` is not KEY=VALUE"))?;
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_begins_after_the_first_equals_sign() {
        let pair = |key: &str, value: &str| Ok((key.to_owned(), value.to_owned()));
        assert_eq!(parse_pair("a=b=c"), pair("a", "b=c"));
        assert!(parse_pair("a").unwrap_err().contains("KEY=VALUE"));
    }
}
