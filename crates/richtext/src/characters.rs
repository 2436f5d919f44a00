//! Characters that are allowed in texts.
use std::borrow::Cow;

/// Returns true if plain and rich text may have this character: every character that XML can contain, except DEL.
pub(crate) fn is_allowed(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns a text with CR LF and CR replaced by LF.
pub(crate) fn newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns a text without vertical tabs and form feeds.
pub(crate) fn without_page_marks(text: &str) -> Cow<'_, str> {
    const MARKS: [char; 2] = ['\u{b}', '\u{c}'];
    if text.contains(MARKS) {
        Cow::Owned(text.replace(MARKS, ""))
    } else {
        Cow::Borrowed(text)
    }
}
