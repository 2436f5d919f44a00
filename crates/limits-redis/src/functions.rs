//! Functions that the server runs, and their names.

use std::sync::LazyLock;

/// Text of the functions, with a placeholder for the name of their library.
const TEMPLATE: &str = include_str!("functions.lua");

/// Placeholder for the name of the library in the source text.
const PLACEHOLDER: &str = "@LIBRARY@";

/// Names and source text of the functions.
#[derive(Debug)]
pub(crate) struct Functions {
    pub(crate) library: String,
    pub(crate) source: String,
    pub(crate) admit: String,
    pub(crate) settle: String,
    pub(crate) state: String,
}

impl Functions {
    /// Makes the functions from a source text. Their names contain its digest, so that nodes of two versions do not replace each
    /// other's functions.
    pub(crate) fn new(template: &str) -> Self {
        let library = format!("workgraph_limits_{:016x}", fnv1a(template));
        Self {
            source: template.replace(PLACEHOLDER, &library),
            admit: format!("{library}_admit"),
            settle: format!("{library}_settle"),
            state: format!("{library}_state"),
            library,
        }
    }
}

static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| Functions::new(TEMPLATE));

/// Returns the functions of this version.
pub(crate) fn current() -> &'static Functions {
    &FUNCTIONS
}

/// Returns the name of the function library on the server, for deleting old ones.
#[must_use]
pub fn library_name() -> &'static str {
    &FUNCTIONS.library
}

/// Returns the source text of the library for `FUNCTION LOAD`, for servers whose users may not load functions.
#[must_use]
pub fn functions_source() -> &'static str {
    &FUNCTIONS.source
}

/// Returns the FNV-1a digest of a text.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::{Functions, current, fnv1a};

    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn another_text_has_another_name() {
        let (own, other) = (current(), Functions::new("-- @LIBRARY@"));
        assert_ne!(own.library, other.library);
        assert_eq!(other.source, format!("-- {}", other.library));
        assert!(!own.source.contains("@LIBRARY@") && own.source.contains(&own.admit));
    }
}
